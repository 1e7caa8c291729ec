"""Structured logs of torch.compile (`TORCH_TRACE=directory`) as recordings: each compile id is a module, each of its graphs a snapshot.

    V1115 09:17:14.329000 27326 torch/_functorch/…:1797] {"aot_joint_graph": {}, "frame_id": 0, "has_payload": "20ae…", …}
    <tab>class inner_f(torch.nn.Module):
    <tab>    def forward(…

A record is a line with JSON; its payload follows, indented by a tab. Of a truncated log, the part that is there is read. Events of torch's
own timeline ("chromium events") have the seconds of the stages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from opscope.errors import SourceError
from opscope.plugin import Progress
from opscope.program import Program
from opscope.readers.timed import CUT_ATTR
from opscope.readers.torch.readable import program_of_text
from opscope.recording.dumps import TORCH
from opscope.recording.dumps.inductor_code import GeneratedCode
from opscope.recording.dumps.launch_places import Compiled, with_places
from opscope.recording.dumps.launch_values import with_names, with_values
from opscope.recording.dumps.torch_log_end import is_cut
from opscope.recording.hooks.torch_compile.dynamo_words import break_remark, function_title, logged_break
from opscope.recording.hooks.torch_compile.graphs import BACKWARD, FORWARD, joined, result_names
from opscope.recording.hooks.torch_compile.lineage import partition_origins, placed, retargeted
from opscope.recording.model import Origin, Recording
from opscope.recording.store.store import StoreWriter

_RECORD = re.compile(r"^[VDIWE]\d{4} (?P<time>[\d:.]+) \d+ \S+?:\d+\] (?P<json>\{.*\})\s*$")
_RANK = re.compile(r"rank_(\d+)")

_CUT = "the log ends in the middle of a record: it is truncated, and what torch.compile did next is missing"
_CODE = "inductor_output_code"

_STAGES: dict[str, tuple[tuple[str, ...], str]] = {
    "dynamo_output_graph": (("dynamo",), "Dynamo graph"),
    "before_pre_grad_graph": (("pre-grad",), "before"),
    "inductor_pre_grad_graph": (("pre-grad",), "before"),
    "after_pre_grad_graph": (("pre-grad",), "after"),
    "aot_joint_graph": (("aot autograd",), "joint graph"),
    "aot_inference_graph": (("aot autograd",), "AOTAutograd graph"),
    "before_joint_graph": (("joint",), "before"),
    "after_joint_graph": (("joint",), "after"),
    "aot_forward_graph": (("partition",), "forward"),
    "aot_backward_graph": (("partition",), "forward and backward"),
    "before_post_grad_graph": (("post-grad",), "before"),
    "inductor_post_grad_graph": (("post-grad",), "after"),
    _CODE: (("code generation",), "launches"),
}


_EVENT = "chromium_event"
_PROVENANCE = "inductor_provenance_tracking_node_mappings"
_BREAK = "dynamo_graph_break_reason"
_OTHERS = (_EVENT, _PROVENANCE, _BREAK)
"""Records that are not graphs, and whose payload is read."""
_STAGE_OF_EVENT = {
    "bytecode_tracing": "dynamo_output_graph",
    "_recursive_pre_grad_passes": "after_pre_grad_graph",
    "aot_trace_joint_graph": "aot_joint_graph",
    "_recursive_joint_graph_passes": "after_joint_graph",
    "min_cut_rematerialization_partition": "aot_backward_graph",
    "_recursive_post_grad_passes": "inductor_post_grad_graph",
    "GraphLowering.codegen": _CODE,
}
"""The graph that is logged once the work of an event is done."""
_PARTS_OF_STAGE = {"aot_backward_graph": ("after_joint_graph",)}
"""Stages that some versions of torch do not log: their seconds are those of the next graph."""


class _Record(NamedTuple):
    kind: str
    facts: dict[str, Any]
    payload: str
    """Empty unless it is a graph or an event."""
    at: int
    """The offset in the file at which it ends."""


def is_dump(directory: Path, names: Iterable[str]) -> bool:
    """Whether a directory contains such logs."""
    return any(TORCH.takes_file(directory / name) for name in names if name.endswith(".log"))


def read_dump(source: str | Path, progress: Progress | None = None) -> Recording:
    """Read one log, or a directory of logs: of several processes, or of the ranks of a distributed run."""
    source = Path(source)
    logs = [source] if source.is_file() else sorted(path for path in source.glob("*.log") if TORCH.takes_file(path))
    writer = StoreWriter(attrs={"producer": "torch.compile (structured log)", "ids": "names", "source": source.name})
    skipped: list[str] = []
    remarks: dict[str, None] = {}
    total = sum(path.stat().st_size for path in logs) or 1
    done = 0
    for number, path in enumerate(logs):
        rank = _RANK.search(path.name)
        prefix = "" if len(logs) == 1 else f"rank {rank[1]}: " if rank else f"log {number}: "
        cut = f"{prefix}{_CUT}" if is_cut(path) else ""
        remarks |= {cut: None} if cut else {}
        chains = _Chains(writer, prefix, skipped, cut)
        for record in _records(path):
            if record.kind == _BREAK:
                remarks[prefix + break_remark(*logged_break(record.payload))] = None
            chains.take(record)
            if progress:
                progress(min(1.0, (done + record.at) / total))
        chains.end()
        done += path.stat().st_size
    if remarks:
        writer.set(remarks=[*remarks])
    recording = writer.finished(str(source), skipped)
    if not len(recording):
        raise SourceError(
            "is a torch.compile log without graphs: it is truncated, or every graph came from a cache; "
            "run again with TORCHINDUCTOR_FORCE_DISABLE_CACHES=1",
            str(source),
        )
    return recording


def _records(path: Path) -> Iterator[_Record]:
    """Iterate over the records of a log. Payloads other than graphs and events are skipped, not stored."""
    kind, at = "", 0
    facts: dict[str, Any] = {}
    payload: list[str] = []
    with path.open("rb") as stream:
        for raw in stream:
            at += len(raw)
            if raw.startswith(b"\t"):
                if kind in _STAGES or kind in _OTHERS:
                    payload.append(raw[1:].decode("utf-8", "replace"))
                continue
            if kind:
                yield _Record(kind, facts, "".join(payload), at)
            kind, facts, payload = "", {}, []
            match = _RECORD.match(raw.decode("utf-8", "replace"))
            if match:
                try:
                    facts = json.loads(match["json"])
                except (ValueError, RecursionError):  # truncated, or interleaved with another process's line
                    continue
                kind = _kind(facts)
    if kind:
        yield _Record(kind, facts, "".join(payload), at)


def _kind(facts: dict[str, Any]) -> str:
    """The kind of a record: its first key, or the name of its artifact."""
    artifact = facts.get("artifact")
    name = artifact.get("name") if isinstance(artifact, dict) else next(iter(facts), "")
    if not isinstance(name, str):
        return "other"
    return name if name in _STAGES or name in ("dynamo_start", *_OTHERS) else "other"


class _Chains:
    """The graphs of one log, by compile id."""

    def __init__(self, writer: StoreWriter, prefix: str, skipped: list[str], cut: str) -> None:
        self._writer = writer
        self._prefix = prefix
        self._skipped = skipped
        self._cut = cut
        self._functions: dict[str, str] = {}
        self._chains: dict[str, _Chain] = {}
        self._parsed: dict[str, Program] = {}
        self._times = _Times()

    def take(self, record: _Record) -> None:
        number = _compile_id(record.facts)
        if record.kind == _EVENT:
            self._times.take(number, record.payload)
        if record.kind == "dynamo_start":
            self._functions[number] = _function(record.facts)
        if record.kind == _PROVENANCE and number in self._chains:
            self._chains[number].take_provenance(record.payload)
        if record.kind not in _STAGES:
            return
        title = self._prefix + " ".join(filter(None, (self._functions.get(number, ""), number)))
        seconds = self._times.of(number, record.kind)
        chain = self._chains.get(number)
        try:
            if record.kind == _CODE:
                if chain is not None:
                    chain.take_code(GeneratedCode(record.payload), seconds)
                return
            program = self._program(record, title)
        except SourceError as error:
            self._skipped.append(f"{record.kind} of {title}: {error}")
            return
        if chain is None or record.kind == "dynamo_output_graph":
            if chain is not None:
                chain.end()
            chain = self._chains[number] = _Chain(self._writer, title, self._cut)
        chain.take(record.kind, program, seconds)

    def end(self) -> None:
        for chain in self._chains.values():
            chain.end()

    def _program(self, record: _Record, title: str) -> Program:
        """A text that repeats (before and after a stage that changed nothing) is parsed once."""
        text = record.payload
        if text not in self._parsed:
            self._parsed = {text: program_of_text(text, title)}
        return self._parsed[text]


class _Times:
    """The seconds of stages, from the events that precede their graphs."""

    def __init__(self) -> None:
        self._started: dict[tuple[str, str], float] = {}
        self._seconds: dict[tuple[str, str], float] = {}

    def take(self, number: str, payload: str) -> None:
        try:
            event = json.loads(payload)
            stage, phase, microseconds = _STAGE_OF_EVENT[event["name"]], event["ph"], float(event["ts"])
        except (ValueError, RecursionError, KeyError, TypeError, OverflowError):  # another event, or a damaged one
            return
        if phase == "B":
            self._started[number, stage] = microseconds
        elif phase == "E" and (number, stage) in self._started:
            seconds = (microseconds - self._started.pop((number, stage))) / 1e6
            if 0 <= seconds < float("inf"):
                self._seconds[number, stage] = seconds

    def of(self, number: str, stage: str) -> float | None:
        """Asked for once: each graph of a stage has its own event."""
        found = [self._seconds.pop((number, each), None) for each in (stage, *_PARTS_OF_STAGE.get(stage, ()))]
        return sum(each for each in found if each is not None) if any(each is not None for each in found) else None


class _Chain:
    """One compile id, handled like a live compilation: first one graph, then forward and backward, and the code of each."""

    def __init__(self, writer: StoreWriter, title: str, cut: str) -> None:
        self._writer = writer
        self._cut = cut
        self._title = title
        self._dynamo: Program | None = None
        self._whole: Program | None = None
        self._parts: dict[str, Program] = {}
        self._forward: Program | None = None
        """The forward before its code was generated."""
        self._sources: Mapping[str, list[str]] = {}
        """The nodes of Dynamo's graph that those of the forward come from."""
        self._results: dict[str, list[str]] = {}
        """The names that the backward has for the results of the forward's code."""
        self._awaits_backward = False
        self._code: tuple[GeneratedCode, float | None] | None = None
        """Code whose provenance is the next record, if it was tracked."""

    def take(self, kind: str, program: Program, seconds: float | None) -> None:
        self._end_code({})
        pipeline, name = _STAGES[kind]
        origins: Iterable[Origin] = ()
        if kind == "dynamo_output_graph":
            self._dynamo = program
        else:
            program = with_names(program, self._dynamo)
        if kind == "aot_forward_graph":
            self._parts = {FORWARD: program}
            self._awaits_backward = True
            return  # the backward is the next record
        if kind == "aot_backward_graph":
            self._parts[BACKWARD] = program
            origins = self._split()
        elif self._parts:
            if self._awaits_backward:
                self._add(("partition",), "forward", self._split())
            part = self._part_of(_inputs(program))
            keys = [(graph.name, node.id) for graph in program for node in graph]
            origins = list(placed(retargeted(self._parts[part], program, keys), part))
            self._parts[part] = program
            pipeline = (*pipeline, part)
        else:
            self._whole = program
        self._add(pipeline, name, origins, seconds)

    def take_code(self, code: GeneratedCode, seconds: float | None) -> None:
        self._end_code({})
        self._code = code, seconds

    def take_provenance(self, payload: str) -> None:
        try:
            mappings = json.loads(payload)
        except (ValueError, RecursionError):
            return
        self._sources = {**_lists(mappings, "postToPre"), **self._sources}  # both halves may have nodes of one name
        self._end_code(_lists(mappings, "cppCodeToPost"))

    def end(self) -> None:
        self._end_code({})
        if self._awaits_backward:
            self._add(("partition",), "forward", self._split())

    def _end_code(self, nodes: Mapping[str, list[str]]) -> None:
        """Add the launches of the code that was read last. `nodes` are those of the graph that each of them computes."""
        if self._code is None:
            return
        (code, seconds), self._code = self._code, None
        part = self._part_of(code.arguments) if self._parts else ""
        graph = self._parts.get(part, self._whole)
        inputs = {} if graph is None else {node.id: node for node in graph.main if not node.inputs}
        launches = code.program(self._title, inputs)
        compiled = Compiled(self._dynamo, self._forward, self._sources, graph, nodes, part == BACKWARD)
        launches, origins = with_places(launches, compiled)
        launches = with_values(launches, compiled)
        pipeline, name = _STAGES[_CODE]
        if part == FORWARD:
            self._forward = graph
        if part:
            if graph is not None and len(graph.main.outputs) == len(launches.main.outputs):
                self._results[part] = result_names(graph)
            self._parts[part] = launches
            pipeline = (*pipeline, part)
        else:
            self._whole = launches
        self._add(pipeline, name, placed(origins, part), seconds)

    def _split(self) -> list[Origin]:
        self._awaits_backward = False
        whole, self._whole = self._whole, None
        return [] if whole is None else list(partition_origins(whole, self._parts))

    def _part_of(self, inputs: list[str]) -> str:
        """Which half has these inputs. Logs do not say it of a graph."""
        backward = self._parts.get(BACKWARD)
        is_backward = FORWARD not in self._parts or (backward is not None and inputs == _inputs(backward))
        return BACKWARD if is_backward else FORWARD

    def _add(self, pipeline: tuple[str, ...], name: str, origins: Iterable[Origin], seconds: float | None = None) -> None:
        program = self._whole if self._whole is not None else joined(self._title, self._parts, self._results)
        if self._cut:
            attrs = {**program.attrs, "notes": (*program.attrs.get("notes", ()), self._cut), CUT_ATTR: self._cut}
            program = replace(program, attrs=attrs)
        self._writer.add(program, name, pipeline=pipeline, module=self._title, origins=origins, seconds=seconds)


