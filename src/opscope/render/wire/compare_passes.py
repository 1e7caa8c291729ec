"""What every pass of a recording did: counts for rows, and the diff that pages read. Computed once, on all cores."""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from functools import lru_cache
from pathlib import Path

from opscope.demo import is_example
from opscope.gc_pause import without_collecting
from opscope.plugin import Progress
from opscope.recording.model import Recording, Snapshot
from opscope.recording.processes import answers_in_order, cores, serve
from opscope.recording.rows import Row, row_of
from opscope.recording.store.comparison_cache import Comparison, ComparisonWriter, read_comparisons
from opscope.recording.store.store import open_store
from opscope.render.wire.diff import FORMAT, encode_diff

_FEW = 60_000
"""Below this many nodes, starting processes costs more than it saves."""
_MOST_BYTES, _BYTES_PER_NODE = 4 << 30, 2500
"""How much memory all processes may use together, and what one needs per node of the largest program."""
_NOTHING = Comparison(0, 0, 0, 0, 0, "", b"")


def compare(recording: Recording, snapshot: Snapshot) -> Comparison:
    """Compare one pass with the state before it."""
    if recording.repeats(snapshot):
        return _NOTHING
    with without_collecting():
        row = row_of(recording, snapshot)
        diff = recording.diff(snapshot.index)
        assert diff is not None
        comparison = Comparison(*row[1:], encode_diff(diff, snapshot.origins))
        recording.forget_diff(snapshot.index)
    return comparison


def compared(recording: Recording, progress: Progress | None = None, snapshots: Sequence[Snapshot] | None = None) -> Iterator[Comparison]:
    """Every pass in order, or only these snapshots. Comparisons in the recording file are reused; new ones are added to it, unless
    it is part of the package. A recording without a file keeps its own."""
    chosen = list(recording) if snapshots is None else snapshots
    stored = read_comparisons(recording.comparisons, FORMAT) if recording.comparisons else recording.compared
    missing = [s for s in chosen if s.index not in stored and not recording.repeats(s)]
    writer = None
    file = recording.comparisons
    if missing and file and "finished" in recording.attrs and not is_example(file):
        writer = ComparisonWriter(file, FORMAT)
    with closing(writer) if writer else nullcontext():
        fresh = _computed(recording, missing)
        for number, snapshot in enumerate(chosen, 1):
            comparison = stored.get(snapshot.index, _NOTHING)
            if comparison is _NOTHING and not recording.repeats(snapshot):
                comparison = next(fresh)
                if writer:
                    writer.write(snapshot.index, comparison)
                elif file is None:
                    recording.compared[snapshot.index] = comparison
            yield comparison
            if progress:
                progress(number / len(chosen))


def compared_rows(recording: Recording, progress: Progress | None = None) -> Iterator[Row]:
    """The comparisons as rows of a table."""
    for snapshot, comparison in zip(recording, compared(recording, progress), strict=True):
        yield Row(snapshot, *comparison.counts)


def _computed(recording: Recording, missing: list[Snapshot]) -> Iterator[Comparison]:
    if recording.comparisons is None or sum(s.nodes for s in missing) < _FEW or len(missing) < 2:
        yield from (compare(recording, snapshot) for snapshot in missing)
        return
    most = max(s.nodes for s in missing)
    jobs = min(cores(), max(1, _MOST_BYTES // (most * _BYTES_PER_NODE)))
    questions = [f"{s.index}@{recording.comparisons.resolve()}" for s in missing]
    for snapshot, answer in zip(missing, answers_in_order("opscope.render.wire.compare_passes", questions, jobs), strict=True):
        yield compare(recording, snapshot) if isinstance(answer, str) else Comparison(*marshal.loads(answer))


_opened = lru_cache(maxsize=1)(open_store)


def _answer(question: str) -> bytes:
    index, _, path = question.partition("@")
    recording = _opened(Path(path))
    return marshal.dumps(tuple(compare(recording, recording[int(index)])))


if __name__ == "__main__":
    serve(_answer)
