"""Parameters that get no gradient, in one sentence: which, and what cut them off."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import PurePath
from typing import Any, NamedTuple

from opscope.program import Frame
from opscope.readers.torch.names import frames_of_text
from opscope.readers.torch.nested import tensors
from opscope.readers.torch.origins import Cut

_MOST_NAMED = 5
_NOT_USED = "not used"
_FUNCTION = "autograd.function"
"""What Dynamo calls the source of operations in such a function."""
_CUTS = {"detach": "detach", "detach_": "detach", "item": "item", "_local_scalar_dense": "item"}
"""Operations without a gradient, and what cuts it off there."""
_APPLIED = re.compile(r"(\w+)\.apply\(")


def untrained_note(parameters: Iterable[tuple[str, Any]], reached: set[int], reason: Callable[[Any], str]) -> str | None:
    """ "1 of 53 parameters gets no gradient: pos.weight (detach, model.py:12)", or None if every one is reached.

    `reached` has the ids of the tensors that the gradient arrives at; `reason` says why it does not arrive at another.
    """
    by_tensor: dict[int, tuple[str, Any]] = {}  # tied parameters are one
    for name, tensor in parameters:
        by_tensor.setdefault(id(tensor), (name, tensor))
    trainable = [(name, tensor) for name, tensor in by_tensor.values() if tensor.requires_grad]
    missing = [(name, tensor) for name, tensor in trainable if id(tensor) not in reached]
    if not missing:
        return None
    names = [name + (f" ({why})" if (why := reason(tensor)) else "") for name, tensor in missing[:_MOST_NAMED]]
    verb = "gets" if len(missing) == 1 else "get"
    plural = "parameter" if len(trainable) == 1 else "parameters"
    return f"{len(missing):,} of {len(trainable):,} {plural} {verb} no gradient: {_first_of(names, len(missing))}"


def _first_of(names: list[str], count: int) -> str:
    shown = names[:_MOST_NAMED]
    return ", ".join(shown) + (f" and {count - len(shown):,} more" if count > len(shown) else "")


def cut_text(cut: Cut) -> str:
    """What cut a gradient off, and in which line of the model: "detach, model.py:12"."""
    return _cut_at(cut.by, cut.frames)


def _cut_at(by: str, frames: tuple[Frame, ...]) -> str:
    """The line is one of the model, not of torch's layers."""
    in_model = [frame for frame in frames if "torch" not in PurePath(frame.file).parts]
    return ", ".join([by, *(f"{PurePath(frame.file).name}:{frame.line}" for frame in (in_model or frames)[:1])])


def _cut_in_graph(placeholder: Any) -> str:
    """What cuts off the gradient of a parameter in an exported graph: the first detach, region without gradients, or type without gradients
    (such as int64) that its value reaches. A parameter that no result and nothing written depends on is not used."""
    is_needed = False
    waiting, visited = deque(placeholder.users), set(placeholder.users)
    while waiting:
        node = waiting.popleft()
        is_needed = is_needed or node.op == "output" or _writes(node)
        if cut := _cuts(node) or ("" if _has_gradient(node) else _kinds(node)[0]):
            return _cut_at(cut, frames_of_text(_trace(node)))
        fresh = [user for user in node.users if user not in visited]
        visited.update(fresh)
        waiting.extend(fresh)
    return "" if is_needed else _NOT_USED


def _writes(node: Any) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is not None and bool(schema.is_mutable)


def untrained_in(exported: Any, trained: set[str]) -> list[str]:
    """What is to be said of an exported program, of which these parameters have a gradient."""
    parameters = _parameters(exported)
    by_id = {id(tensor): node for tensor, node in parameters.values()}
    unknown = _through_functions(exported.graph, {node for tensor, node in parameters.values() if tensor.requires_grad})
    known = {id(tensor) for name, (tensor, node) in parameters.items() if name in trained or node in unknown.nodes}
    named = ((name, tensor) for name, (tensor, _) in parameters.items())
    # strict export makes a fake constant of `h.data`, and the graph no longer says what h comes from
    is_whole = not any(type(each).__name__ == "FakeTensor" for each in exported.constants.values())

    def reason(tensor: Any) -> str:
        why = _cut_in_graph(by_id[id(tensor)])
        return why if is_whole or why != _NOT_USED else ""

    note = untrained_note(named, known, reason)
    names = [name for name, (_, node) in parameters.items() if node in unknown.nodes]
    return [each for each in (note, unknown.note(names)) if each]


def cut_parameters(exported: Any) -> list[str]:
    """The same for an exported program in which something cuts a parameter off. Nothing where parameters are only not used: which are
    trained is not the question of a graph for inference."""
    reached = _with_gradient(exported.graph)
    parameters = _parameters(exported)
    if all(node in reached or _cut_in_graph(node) in ("", _NOT_USED) for _, node in parameters.values()):
        return []
    # what writes in place has no user, so a graph for inference does not show every way of a gradient
    trained = {name for name, (_, node) in parameters.items() if node in reached or not _cut_in_graph(node)}
    return untrained_in(exported, trained)


