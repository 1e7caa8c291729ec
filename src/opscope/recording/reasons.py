"""Why nodes were fused, or were not: what a compiler noted about them by any name that they had."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from opscope.errors import OpscopeError
from opscope.recording.dumps.fusion_notes import NOTES_FILE, FusionNote, fusion_notes
from opscope.recording.model import Recording, no_node

REASONS = "reasons"
"""The attribute of a recording with what the compiler noted, as JSON."""

_NO_NOTES = (
    "{}: no reasons for fusions; XLA writes them (priority_fusion_dump.txt) when it compiles for a GPU with xla_dump_to and "
    "xla_dump_hlo_pass_re=.*, and rec.torch(…, codegen=True) records those of Inductor"
)


def check_texts(source: str, node: str) -> None:
    """Raise what `fusion_reasons` would about a dump of XLA, if its files show it: parsing a hundred of them takes much longer."""
    directory = Path(source)
    if not directory.is_dir():
        return
    texts = [path for path in directory.iterdir() if path.suffix == ".txt" and path.name.startswith("module_")]
    if not texts:
        return
    if not any(path.name.endswith(NOTES_FILE) for path in texts):
        raise OpscopeError(_NO_NOTES.format(source))
    if not any(node.encode() in path.read_bytes() for path in texts):
        raise OpscopeError(f"{source}: {no_node(node)}")


def notes_of(recording: Recording) -> list[FusionNote]:
    """What the compiler noted, if it was recorded, or if the recording was read from the directory that the compiler wrote."""
    kept = recording.attrs.get(REASONS)
    if kept is not None:
        return [note for each in kept if (note := FusionNote.of_json(each)) is not None]
    directory = Path(recording.name)
    modules = set(recording.modules)
    return [note for note in fusion_notes(directory) if note.module in modules] if directory.is_dir() else []


def notes_json(recording: Recording) -> list[dict[str, Any]]:
    """The notes for a page, which finds those about a node by the names in them."""
    return [{"module": note.module, "names": note.names, "text": str(note)} for note in notes_of(recording)]


def fusion_reasons(recording: Recording, node: str) -> list[FusionNote]:
    """What the compiler noted about a node: as a producer, or as the consumer of another.

    If there is nothing, what it noted about the other nodes of the same fusion. The viewer chooses in the same way
    (`web/src/ui/engine/reasons.ts`).
    """
    notes = notes_of(recording)
    if not notes:
        raise OpscopeError(_NO_NOTES.format(recording.name))
    alone, together = set[tuple[str, str]](), set[tuple[str, str]]()
    for snapshot in recording.with_node(node):
        alone.add((snapshot.module, node))
        for step in recording.history(node, snapshot.index):
            names = {(snapshot.module, id) for _, id in (*step.old, *step.new)}
            (together if step.kind == "fused" else alone).update(names)
    about = _about(notes, alone) or _about(notes, together)
    if not about:
        raise OpscopeError(
            f"{recording.name}: it noted nothing about {node!r}: it was neither a producer nor a consumer when fusions were chosen"
        )
    return about


def _about(notes: list[FusionNote], names: set[tuple[str, str]]) -> list[FusionNote]:
    return [note for note in notes if any((note.module, name) in names for name in note.names)]
