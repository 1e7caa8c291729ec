"""Lines of the user's program: the frames of a running call, without torch's and our own plumbing."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import lru_cache
from pathlib import PurePath

from opscope.program import Frame

_OWN_FOLDER = str(PurePath(__file__).parent)
_PLUMBING_FILES = ("/nn/modules/module.py", "/nn/modules/container.py", "/overrides.py", "/_tensor.py", "/_compile.py", "/_ops.py")
_PLUMBING_FOLDERS = ("/torch/_dynamo/", "/torch/utils/", "/torch/_subclasses/", "/torch/fx/")


@lru_cache(maxsize=4096)
def is_plumbing(file: str) -> bool:
    path = file.replace("\\", "/")
    if file.startswith(_OWN_FOLDER) or path.startswith("<frozen"):
        return True
    return "/torch/" in path and (path.endswith(_PLUMBING_FILES) or any(folder in path for folder in _PLUMBING_FOLDERS))


def without_plumbing(frames: Iterable[Frame]) -> tuple[Frame, ...]:
    """Frames from the innermost to the module's own caller: what lies above our capture is not the model's."""
    kept: list[Frame] = []
    for frame in frames:
        if frame.file.startswith(_OWN_FOLDER) and kept:
            break
        if not is_plumbing(frame.file):
            kept.append(frame)
    return tuple(kept)


def calling_frames() -> tuple[Frame, ...]:
    """The frames that led here, innermost first, up to our capture."""
    frames = []
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        frames.append(Frame(code.co_filename, frame.f_lineno, code.co_name))
        frame = frame.f_back  # type: ignore[assignment]
    return without_plumbing(frames)
