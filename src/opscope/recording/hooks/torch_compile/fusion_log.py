"""Why Inductor's scheduler fused nodes, or did not: what it says to its own log, whether or not that is printed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opscope.recording.dumps.fusion_notes import FusionNote

_MOST = 50_000
"""Pairs that are kept of one graph. The scheduler may try every pair of nodes that read the same buffer."""


class FusionLog:
    """The refusals of one scheduler: of each pair the last, because pairs are tried again when something around them was fused."""

    def __init__(self) -> None:
        self._reasons: dict[tuple[str, str], str] = {}

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take the refusals of the scheduler meanwhile. Torch's own log gets them too."""
        import torch._inductor.scheduler as scheduler

        why = getattr(scheduler, "WhyNoFuse", None)
        if why is None:
            yield
            return
        told = why.__call__

        def tell(self_: Any, reason: str, *args: Any) -> None:
            told(self_, reason, *args)
            pair = str(self_.name1), str(self_.name2)
            if pair in self._reasons or len(self._reasons) < _MOST:
                self._reasons[pair] = _text(reason, args)

        why.__call__ = tell
        try:
            yield
        finally:
            why.__call__ = told

    def notes(self, module: str, part: str, kernels: Mapping[str, list[str]]) -> Iterable[FusionNote]:
        """The decisions, once all are taken. `kernels` are the fused ones, with their nodes."""
        kernel_of = {node: kernel for kernel, nodes in kernels.items() for node in nodes}
        for (first, second), reason in self._reasons.items():
            members = [{*kernels.get(name, ()), name} for name in (first, second)]
            homes = [{kernel_of.get(node, node) for node in nodes} for nodes in members]
            if homes[0] == homes[1]:  # fused in a later round
                continue
            yield FusionNote("not fused", module, first, (second,), reason=reason, part=part)
        for kernel, (producer, *consumers) in kernels.items():
            yield FusionNote("fused", module, producer, tuple(consumers), fusion=kernel, part=part)


def _text(reason: str, args: tuple[Any, ...]) -> str:
    try:
        return str(reason % args if args else reason)
    except (TypeError, ValueError):
        return str(reason)
