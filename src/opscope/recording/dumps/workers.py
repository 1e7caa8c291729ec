"""Reads many HLO texts in several processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from opscope.errors import OpscopeError
from opscope.plugin import Progress
from opscope.recording.processes import answers_in_order, serve
from opscope.recording.store.program_blob import Packed, pack, unpack

_SMALL = 3 << 20
"""Below this many bytes, starting processes costs more than it saves."""


def packed_in_order(paths: list[Path], progress: Progress | None, jobs: int = 0) -> Iterator[Packed | str]:
    """Each file as a packed program, or the reason why it could not be read, in the order of the files."""
    sizes = [path.stat().st_size for path in paths]
    total = sum(sizes) or 1
    done = 0
    in_this_process = jobs == 1 or total < _SMALL
    results = (
        _read_here(paths)
        if in_this_process
        else answers_in_order("opscope.recording.dumps.workers", [str(p.resolve()) for p in paths], jobs)
    )
    for size, result in zip(sizes, results, strict=True):
        done += size
        if progress:
            progress(done / total)
        yield result if isinstance(result, str) else unpack(result)


def _read_here(paths: list[Path]) -> Iterator[bytes | str]:
    for path in paths:
        try:
            yield read_packed(str(path))
        except (OpscopeError, OSError) as error:
            yield str(error)


def read_packed(path: str) -> bytes:
    from opscope.readers.hlo import read
    from opscope.readers.source import Source

    programs = read(Source(Path(path)))
    if len(programs) != 1:
        raise OpscopeError(f"contains {len(programs)} modules; a pass of a dump has one")
    return pack(programs[0])


if __name__ == "__main__":
    serve(read_packed)
