"""Forward and backward of a module in one graph: torch.export, then AOTAutograd. No code is generated and nothing runs."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from opscope.errors import OpscopeError
from opscope.program import DIRECTION_ATTR, Link, Program, ProgramBuilder, ValueRef
from opscope.readers.torch.direction import BACKWARD
from opscope.readers.torch.export import about_ranges, signature_of
from opscope.readers.torch.fx import FxGraphReader, Operands, Placeholder, Signature
from opscope.readers.torch.names import about_modules

ENTRY = "main"
GRADIENT_OF = "gradient_of"


def program_of_joint(exported: Any, args: tuple[Any, ...] | None, kwargs: dict[str, Any] | None, name: str) -> Program:
    """The joint graph of an exported program. Tangents are the gradients that come in from whatever follows the module.

    Where sizes are symbols, and where there are no example inputs (`args` is None), the export's own fake inputs are traced."""
    try:
        from torch._functorch.aot_autograd import aot_export_joint_with_descriptors
    except ImportError:
        raise OpscopeError("stage='joint' needs a newer torch (2.9 or later); stage='autograd' works with this one") from None
    module = _plain_module(exported)
    if args is None or exported.range_constraints:
        args, kwargs = _fake_inputs(exported)
    with ExitStack() as tracing:
        try:
            joint = aot_export_joint_with_descriptors(tracing, module, args, kwargs)
        except Exception as error:  # whatever AOTAutograd trips over: the person needs its words, not a trace of its insides
            first_line = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise OpscopeError(f"AOTAutograd could not make a joint graph: {first_line}; stage='autograd' may work") from error
        graph = joint.graph_module.graph
        program = ProgramBuilder(name, ENTRY)
        program.attrs.update(about_ranges(exported))
        placeholders, by_target = _placeholders(graph, exported)
        same = {name: by_target[known.name] for name, known in placeholders.items() if by_target[known.name] != name}
        reader = JointReader(program.graph(ENTRY), Signature(placeholders, same), {}, joint.graph_module)
        reader.by_target = by_target
        reader.input_names = dict(enumerate(map(str, exported.graph_signature.user_inputs)))
        reader.read(graph.nodes)
        program.attrs.update(about_modules(reader.owners.classes))
        return program.build()


def _plain_module(exported: Any) -> Any:
    """The exported graph as a module whose parameters are attributes, without the guards that would check the inputs."""
    try:
        return exported.module(check_guards=False)
    except TypeError:  # older torch has no such guards
        return exported.module()


def _fake_inputs(exported: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    from torch.utils._pytree import tree_unflatten

    values = {node.name: node.meta.get("val") for node in exported.graph.nodes if node.op == "placeholder"}
    given = [spec.arg for spec in exported.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
    flat = [argument.value if hasattr(argument, "value") else values[argument.name] for argument in given]
    args, kwargs = tree_unflatten(flat, exported.call_spec.in_spec)
    return tuple(args), dict(kwargs)


def _placeholders(graph: Any, exported: Any) -> tuple[dict[str, Placeholder], dict[str, str]]:
    """What AOTAutograd says about each input, and the input of each qualified name: of tied ones, the one that is used."""
    user_inputs = exported.graph_signature.user_inputs
    held = {name: each for each in signature_of(exported).placeholders.values() for name in each.tied or (each.name,)}
    found: dict[str, Placeholder] = {}
    by_target: dict[str, str] = {}
    for node in graph.nodes:
        described = node.meta.get("desc")
        kind = type(described).__name__
        if node.op != "placeholder":
            continue
        if kind == "ParamAOTInput":
            found[node.name] = held.get(described.target, Placeholder("parameter", described.target, trainable=True))
        elif kind == "BufferAOTInput":
            found[node.name] = held.get(described.target, Placeholder("buffer", described.target))
        elif kind == "TangentAOTInput":
            found[node.name] = Placeholder("gradient", f"gradient of {_target(described.output)}")
        elif kind == "PlainAOTInput" and described.idx < len(user_inputs):
            found[node.name] = Placeholder("input", str(user_inputs[described.idx]))
        known = found.get(node.name)
        if known is not None and (node.users or known.name not in by_target):
            by_target.update(dict.fromkeys(known.tied or (known.name,), node.name))
    return found, by_target


def _target(described: Any) -> str:
    """A short name of what a descriptor stands for."""
    for field in ("target", "mutated_input", "grad_of"):
        inner = getattr(described, field, None)
        if inner is not None:
            return inner if isinstance(inner, str) else _target(inner)
    index = getattr(described, "idx", None)
    return f"output {index}" if index is not None else str(described)


class JointReader(FxGraphReader):
    """A joint graph: the gradients it yields are nodes of their own, each linked to its parameter and standing in its module."""

    by_target: dict[str, str]
    input_names: dict[int, str]

    def _output(self, node: Any) -> None:
        descriptions = node.meta.get("desc") or []
        results: list[ValueRef] = []
        effects: list[dict[str, Any]] = []
        for position, value in enumerate(node.args[0]):
            described = descriptions[position] if position < len(descriptions) else None
            operands = Operands(self)
            operands.argument(value)
            kind = type(described).__name__
            if described is not None and kind == "GradAOTOutput" and operands.inputs:
                results.append(self._gradient(described.grad_of, operands.inputs))
                continue
            results.extend(operands.inputs)
            if kind == "InputMutationAOTOutput":
                effects.append({"value": str(value), "kind": "buffer_mutation", "target": _target(described)})
        self.builder.outputs = results
        attrs = {"effects": effects} if effects else {}
        self.builder.node(node.name, "output", results, (), role="output", attrs=attrs)

    def _gradient(self, of: Any, inputs: list[ValueRef]) -> ValueRef:
        target = _target(of)
        if type(of).__name__ == "PlainAOTInput":
            target = self.input_names.get(of.idx, target)
        placeholder = self.by_target.get(target, "")
        if placeholder:
            target = self.signature.placeholders[placeholder].name
        ((producer, _),) = inputs
        links = [Link(GRADIENT_OF, placeholder)] if placeholder else []
        attrs = {"name": target, "label": f"grad of {target}", DIRECTION_ATTR: BACKWARD}
        types = self.types.get(producer, ())
        scope = self.owners.of(target)
        made = self.builder.node(f"grad.{target}", "gradient", inputs, types, role="gradient", attrs=attrs, scope=scope, links=links)
        return (made.id, 0)
