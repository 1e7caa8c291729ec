"""Where autograd functions come from: the module call that created each of them, its source line, and where gradients were cut."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from opscope.program import Frame, Path, TensorType
from opscope.readers.torch.names import frames_of_text
from opscope.readers.torch.source_lines import without_plumbing


class Cut(NamedTuple):
    """A tensor whose gradient was cut, and the function that its value came from."""

    by: str
    """The cause: "detach", "no_grad", "int64"."""
    why: str
    function: Any
    output: int
    type: TensorType
    frames: tuple[Frame, ...] = ()


Cuts = tuple[Cut, ...]
"""A value may depend on several cut tensors, each with its own cause."""


class Origins:
    """No information, for tensors that were computed outside opscope."""

    @property
    def classes(self) -> Mapping[str, str]:
        """Modules that ran, and their classes."""
        return {}

    @property
    def parameters(self) -> list[tuple[str, Any]]:
        """The parameters of the module that ran, by name."""
        return []

    @property
    def every_cut(self) -> list[Cut]:
        """All cuts, those too that nothing which was returned depends on."""
        return []

    def cut_of_leaf(self, tensor: Any) -> Cut | None:
        """What cut the gradient right at a leaf, before any function used it."""
        return None

    def scope(self, function: Any) -> Path:
        return ()

    def frames(self, function: Any) -> tuple[Frame, ...]:
        """The lines that torch records while `torch.autograd.set_detect_anomaly` is on."""
        traceback = function.metadata.get("traceback_")
        return without_plumbing(frames_of_text("".join(traceback))) if traceback else ()

    def name(self, variable: Any) -> str:
        return ""

    def cuts_into(self, function: Any) -> list[Cuts]:
        """For each input of a function that carries no gradient: where the gradient was cut, if known."""
        return []

    def takes_only_numbers(self, function: Any) -> bool:
        """Whether the inputs without a gradient are known not to be tensors: the 2 in `x * 2` needs no mark."""
        return False

    def cuts_of(self, tensor: Any) -> Cuts:
        return ()


NO_ORIGINS = Origins()