def _lists(mappings: Any, name: str) -> dict[str, list[str]]:
    """One of the mappings of names to names in a record, which may be damaged."""
    mapping = mappings.get(name) if isinstance(mappings, dict) else None
    pairs = mapping.items() if isinstance(mapping, dict) else ()
    return {key: [each for each in values if isinstance(each, str)] for key, values in pairs if isinstance(values, list)}


def _inputs(program: Program) -> list[str]:
    return [node.id for node in program.main if (node.is_argument or node.role == "gradient") and not node.inputs]


def _compile_id(facts: dict[str, Any]) -> str:
    """The id as torch writes it: `0/1` is frame and recompilation, `!2/0/1` is inside compiled autograd."""
    autograd = facts.get("compiled_autograd_id")
    frame = f"{facts.get('frame_id', '-')}/{facts.get('frame_compile_id', '-')}"
    return frame if autograd is None else f"!{autograd}/{frame}"


def _function(facts: dict[str, Any]) -> str:
    """The function that a compilation started with: the last frame of its stack."""
    start = facts.get("dynamo_start")
    stack = start.get("stack") if isinstance(start, dict) else None
    last = stack[-1] if isinstance(stack, list) and stack else None
    return function_title(str(last.get("name", ""))) if isinstance(last, dict) else ""
