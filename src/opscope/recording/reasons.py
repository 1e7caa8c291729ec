"""Why nodes were fused, or were not, and how they were tuned: what a compiler noted about them by any name that they had."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from opscope.errors import OpscopeError
from opscope.recording.dumps.autotuning import LOG_FILE, Autotuning, autotunings
from opscope.recording.dumps.fusion_notes import NOTES_FILE, FusionNote, fusion_notes
from opscope.recording.model import Recording, no_node

REASONS = "reasons"
"""The attribute of a recording with what the compiler noted, as JSON."""
AUTOTUNED = "autotuned"
"""The attribute with what its autotuner chose."""

Note = TypeVar("Note", FusionNote, Autotuning)

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
    if not any(path.name.endswith(NOTES_FILE) for path in texts) and not any(LOG_FILE.fullmatch(path.name) for path in directory.iterdir()):
        raise OpscopeError(_NO_NOTES.format(source))
    if not any(node.encode() in path.read_bytes() for path in texts):
        raise OpscopeError(f"{source}: {no_node(node)}")


def notes_of(recording: Recording) -> list[FusionNote]:
    """What the compiler noted, if it was recorded, or if the recording was read from the directory that the compiler wrote."""
    return _kept_or_read(recording, REASONS, FusionNote.of_json, fusion_notes)


def autotunings_of(recording: Recording) -> list[Autotuning]:
    """What the autotuner chose, likewise."""
    return _kept_or_read(recording, AUTOTUNED, Autotuning.of_json, autotunings)


def _kept_or_read(
    recording: Recording, attribute: str, of_json: Callable[[Any], Note | None], read: Callable[[Path], Iterable[Note]]
) -> list[Note]:
    kept = recording.attrs.get(attribute)
    if kept is not None:
        return [note for each in kept if (note := of_json(each)) is not None]
    directory = Path(recording.name)
    modules = set(recording.modules)
    return [note for note in read(directory) if note.module in modules] if directory.is_dir() else []


def notes_json(recording: Recording) -> list[dict[str, Any]]:
    """The notes for a page, which finds those about a node by the names in them."""
    fusion = [_note_json(note) for note in notes_of(recording)]
    return [*fusion, *({**_note_json(note), "autotuned": True} for note in autotunings_of(recording))]


def _note_json(note: FusionNote | Autotuning) -> dict[str, Any]:
    return {"module": note.module, "names": note.names, "text": str(note)}


def fusion_reasons(recording: Recording, node: str) -> list[FusionNote]:
    """What the compiler noted about a node: as a producer, or as the consumer of another.

    If there is nothing, what it noted about the other nodes of the same fusion. The viewer chooses in the same way
    (`web/src/ui/engine/reasons.ts`).
    """
    notes = notes_of(recording)
    if not notes:
        raise OpscopeError(_NO_NOTES.format(recording.name))
    return why(recording, node, notes, [])[0]


def why(
    recording: Recording, node: str, notes: Sequence[FusionNote], tuned: Sequence[Autotuning]
) -> tuple[list[FusionNote], list[Autotuning]]:
    """What was noted about a node: why it was fused, or was not, and what the autotuner chose for it or for its fusion."""
    alone, together = _names(recording, node)
    about = _about(notes, alone) or _about(notes, together)
    choices = _about(tuned, alone) or _about(tuned, together)
    if not about and not choices:
        raise OpscopeError(
            f"{recording.name}: it noted nothing about {node!r}: it was neither a producer nor a consumer when fusions were chosen"
        )
    return about, choices


def why_pair(recording: Recording, producer: str, consumer: str) -> tuple[bool, list[FusionNote]]:
    """Whether a producer was fused with a consumer, and what was noted about both, also as parts of the fusions they were in by then."""
    notes = notes_of(recording)
    if not notes:
        raise OpscopeError(_NO_NOTES.format(recording.name))
    with_producer, with_consumer = _names(recording, producer)[0], _names(recording, consumer)[0]
    about: list[FusionNote] = []
    fused = False
    for note in notes:
        consumers = [(note.module, name) for name in note.consumers]
        first, second = (note.module, note.producer) in with_producer, any(name in with_consumer for name in consumers)
        if first and (second or not consumers):
            about.append(note)
        if note.kind == "fused":
            fused = fused or (first and second)
            if first or any(name in with_producer for name in consumers):
                with_producer.add((note.module, note.fusion))
            if second or (note.module, note.producer) in with_consumer:
                with_consumer.add((note.module, note.fusion))
    if not about:
        nothing = f"it noted nothing about {producer!r} as a producer for {consumer!r}"
        raise OpscopeError(f"{recording.name}: {nothing}; --why {producer} says what it noted about it alone")
    return fused, about


def _names(recording: Recording, node: str) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """The names that a node had, each with its module, and those of the fusions it became part of and of their other nodes."""
    alone, together = set[tuple[str, str]](), set[tuple[str, str]]()
    for snapshot in recording.with_node(node):
        alone.add((snapshot.module, node))
        for step in recording.history(node, snapshot.index):
            names = {(snapshot.module, id) for _, id in (*step.old, *step.new)}
            (together if step.kind == "fused" else alone).update(names)
    return alone, together


def _about(notes: Sequence[Note], names: set[tuple[str, str]]) -> list[Note]:
    return [note for note in notes if any((note.module, name) in names for name in note.names)]