class _Unknown(NamedTuple):
    """Functions with a backward of their own (torch.autograd.Function) that strict export ran without gradients, in a region as if it
    were of the model, and the parameters that reach one of them: what they get through it is not in the graph."""

    functions: list[str]
    nodes: set[Any]

    def note(self, names: list[str]) -> str:
        if not names:
            return ""
        functions, parameters = (_first_of(each, len(each)) for each in (self.functions, names))
        whose = "its" if len(self.functions) == 1 else "their"
        return f"Strict export runs {functions} without gradients, so what {whose} backward gives these parameters is unknown: {parameters}"


def _through_functions(graph: Any, parameters: set[Any]) -> _Unknown:
    reached = _with_gradient(graph, through_functions=True)
    functions = {node: function for node in graph.nodes if node in reached and (function := _function_in(node))}
    before: set[Any] = set()
    waiting = [*functions]
    while waiting:
        fresh = {node for node in waiting.pop().all_input_nodes if node in reached} - before
        before |= fresh
        waiting.extend(fresh)
    return _Unknown([*dict.fromkeys(functions.values())], before & parameters)


def _function_in(node: Any) -> str:
    """The function of which a region without gradients is the forward, and its line; empty if the region is one of the model."""
    if _cuts(node) != "no_grad":
        return ""
    inside = [inner for region in _regions(node) for inner in region.graph.nodes if inner.op == "call_function"]
    if not inside or not all(any(name == _FUNCTION for name, _ in inner.meta.get("source_fn_stack") or ()) for inner in inside):
        return ""
    trace = _trace(node)
    names = _APPLIED.findall(trace) or ["a torch.autograd.Function"]
    return _cut_at(names[-1], frames_of_text(trace)).replace(",", " at", 1)


def _parameters(exported: Any) -> dict[str, tuple[Any, Any]]:
    """The parameters of an exported program, each with its node."""
    names = {spec.target: spec.arg.name for spec in exported.graph_signature.input_specs if spec.kind.name == "PARAMETER"}
    nodes = {node.name: node for node in exported.graph.nodes if node.op == "placeholder"}
    return {name: (tensor, nodes[names[name]]) for name, tensor in exported.named_parameters() if name in names}


def _with_gradient(graph: Any, through_functions: bool = False) -> set[Any]:
    """The nodes that the gradient of the results arrives at."""
    waiting = [node for node in graph.nodes if node.op == "output"]
    visited = set(waiting)
    while waiting:
        sources = waiting.pop().all_input_nodes
        passing = (node for node in sources if not _cuts(node) or (through_functions and _function_in(node)))
        fresh = {node for node in passing if _has_gradient(node)} - visited
        visited |= fresh
        waiting.extend(fresh)
    return visited


def _cuts(node: Any) -> str:
    """What cuts gradients off at this node: "detach", "item", "no_grad", or nothing."""
    operation = str(node.target).removeprefix("aten.").partition(".")[0] if node.op == "call_function" else ""
    if operation == "wrap_with_set_grad_enabled":
        return "" if node.args[0] else "no_grad"
    return _CUTS.get(operation, "")


def _has_gradient(node: Any) -> bool:
    """Whether one of its values is a tensor of a kind that has gradients."""
    kinds = _kinds(node)
    return not kinds or any(kind.startswith(("float", "bfloat", "complex")) for kind in kinds)


def _kinds(node: Any) -> list[str]:
    """The element types of its values."""
    value = node.meta.get("val")
    values = value if isinstance(value, tuple | list) else (value,)
    return [str(each.dtype).removeprefix("torch.") for each in values if hasattr(each, "dtype")]


def _trace(node: Any) -> str:
    """Where a node was made; of a region, where its first operation was made, because torch says nothing about the region itself."""
    if node.meta.get("stack_trace"):
        return str(node.meta["stack_trace"])
    inside = (inner.meta.get("stack_trace") for region in _regions(node) for inner in region.graph.nodes)
    return next((str(trace) for trace in inside if trace), "")


def _regions(node: Any) -> list[Any]:
    """The graph modules that a node runs."""
    called = (getattr(node.graph.owning_module, operand.target) for operand in node.all_input_nodes if operand.op == "get_attr")
    return [region for region in called if hasattr(region, "graph")]


def reached_leaves(result: Any) -> set[int] | None:
    """The ids of the tensors that the gradient of a result arrives at; None if the result has none."""
    waiting = [tensor.grad_fn for _, tensor in tensors(result) if tensor.grad_fn is not None]
    if not waiting:
        return None
    visited = set(waiting)
    reached: set[int] = set()
    while waiting:
        function = waiting.pop()
        variable = getattr(function, "variable", None)
        if variable is not None:
            reached.add(id(variable))
        fresh = {following for following, _ in function.next_functions if following is not None} - visited
        visited |= fresh
        waiting.extend(fresh)
    return reached
