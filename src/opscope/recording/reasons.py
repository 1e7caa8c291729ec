"""Why nodes were fused, or were not, and how they were tuned: what a compiler noted about them by any name that they had."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from opscope.analysis.source_files import recorded_list
from opscope.errors import OpscopeError
from opscope.recording.dumps.autotuning import Autotuning, autotunings
from opscope.recording.dumps.fusion_notes import FusionNote, fusion_notes
from opscope.recording.model import Recording, Snapshot, no_node

REASONS = "reasons"
"""The attribute of a recording with what the compiler noted, as JSON."""
AUTOTUNED = "autotuned"
"""The attribute with what its autotuner chose."""

Note = TypeVar("Note", FusionNote, Autotuning)
Home = tuple[str, str]
"""A module and a part of it, in which a name is that of one node."""
Names = set[tuple[Home, str]]


class Reasons(NamedTuple):
    """What a compiler noted about a node."""

    fusion: list[FusionNote]
    autotuning: list[Autotuning]


_NO_NOTES = (
    "{}: no reasons for fusions; XLA writes them (priority_fusion_dump.txt) when it compiles for a GPU with xla_dump_to and "
    "xla_dump_hlo_pass_re=.*, and rec.torch(…, codegen=True) records those of Inductor"
)


def why_in_texts(source: str, node: str) -> Reasons | None:
    """What a dump of XLA says about a node, from the notes alone: reading a hundred passes takes seconds.

    None if the passes have to be read, because the notes do not have the name. Raises what `why` would, if the files show it.
    """
    beside = _notes_with(Path(source), node)
    if beside is None:
        return None
    notes, tuned = beside
    homes = {*(note.home for note in notes), *(note.home for note in tuned)}
    names = _also_in_notes(notes, {(home, node) for home in homes})
    return Reasons(_about(notes, names), _about(tuned, names))


def why_pair_in_texts(source: str, producer: str, consumer: str) -> tuple[bool, list[FusionNote]] | None:
    """The same of a producer and a consumer."""
    beside = _notes_with(Path(source), producer, consumer)
    if beside is None:
        return None
    notes = beside.fusion
    homes = {note.home for note in notes}
    return _pair(source, notes, (producer, {(each, producer) for each in homes}), (consumer, {(each, consumer) for each in homes}))


def _notes_with(directory: Path, *nodes: str) -> Reasons | None:
    """All notes of a dump of XLA, if they have nodes of these names. Raises if no text has one of them, or if nothing was noted."""
    texts = [path for path in directory.glob("module_*.txt") if path.is_file()] if directory.is_dir() else []
    if not texts:
        return None
    notes, tuned = fusion_notes(directory), autotunings(directory)
    if not notes and not tuned:
        raise OpscopeError(_NO_NOTES.format(directory))
    noted = {*(name for note in notes for name in (*note.names, note.fusion)), *(name for note in tuned for name in note.names)}
    others = [node for node in nodes if node not in noted]
    for node in others:
        if not any(node.encode() in path.read_bytes() for path in texts):
            raise OpscopeError(f"{directory}: {no_node(node)}")
    return None if others else Reasons(notes, tuned)


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
        return [note for each in recorded_list(kept) if (note := of_json(each)) is not None]
    directory = Path(recording.name)
    modules = set(recording.modules)
    return [note for note in read(directory) if note.module in modules] if directory.is_dir() else []


def notes_json(recording: Recording) -> list[dict[str, Any]]:
    """The notes for a page, which finds those about a node by the names in them."""
    fusion = [_note_json(note) for note in notes_of(recording)]
    return [*fusion, *({**_note_json(note), "autotuned": True} for note in autotunings_of(recording))]


def _note_json(note: FusionNote | Autotuning) -> dict[str, Any]:
    fusion = {"fusion": note.fusion} if isinstance(note, FusionNote) and note.kind == "fused" else {}
    part = {"part": note.home[1]} if note.home[1] else {}
    return {"module": note.module, "names": note.names, "text": str(note), **fusion, **part}


def why(recording: Recording, node: str) -> Reasons:
    """Why a node was fused, or was not, as a producer or as the consumer of another, and what the autotuner chose for it.

    If there is nothing, what was noted about the other nodes of the same fusion. The viewer chooses in the same way
    (`web/src/ui/engine/reasons.ts`).
    """
    notes, tuned = notes_of(recording), autotunings_of(recording)
    if not notes and not tuned:
        raise OpscopeError(_NO_NOTES.format(recording.name))
    alone, together = _names(recording, node, notes)
    alone = _also_in_notes(notes, alone)
    reasons = Reasons(_about(notes, alone) or _about(notes, together), _about(tuned, alone) or _about(tuned, together))
    if not any(reasons):
        raise OpscopeError(
            f"{recording.name}: it noted nothing about {node!r}: it was neither a producer nor a consumer when fusions were chosen"
        )
    return reasons


def why_pair(recording: Recording, producer: str, consumer: str) -> tuple[bool, list[FusionNote]]:
    """Whether a producer was fused with a consumer, and what was noted about both, also as parts of the fusions they were in by then."""
    notes = notes_of(recording)
    if not notes:
        raise OpscopeError(_NO_NOTES.format(recording.name))
    first, second = (_names(recording, node, notes)[0] for node in (producer, consumer))
    return _pair(recording.name, notes, (producer, first), (consumer, second))


def _pair(
    source: str, notes: Sequence[FusionNote], first_named: tuple[str, Names], second_named: tuple[str, Names]
) -> tuple[bool, list[FusionNote]]:
    (producer, with_producer), (consumer, with_consumer) = first_named, second_named
    about: list[FusionNote] = []
    fused = False
    for note in notes:
        consumers = [(note.home, name) for name in note.consumers]
        first, second = (note.home, note.producer) in with_producer, any(name in with_consumer for name in consumers)
        if first and (second or not consumers):
            about.append(note)
        if note.kind == "fused":
            fused = fused or (first and second)
            if first or any(name in with_producer for name in consumers):
                with_producer.add((note.home, note.fusion))
            if second or (note.home, note.producer) in with_consumer:
                with_consumer.add((note.home, note.fusion))
    if not about:
        nothing = f"it noted nothing about {producer!r} as a producer for {consumer!r}"
        raise OpscopeError(f"{source}: {nothing}; --why {producer} says what it noted about it alone")
    return fused, about


def _also_in_notes(notes: Sequence[FusionNote], names: Names) -> Names:
    """The names with those that the same node had while fusions were chosen: a consumer becomes the fusion with its producer."""
    fused = [note for note in notes if note.becomes]
    before, after = set(names), set(names)
    for note in reversed(fused):
        if (note.home, note.fusion) in before:
            before.add((note.home, note.consumers[0]))
    for note in fused:
        if (note.home, note.consumers[0]) in after:
            after.add((note.home, note.fusion))
    return before | after


def _names(recording: Recording, node: str, notes: Sequence[FusionNote]) -> tuple[Names, Names]:
    """The names that a node had, and those of the fusions it became part of and of their other nodes."""
    parts = {note.part for note in notes if note.part}
    alone, together = Names(), Names()
    for (module, _), (snapshot, graph) in _homes(recording, node, parts).items():
        alone.add(((module, _part(graph, parts)), node))
        for step in recording.history((graph, node), snapshot.index):
            names = {((module, _part(name, parts)), id) for name, id in (*step.old, *step.new)}
            (together if step.kind == "fused" else alone).update(names)
    return alone, together


def _homes(recording: Recording, node: str, parts: Collection[str]) -> dict[Home, tuple[Snapshot, str]]:
    """For each module, or part of it, that has a node of that name: the last snapshot that has it, and its graph there."""
    if not parts:
        lasts = recording.with_node(node)
        return {(last.module, ""): (last, next(g.name for g in (last.program.main, *last.program) if node in g)) for last in lasts}
    homes: dict[Home, tuple[Snapshot, str]] = {}
    for snapshot in reversed(recording):
        for graph in snapshot.program:
            if node in graph:
                homes.setdefault((snapshot.module, _part(graph.name, parts)), (snapshot, graph.name))
    if not homes:
        raise OpscopeError(f"{recording.name}: {no_node(node)}")
    return homes


def _part(graph: str, parts: Collection[str]) -> str:
    """The part that a graph belongs to: `forward` is the graph of the forward, `forward.op3_op4` that of a kernel in it."""
    name = graph.partition(".")[0]
    return name if name in parts else ""


def _about(notes: Sequence[Note], names: Names) -> list[Note]:
    return [note for note in notes if any((note.home, name) in names for name in note.names)]
