"""A whole recording on the wire, for self-contained pages (`web/src/core/program` reads it)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from opscope.analysis.enrich import enrich
from opscope.analysis.roofline import ESTIMATED_TIME, estimated_for, with_estimates
from opscope.memory.pass_peaks import PassPeak, peaks_of_page
from opscope.plugin import Progress
from opscope.program import Program
from opscope.recording.kernel_code import codes_json
from opscope.recording.model import Recording, Snapshot
from opscope.recording.reasons import notes_json
from opscope.recording.rows import Row
from opscope.render.wire.compare_passes import compared
from opscope.render.wire.program import ProgramWriter


def encode_programs(recording: Recording) -> bytes:
    """The programs after all passes, for what needs no comparison of passes."""
    writer = ProgramWriter(shares_rows=True)
    for snapshot in recording:
        _add(writer, recording, snapshot)
    return writer.finish(recording.name, pass_rows(recording, [None] * len(recording), {}), {})


def encode_recording(recording: Recording, progress: Progress | None = None, to_read: bool = False, **fields: Any) -> bytes:
    """The programs, rows and diffs of all passes, which can be decoded one by one; `to_read` with what only people read: the programs' own
    texts, the compiler's reasons, and the peaks of memory."""
    writer = ProgramWriter(shares_rows=True, own_text=to_read)
    rows: list[Row] = []
    diffs: dict[int, bytes] = {}
    seconds: dict[int, float] = {}
    for snapshot, comparison in zip(recording, compared(recording, progress), strict=True):
        program = _add(writer, recording, snapshot)
        if program is not None and ESTIMATED_TIME in program.metrics:
            seconds[snapshot.content] = sum(program.main.metrics[ESTIMATED_TIME].values())
        rows.append(Row(snapshot, *comparison.counts))
        if comparison.diff:
            diffs[recording.position(snapshot)] = comparison.diff
    reasons = {"reasons": notes_json(recording), "codes": codes_json(recording)} if to_read else {}
    peaks = peaks_of_page(recording) if to_read else {}
    return writer.finish(recording.name, pass_rows(recording, rows, seconds, peaks), diffs, **reasons, **fields)


def _add(writer: ProgramWriter, recording: Recording, snapshot: Snapshot) -> Program | None:
    """Write the program of a snapshot, and return it; None if it is there already."""
    if snapshot.content in writer.programs:
        return None
    program = shown_program(recording, snapshot.program)
    writer.add(snapshot.content, program)
    return program


def shown_program(recording: Recording, program: Program) -> Program:
    """The program of a snapshot with everything that a page shows."""
    enriched = enrich(program, snapshot=len(recording) > 1)
    device = estimated_for(recording.attrs)
    return enriched if device is None else with_estimates(enriched, device)


def pass_rows(
    recording: Recording, rows: Iterable[Row | None], seconds: Mapping[int, float], peaks: Mapping[int, PassPeak] | None = None
) -> list[dict[str, Any]]:
    """The rows of a timeline. A pass that has not been compared yet has no counts, and the peak is there if it has been computed.
    `seconds` are estimates, by the content of snapshots."""
    shown_rows = []
    for snapshot, row in zip(recording, rows, strict=True):
        before = recording.before(snapshot)
        counts = {} if row is None else {name: getattr(row, name) for name in ("added", "removed", "changed", "merged", "copied", "aside")}
        shown_rows.append(
            {
                "number": snapshot.index,
                "name": snapshot.name,
                "pipeline": list(snapshot.pipeline),
                "module": snapshot.module,
                "seconds": snapshot.seconds,
                "nodes": snapshot.nodes,
                "content": snapshot.content,
                "before": -1 if before is None else recording.position(before),
                **({"compares": True} if recording.compares else {}),
                **({"estimatedSeconds": seconds[snapshot.content]} if snapshot.content in seconds else {}),
                **counts,
                **({"peak": peaks[snapshot.index].peak_bytes} if peaks and snapshot.index in peaks else {}),
            }
        )
    return shown_rows
