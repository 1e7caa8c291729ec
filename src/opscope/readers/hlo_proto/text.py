"""A module as HLO text, which the reader of HLO text then reads: so a module is the same Program in either form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from opscope.errors import SourceError
from opscope.program.call_order import callees_first
from opscope.protobuf.wire import Message
from opscope.readers.hlo_proto.attributes import (
    backend_config,
    braces,
    common_attributes,
    frontend_attributes,
    metadata_text,
    own_attributes,
    quoted,
)
from opscope.readers.hlo_proto.literals import OMITTED, literal_text
from opscope.readers.hlo_proto.types import joined, type_text

_NAME = re.compile(r"[^\s=(),{}\"#]+")
_OPCODE = re.compile(r"[a-z][a-z0-9-]*")
_APPLIED = frozenset(
    ["all-reduce", "all-reduce-start", "call", "collective-reduce", "map", "reduce", "reduce-scatter", "reduce-window", "scan", "scatter",
     "sort"]
)  # fmt: skip
"""Opcodes whose computation is called to_apply."""
_PRED = 1


def module_text(module: Message) -> str:
    """The whole module."""
    return "\n".join(_Module(module).lines())


def _name(message: Message, what: str) -> str:
    name: str = message.get("name", "")
    if not _NAME.fullmatch(name):
        raise SourceError(f"has a {what} named {name[:80]!r}, which cannot be a name in HLO; the file is damaged")
    return name


class _Computation:
    """A computation: its instructions in the order in which they run, if that is known."""

    def __init__(self, proto: Message, order: Sequence[int]) -> None:
        self.proto = proto
        self.name = _name(proto, "computation")
        listed: list[Message] = proto.get("instructions", [])
        self.by_id = {one.get("id", 0): one for one in listed}
        self.instructions = [self.by_id[number] for number in order] if set(order) == self.by_id.keys() else listed
        self.root = self.by_id.get(proto.get("root_id", 0))
        self.is_one_instruction = all(one is self.root or one.get("opcode") == "parameter" for one in listed)
        """Whether XLA writes an asynchronous call of it as `copy-start` instead of `async-start`."""

    def instruction(self, number: int, user: str) -> Message:
        instruction = self.by_id.get(number)
        if instruction is None:
            raise SourceError(f"{user!r} uses instruction {number}, which computation {self.name!r} does not have; the file is damaged")
        return instruction


class _Module:
    def __init__(self, proto: Message) -> None:
        self.proto = proto
        orders = {
            entry.get("key", 0): entry.get("value", {}).get("instruction_ids", ())
            for entry in proto.get("schedule", {}).get("sequences", ())
        }
        listed: list[Message] = proto.get("computations", [])
        self.computations = {one.get("id", 0): _Computation(one, orders.get(one.get("id", 0), ())) for one in listed}
        started = [one for computation in self.computations.values() for one in computation.instructions if _is_async(one)]
        called = (self.computations.get(number) for one in started for number in one.get("called_computation_ids", ()))
        self.inlined = {computation.name for computation in called if computation is not None and computation.is_one_instruction}

    def lines(self) -> Iterator[str]:
        yield self._header()
        yield from self._frames()
        entry = self.proto.get("entry_computation_id", 0)
        for number in self._callees_first():
            computation = self.computations[number]
            if computation.name in self.inlined:
                continue
            proto = computation.proto
            yield f"{'ENTRY ' if number == entry else ''}%{computation.name} {_signature(computation)}{{"
            for instruction in computation.instructions:
                yield self._instruction(computation, instruction)
            thread = proto.get("execution_thread", "main")
            yield "}" + (f", execution_thread={quoted(thread)}" if thread not in ("main", "") else "")

    def _callees_first(self) -> list[int]:
        """The computations in the order of the text: each after those that it calls."""

        def called(number: int) -> Iterator[int]:
            listed = self.computations[number].proto.get("instructions", ())
            numbers = (one for instruction in listed for one in instruction.get("called_computation_ids", ()) if one in self.computations)
            return reversed(dict.fromkeys(numbers))  # what is called first comes first

        inner = {one for number in self.computations for one in called(number)}
        return callees_first([*(number for number in self.computations if number not in inner), *self.computations], called)

    def _header(self) -> str:
        proto = self.proto
        parts = [f"HloModule {_name(proto, 'module')}"]
        if "schedule" in proto:
            parts.append("is_scheduled=true")
        aliases = [_alias(entry) for entry in proto.get("input_output_alias", {}).get("entries", ())]
        if aliases:
            parts.append(f"input_output_alias={{ {', '.join(aliases)} }}")
        donors = [
            f"({entry.get('parameter_number', 0)}, {braces(entry.get('parameter_shape_index', ()))})"
            for entry in proto.get("buffer_donor", {}).get("entries", ())
        ]
        if donors:
            parts.append(f"buffer_donor={{ {', '.join(donors)} }}")
        if "host_program_shape" in proto:
            shape = proto["host_program_shape"]
            types = joined(map(type_text, shape.get("parameters", ())), ", ")
            parts.append(f"entry_computation_layout={{({types})->{type_text(shape.get('result', {}))}}}")
        if proto.get("frontend_attributes", {}).get("map"):
            parts.append(f"frontend_attributes={frontend_attributes(proto['frontend_attributes'])}")
        return ", ".join(parts)

    def _frames(self) -> Iterator[str]:
        """The tables of source lines."""
        index = self.proto.get("stack_frame_index", {})
        for title, field in (("FileNames", "file_names"), ("FunctionNames", "function_names")):
            if index.get(field):
                yield title
                yield from (f"{i} {quoted(name)}" for i, name in enumerate(index[field], 1))
        if index.get("file_locations"):
            keys = ("file_name_id", "function_name_id", "line", "end_line", "column", "end_column")
            yield "FileLocations"
            for i, location in enumerate(index["file_locations"], 1):
                yield f"{i} {{{joined((f'{key}={max(location.get(key, 0), 0)}' for key in keys), ' ')}}}"
        if index.get("stack_frames"):
            yield "StackFrames"
            for i, frame in enumerate(index["stack_frames"], 1):
                place, parent = max(frame.get("file_location_id", 0), 0), max(frame.get("parent_frame_id", 0), 0) + 1
                yield f"{i} {{file_location_id={place} parent_frame_id={parent}}}"

    def _instruction(self, computation: _Computation, instruction: Message) -> str:
        name = _name(instruction, "instruction")
        opcode = instruction.get("opcode", "")
        if not _OPCODE.fullmatch(opcode):
            raise SourceError(f"{name!r} has the opcode {opcode[:40]!r}, which cannot be one; the file is damaged")
        wrapped = self._wrapped(computation, instruction)
        written = wrapped[1].get("opcode", "") + opcode.removeprefix("async") if wrapped else opcode
        operands = [computation.instruction(number, name) for number in instruction.get("operand_ids", ())]
        if opcode == "parameter":
            inside = str(instruction.get("parameter_number", 0))
        elif opcode == "constant":
            inside = literal_text(instruction.get("literal", b""), instruction.get("shape", {})) if "literal" in instruction else OMITTED
        else:
            inside = joined((f"%{_name(operand, 'instruction')}" for operand in operands), ", ")
        attributes = [*self._attributes(computation, instruction, wrapped), metadata_text(instruction.get("metadata", {}))]
        if instruction.get("backend_config"):
            attributes.append(backend_config(instruction["backend_config"]))
        root = "ROOT " if instruction is computation.root else ""
        tail = "".join(f", {attribute}" for attribute in attributes if attribute)
        return f"  {root}%{name} = {type_text(instruction.get('shape', {}))} {written}({inside}){tail}"

    def _wrapped(self, computation: _Computation, instruction: Message) -> tuple[_Computation, Message] | None:
        """The computation and the one instruction that an async instruction runs, if XLA writes it in its place."""
        opcode = instruction.get("opcode", "")
        visited = 0
        while opcode in ("async-update", "async-done"):  # only the start names its computation in newer files
            if instruction.get("called_computation_ids"):
                break
            operands = instruction.get("operand_ids", ())
            if not operands or visited > len(computation.by_id):
                return None
            instruction = computation.instruction(operands[0], instruction.get("name", ""))
            opcode = instruction.get("opcode", "")
            visited += 1
        if not _is_async(instruction):
            return None
        called = [self.computations.get(number) for number in instruction.get("called_computation_ids", ())]
        if len(called) != 1 or called[0] is None or not called[0].is_one_instruction or called[0].root is None:
            return None
        return called[0], called[0].root

    def _attributes(self, computation: _Computation, instruction: Message, wrapped: tuple[_Computation, Message] | None) -> Iterator[str]:
        """Everything between the operands and the metadata."""
        name = instruction.get("name", "")
        operands = instruction.get("operand_ids", ())
        first = computation.instruction(operands[0], name).get("shape", {}).get("element_type", 0) if operands else 0
        yield from own_attributes(instruction, first)
        opcode = instruction.get("opcode", "")
        if opcode == "async-start" and wrapped:
            inner = dict(wrapped[1])
            if instruction.get("frontend_attributes", {}).get("map"):
                inner.pop("frontend_attributes", None)
            yield from self._attributes(wrapped[0], inner, None)
        if opcode == "async-start" and instruction.get("output_operand_aliasing"):
            yield from own_attributes({**instruction, "opcode": "async-update"}, 0)
        if not wrapped and opcode not in ("async-update", "async-done"):
            yield from self._calls(opcode, first, instruction)
        control = [_name(computation.instruction(number, name), "instruction") for number in instruction.get("control_predecessor_ids", ())]
        yield from common_attributes(instruction, control)

    def _calls(self, opcode: str, first: int, instruction: Message) -> Iterator[str]:
        """The computations that an instruction calls."""
        numbers = instruction.get("called_computation_ids", ())
        missing = next((number for number in numbers if number not in self.computations), None)
        if missing is not None:
            raise SourceError(
                f"{instruction.get('name', '')!r} calls computation {missing}, which the module does not have; the file is damaged"
            )
        called = [f"%{self.computations[number].name}" for number in numbers]
        if not called:
            pass
        elif opcode == "while" and len(called) == 2:
            yield f"condition={called[1]}"
            yield f"body={called[0]}"
        elif opcode == "select-and-scatter" and len(called) == 2:
            yield f"select={called[0]}"
            yield f"scatter={called[1]}"
        elif opcode == "conditional" and first == _PRED and len(called) == 2:
            yield f"true_computation={called[0]}"
            yield f"false_computation={called[1]}"
        elif opcode in ("conditional", "custom-call"):
            yield f"{'branch' if opcode == 'conditional' else 'called'}_computations={{{', '.join(called)}}}"
        elif opcode in _APPLIED:
            yield f"to_apply={called[0]}"
        else:
            yield f"calls={called[0]}" if len(called) == 1 else f"calls={{{', '.join(called)}}}"
        if opcode == "call" and instruction.get("is_composite"):
            yield "is_composite=true"


def _is_async(instruction: Message) -> bool:
    return instruction.get("opcode") in ("async-start", "async-update", "async-done")


def _alias(entry: Message) -> str:
    kind = "must-alias" if entry.get("kind") == 2 else "may-alias"
    return (
        f"{braces(entry.get('output_shape_index', ()))}: "
        f"({entry.get('parameter_number', 0)}, {braces(entry.get('parameter_shape_index', ()))}, {kind})"
    )


def _signature(computation: _Computation) -> str:
    """`(x: f32[2]) -> f32[2] `."""
    shape = computation.proto.get("program_shape")
    if shape is None:
        return ""
    names = shape.get("parameter_names", [])
    types = [type_text(one, layout=False) for one in shape.get("parameters", ())]
    texts = [f"{names[i] if i < len(names) and _NAME.fullmatch(names[i]) else f'p{i}'}: {text}" for i, text in enumerate(types)]
    return f"({', '.join(texts)}) -> {type_text(shape.get('result', {}), layout=False)} "
