"""`opscope export`."""

from __future__ import annotations

import sys
from collections import deque
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from opscope.cli.progress import progress
from opscope.cli.source import read_all, source_options
from opscope.cli.view_options import view_options
from opscope.errors import OpscopeError, SourceError

if TYPE_CHECKING:
    from opscope.recording.model import Recording


@click.command()
@source_options
@click.option("-o", "--output", "output", metavar="FILE", required=True, help="File to write; `-` is standard output.")
@click.option("--format", "format", metavar="NAME", help="Format to write (see `opscope formats`) instead of the suffix's.")
@click.option("-f", "--force", is_flag=True, help="Replace FILE even if it is of another kind than what is written.")
@view_options()
def command(source: str, module: str | None, reader: str | None, output: str, format: str | None, force: bool, **views: Any) -> None:
    """Write SOURCE to a file: data or a picture, by the file's suffix.

    An existing file is replaced if it is of the kind that is being written (yesterday's step.dot by today's); anything else is kept
    unless --force is given. The file appears only when it is complete.

    \b
    opscope export step.hlo -o step.svg --depth 3        groups open three deep
    opscope export step.hlo -o dot.png --around dot.105  a node and its neighbours
    opscope export step.hlo -o step.html                 the viewer, to mail
    opscope export step.hlo -o step.json                 data, readable again
    opscope export dump_folder -o run.opscope            every pass in one file
    """
    from opscope.render import find_writer, write
    from opscope.view_options import ViewOptions

    options = ViewOptions(**views)
    if output == "-" and format is None:
        raise OpscopeError("standard output has no suffix; say what to write with --format NAME (see `opscope formats`)")
    target = Path(output)
    if target.suffix == ".opscope" and format is None:
        _record(source, module, target, force)
        return
    row = find_writer(target, format)
    options.require(row.name, f"{row.name} files")
    if output != "-" and not force:
        _keep(Path(source), target, row.begins)
    page, diff = row.name == "html", options.diff is not None
    recording = _recording(source, module, page, diff) if reader is None and (page or diff) else None
    programs: Any = [recording] if recording else read_all(source, reader, module)
    with progress(f"writing {output}") as report:
        try:
            if output != "-":
                write(programs, target, options, row, report)
                return
            with TemporaryDirectory() as folder:
                complete = Path(folder, "out")
                write(programs, complete, options, row, report)
                sys.stdout.buffer.write(complete.read_bytes())
        except SourceError as error:
            raise error.at(source) from None


def _keep(source: Path, target: Path, begins: tuple[bytes, ...]) -> None:
    """Refuse to overwrite the source, or a file that does not look like what is being written."""
    if not target.is_file():
        return
    if source.exists() and source.samefile(target):
        raise OpscopeError(f"{target}: is the source itself; name another file, or give --force")
    with target.open("rb") as stream:
        head = stream.read(256).lstrip().lower()
    if head and not head.startswith(begins):
        raise OpscopeError(f"{target}: exists and is something else than what would be written; name another file, or give --force")


def _recording(source: str, module: str | None, page: bool, diff: bool) -> Recording | None:
    """The recording whose passes are shown: all of them in a page, one of them (run.opscope@12) in a picture of what it did."""
    from opscope.recording.sources import is_recording_source, open_recording, split_at

    base, which = split_at(source)
    if not (which and diff) and not (page and not which and is_recording_source(Path(source))):
        return None
    with progress(f"reading {base}") as tell:
        recording = open_recording(base, tell)
    if which:
        return recording.only(recording.snapshot(which, module).index)
    return recording if module is None else recording.of_module(module)


def _record(source: str, module: str | None, target: Path, force: bool) -> None:
    """A folder of a compiler's dumps, or a recording, as one recording file."""
    from opscope.recording.sources import open_recording
    from opscope.recording.store.store import open_store, save_recording
    from opscope.render.wire.compare_passes import compared

    with progress(f"reading {source}") as tell:
        recording = open_recording(source, tell)
    if module is not None:
        recording = recording.of_module(module)
    with progress(f"writing {target}"):
        save_recording(recording, target, overwrite=force)
    with progress("comparing passes") as tell:
        deque(compared(open_store(target), tell), maxlen=0)
