"""Forward and backward of a module in one graph, by torch.export and AOTAutograd. No code is generated and nothing runs."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from opscope.errors import OpscopeError
from opscope.program import BACKWARD, DIRECTION_ATTR, Link, Program, ProgramBuilder, ValueRef
from opscope.readers.torch.export import about_ranges, own_result_names, signature_of
from opscope.readers.torch.fx import FxGraphReader, Operands, Placeholder, Signature
from opscope.readers.torch.kept_functions import KeptFunctions
from opscope.readers.torch.modes import gradients_on
from opscope.readers.torch.names import about_modules
from opscope.readers.torch.nested import tensors
from opscope.readers.torch.opaque_backward import custom_operators, opaque_backward
from opscope.readers.torch.untrained import untrained_in

ENTRY = "main"
GRADIENT_OF = "gradient_of"


def program_of_joint(
    exported: Any, args: tuple[Any, ...] | None, kwargs: dict[str, Any] | None, name: str, kept: KeptFunctions | None = None
) -> Program:
    """The joint graph of an exported program, with the functions that were kept for it."""
    return traced_joint(exported, args, kwargs, name, kept)[1]


def traced_joint(
    exported: Any, args: tuple[Any, ...] | None, kwargs: dict[str, Any] | None, name: str, kept: KeptFunctions | None = None
) -> tuple[Any, Program]:
    """The joint graph as torch has it, and its program. Tangents are the gradients that arrive from whatever follows the module.

    If sizes are symbolic, or if there are no example inputs (`args` is None), the export's own fake inputs are traced."""
    try:
        from torch._functorch.aot_autograd import aot_export_joint_with_descriptors
    except ImportError:
        raise OpscopeError("stage='joint' needs torch 2.9 or later; stage='autograd' works with this one") from None
    module = plain_module(exported)
    if kept:
        kept.restore(module)
    if args is None or exported.range_constraints:
        args, kwargs = _fake_inputs(exported)
    opaque = ""
    with gradients_on(), ExitStack() as tracing:
        try:
            try:
                with ExitStack() as first:
                    joint = aot_export_joint_with_descriptors(first, module, args, kwargs)
                    tracing.enter_context(first.pop_all())
            except Exception as error:
                if not custom_operators(module):
                    raise
                operators = ", ".join(tracing.enter_context(opaque_backward(module)))
                opaque = f"AOTAutograd cannot trace the backward function of {operators}, so it is one operation here: {_why(error)}."
                joint = aot_export_joint_with_descriptors(tracing, module, args, kwargs)
        except Exception as error:  # whatever AOTAutograd fails on: users need its message, not its traceback
            raise OpscopeError(f"AOTAutograd could not trace a joint graph: {_why(error)}; stage='autograd' may work") from error
        graph = joint.graph_module.graph
        program = ProgramBuilder(name, ENTRY)
        program.attrs.update(about_ranges(exported))
        placeholders, by_target = _placeholders(graph, exported)
        same = {name: by_target[placeholder.name] for name, placeholder in placeholders.items() if by_target[placeholder.name] != name}
        reader = JointReader(program.graph(ENTRY), Signature(placeholders, same), {}, joint.graph_module)
        reader.by_target = by_target
        reader.input_names = dict(enumerate(_input_names(exported)))
        reader.result_names = own_result_names(exported)
        reader.read(graph.nodes)
        program.attrs.update(about_modules(reader.owners.classes))
        frozen = "" if _needs_gradient(exported, args, kwargs) else "No parameter or input requires a gradient, so there is no backward."
        notes = [note for note in (*untrained_in(exported, reader.trained), opaque, frozen) if note]
        if notes:
            program.attrs["notes"] = notes
        return joint.graph_module, program.build()


def _needs_gradient(exported: Any, args: Any, kwargs: Any) -> bool:
    return any(tensor.requires_grad for tensor in (*exported.parameters(), *(each for _, each in tensors([args, kwargs]))))


def _why(error: Exception) -> str:
    """The first line of an error of AOTAutograd, and the operation and the line of the model that it happened at, as fx notes them."""
    lines = (str(error).strip() or type(error).__name__).splitlines()
    words = lines[0]
    if type(error).__name__ == "DataDependentOutputException":
        words = f"it reads the data of a tensor ({words})"
    at = next((line for line in lines if line.startswith("While executing %")), "")
    places = [line.strip() for line in lines if line.lstrip().startswith("File ")]
    operation = at.removeprefix("While executing %").partition(" ")[0]
    return f"{words}, at {operation} ({places[-1]})" if operation and places else words


def plain_module(exported: Any) -> Any:
    """The exported graph as a module whose parameters are attributes, without the guards that would check the inputs."""
    try:
        try:
            module = exported.module(check_guards=False)
        except TypeError:  # older versions of torch have no such guards
            module = exported.module()
    except Exception as error:
        if not (taken := _taken_name(exported)):
            raise
        raise OpscopeError(
            f"torch.export cannot make a module again of a model with a submodule named {taken!r}, a name that fx graphs use themselves; "
            "rename it, or use stage='autograd'"
        ) from error
    return _with_constants_as_buffers(module)


