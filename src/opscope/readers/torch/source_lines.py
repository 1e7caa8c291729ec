"""Lines of the user's program: the frames of a running call, without the plumbing of torch and opscope."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import lru_cache
from pathlib import PurePath

from opscope.program import Frame

_OWN_DIRECTORY = str(PurePath(__file__).parent)
_PLUMBING_FILES = ("/nn/modules/module.py", "/nn/modules/container.py", "/overrides.py", "/_tensor.py", "/_compile.py", "/_ops.py")
_PLUMBING_DIRECTORIES = ("/torch/_dynamo/", "/torch/utils/", "/torch/_subclasses/", "/torch/fx/")


@lru_cache(maxsize=4096)
def is_plumbing(file: str) -> bool:
    path = file.replace("\\", "/")
    if file.startswith(_OWN_DIRECTORY) or path.startswith("<frozen"):
        return True
    return "/torch/" in path and (path.endswith(_PLUMBING_FILES) or any(directory in path for directory in _PLUMBING_DIRECTORIES))


def without_plumbing(frames: Iterable[Frame]) -> tuple[Frame, ...]:
    """Frames from the innermost out to the capture; frames outside it do not belong to the model. Functions of torch that opscope calls
    for the model, to follow them, have frames of opscope inside of the model's."""
    inside = list(frames)
    own = [number for number, frame in enumerate(inside) if frame.file.startswith(_OWN_DIRECTORY)]
    return tuple(frame for frame in inside[: own[-1] if own else None] if not is_plumbing(frame.file))


def calling_frames() -> tuple[Frame, ...]:
    """The current call stack, innermost first, up to the capture."""
    frames = []
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        frames.append(Frame(code.co_filename, frame.f_lineno, code.co_name))
        frame = frame.f_back  # type: ignore[assignment]
    return without_plumbing(frames)
