"""Parameters that get no gradient, in one sentence: which, and what cut them off."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import PurePath
from typing import Any

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
    """What cut a gradient off, and in which line of the model, not of torch's layers: "detach, model.py:12"."""
    in_model = [frame for frame in cut.frames if "torch" not in PurePath(frame.file).parts]
    where = (in_model or cut.frames)[:1]
    return ", ".join([cut.by, *(f"{PurePath(frame.file).name}:{frame.line}" for frame in where)])