def _taken_name(exported: Any) -> str:
    """The first submodule with the name of an attribute that every module of fx has, such as "code" or "graph"."""
    import torch

    plain = torch.fx.GraphModule({}, torch.fx.Graph())
    names = (name.partition(".")[0] for name in (*exported.state_dict, *exported.constants) if "." in name)
    return next((name for name in names if hasattr(plain, name)), "")


def _with_constants_as_buffers(module: Any) -> Any:
    """AOTAutograd takes parameters and buffers as inputs; a tensor that is a plain attribute would be a real one among fake ones."""
    import torch

    known = {name for name, _ in (*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False))}
    for name in {node.target for node in module.graph.nodes if node.op == "get_attr"} - known:
        owner_name, _, attribute = name.rpartition(".")
        owner = module.get_submodule(owner_name)
        tensor = getattr(owner, attribute, None)
        if isinstance(tensor, torch.Tensor):
            delattr(owner, attribute)
            owner.register_buffer(attribute, tensor, persistent=False)
    return module


def _fake_inputs(exported: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    from torch.utils._pytree import tree_unflatten

    values = {node.name: node.meta.get("val") for node in exported.graph.nodes if node.op == "placeholder"}
    arguments = [spec.arg for spec in exported.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
    flat = [argument.value if hasattr(argument, "value") else values[argument.name] for argument in arguments]
    args, kwargs = tree_unflatten(flat, exported.call_spec.in_spec)
    return tuple(args), dict(kwargs)


def _placeholders(graph: Any, exported: Any) -> tuple[dict[str, Placeholder], dict[str, str]]:
    """What AOTAutograd says about each input, and the input for each qualified name; for tied ones, the input that is used."""
    user_inputs = _input_names(exported)
    exported_by_name = {
        name: placeholder
        for placeholder in signature_of(exported).placeholders.values()
        for name in placeholder.tied or (placeholder.name,)
    }
    placeholders: dict[str, Placeholder] = {}
    by_target: dict[str, str] = {}
    for node in graph.nodes:
        described = node.meta.get("desc")
        kind = type(described).__name__
        if node.op != "placeholder":
            continue
        if kind == "ParamAOTInput":
            placeholders[node.name] = exported_by_name.get(described.target, Placeholder("parameter", described.target, trainable=True))
        elif kind == "BufferAOTInput":
            placeholders[node.name] = exported_by_name.get(described.target, Placeholder("buffer", described.target))
        elif kind == "TangentAOTInput":
            placeholders[node.name] = Placeholder("gradient", f"gradient of {_target(described.output)}")
        elif kind == "PlainAOTInput" and described.idx < len(user_inputs):
            placeholders[node.name] = Placeholder("input", user_inputs[described.idx])
        entry = placeholders.get(node.name)
        if entry is not None and (node.users or entry.name not in by_target):
            by_target.update(dict.fromkeys(entry.tied or (entry.name,), node.name))
    return placeholders, by_target


def _input_names(exported: Any) -> list[str]:
    """What the call's arguments are called, numbers and switches too, which `user_inputs` of a signature lists by their values."""
    return [str(getattr(spec.arg, "name", "")) for spec in exported.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]


def _target(described: Any) -> str:
    """A short name for what a descriptor refers to."""
    for field in ("target", "mutated_input", "grad_of"):
        inner = getattr(described, field, None)
        if inner is not None:
            return inner if isinstance(inner, str) else _target(inner)
    index = getattr(described, "idx", None)
    return f"output {index}" if index is not None else str(described)


class JointReader(FxGraphReader):
    """A joint graph. Each gradient it returns is a node of its own, linked to its parameter and placed in its module."""

    by_target: dict[str, str]
    input_names: dict[int, str]
    result_names: list[str]

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.trained: set[str] = set()
        """The qualified names of parameters with a gradient."""

    def _output(self, node: Any) -> None:
        descriptions = node.meta.get("desc") or []
        results: list[ValueRef] = []
        names: list[str] = []
        effects: list[dict[str, Any]] = []
        for position, value in enumerate(node.args[0]):
            described = descriptions[position] if position < len(descriptions) else None
            operands = Operands(self)
            operands.argument(value)
            kind = type(described).__name__
            if described is not None and kind == "GradAOTOutput" and operands.inputs:
                results.append(self._gradient(described.grad_of, operands.inputs))
                names.append(results[-1][0])
                continue
            results.extend(operands.inputs)
            names.extend([self._result_name(described)] * len(operands.inputs))
            if kind == "InputMutationAOTOutput":
                effects.append({"value": str(value), "kind": "buffer_mutation", "target": _target(described)})
        self.builder.outputs = results
        attrs = {"effects": effects} if effects else {}
        self.builder.node(node.name, "output", results, (), role="output", attrs={**attrs, "names": names})

    def _result_name(self, described: Any) -> str:
        """What the model calls a result, or its number; of a buffer that is written to, its name."""
        index = getattr(described, "idx", None) if type(described).__name__ == "PlainAOTOutput" else None
        return self.result_names[index] if index is not None and index < len(self.result_names) else _target(described)

    def _gradient(self, of: Any, inputs: list[ValueRef]) -> ValueRef:
        target = _target(of)
        self.trained.add(target)
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
        gradient = self.builder.node(f"grad.{target}", "gradient", inputs, types, role="gradient", attrs=attrs, scope=scope, links=links)
        return (gradient.id, 0)
