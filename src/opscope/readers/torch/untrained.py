"""Parameters that get no gradient, in one sentence: which, and what cut them off."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from pathlib import PurePath
from typing import Any

from opscope.program import Frame
from opscope.readers.torch.names import frames_of_text
from opscope.readers.torch.nested import tensors
from opscope.readers.torch.origins import Cut

_MOST_NAMED = 5


def untrained_note(parameters: Iterable[tuple[str, Any]], reached: set[int], reason: Callable[[Any], str]) -> str | None:
    """ "1 of 53 parameters gets no gradient: pos.weight (detach, model.py:12)", or None if every one is reached.

    `reached` has the ids of the tensors that the gradient arrives at; `reason` says why it does not arrive at another.
    """
    trainable = [(name, tensor) for name, tensor in parameters if tensor.requires_grad]
    missing = [(name, tensor) for name, tensor in trainable if id(tensor) not in reached]
    if not missing:
        return None
    names = [name + (f" ({why})" if (why := reason(tensor)) else "") for name, tensor in missing[:_MOST_NAMED]]
    more = f" and {len(missing) - _MOST_NAMED:,} more" if len(missing) > _MOST_NAMED else ""
    verb = "gets" if len(missing) == 1 else "get"
    plural = "parameter" if len(trainable) == 1 else "parameters"
    return f"{len(missing):,} of {len(trainable):,} {plural} {verb} no gradient: {', '.join(names)}{more}"


def cut_text(cut: Cut) -> str:
    """What cut a gradient off, and in which line of the model: "detach, model.py:12"."""
    return _cut_at(cut.by, cut.frames)


def _cut_at(by: str, frames: tuple[Frame, ...]) -> str:
    """The line is one of the model, not of torch's layers."""
    in_model = [frame for frame in frames if "torch" not in PurePath(frame.file).parts]
    return ", ".join([by, *(f"{PurePath(frame.file).name}:{frame.line}" for frame in (in_model or frames)[:1])])


def cut_in_graph(placeholder: Any) -> str:
    """What cuts off the gradient of a parameter in an exported graph: the first detach, or region without gradients, that its value
    reaches. A parameter that nothing uses is not used."""
    if not placeholder.users:
        return "not used"
    waiting, visited = deque(placeholder.users), set(placeholder.users)
    while waiting:
        node = waiting.popleft()
        operation = str(node.target).removeprefix("aten.").partition(".")[0]
        if operation == "detach" or operation == "wrap_with_set_grad_enabled":
            return _cut_at("detach" if operation == "detach" else "no_grad", frames_of_text(node.meta.get("stack_trace") or ""))
        fresh = [user for user in node.users if user not in visited]
        visited.update(fresh)
        waiting.extend(fresh)
    return ""


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
