"""`opscope passes --why`: why a node was fused, or was not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from opscope.errors import OpscopeError

if TYPE_CHECKING:
    from opscope.recording.dumps.fusion_notes import FusionNote
    from opscope.recording.model import Recording


def fusion_reasons(recording: Recording, source: str, node: str) -> list[FusionNote]:
    """What the compiler noted about a node by any name that it had: as a producer, or as the consumer of another.

    If there is nothing, what it noted about the other nodes of the same fusion.
    """
    from opscope.recording.dumps.fusion_notes import fusion_notes

    directory = Path(source)
    notes = fusion_notes(directory) if directory.is_dir() else []
    if not notes:
        raise OpscopeError(
            f"{source}: no reasons for fusions; XLA writes them (priority_fusion_dump.txt) when it compiles for a GPU with xla_dump_to "
            "and xla_dump_hlo_pass_re=.*"
        )
    alone, together = set[tuple[str, str]](), set[tuple[str, str]]()
    for snapshot in recording.with_node(node):
        alone.add((snapshot.module, node))
        for step in recording.history(node, snapshot.index):
            names = {(snapshot.module, id) for _, id in (*step.old, *step.new)}
            (together if step.kind == "fused" else alone).update(names)
    about = _about(notes, alone) or _about(notes, together)
    if not about:
        raise OpscopeError(f"{source}: XLA noted nothing about {node!r}: it was neither a producer nor a consumer when fusions were chosen")
    return about


def _about(notes: list[FusionNote], names: set[tuple[str, str]]) -> list[FusionNote]:
    return [note for note in notes if any((note.module, name) in names for name in (note.producer, *note.consumers))]
