"""Where autograd functions come from: the module call that made each of them, its source line, and where gradients were cut off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from opscope.program import Frame, Path, TensorType
from opscope.readers.torch.names import frames_of_text
from opscope.readers.torch.source_lines import without_plumbing


class Cut(NamedTuple):
    """A tensor that left the gradient's path, and the function that its value came from."""

    by: str
    """What did it: "detach", "no_grad", "int64"."""
    why: str
    function: Any
    output: int
    type: TensorType
    frames: tuple[Frame, ...] = ()


Cuts = tuple[Cut, ...]
"""A value may be made of several that lost their gradients, each in its own way."""


class Origins:
    """Knows nothing: for tensors that somebody else computed."""

    @property
    def classes(self) -> Mapping[str, str]:
        """Modules that ran, and their classes."""
        return {}

    def scope(self, function: Any) -> Path:
        return ()

    def frames(self, function: Any) -> tuple[Frame, ...]:
        """Lines that torch keeps itself while `torch.autograd.set_detect_anomaly` is on."""
        kept = function.metadata.get("traceback_")
        return without_plumbing(frames_of_text("".join(kept))) if kept else ()

    def name(self, variable: Any) -> str:
        return ""

    def cuts_into(self, function: Any) -> list[Cuts]:
        """For each input of a function that carries no gradient, as far as known: where it lost it."""
        return []

    def takes_only_numbers(self, function: Any) -> bool:
        """Whether what carries no gradient into a function is known to be no tensor: the 2 in `x * 2` is nothing to be marked."""
        return False

    def cuts_of(self, tensor: Any) -> Cuts:
        return ()


NO_ORIGINS = Origins()
