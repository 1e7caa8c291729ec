"""`opscope export`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opscope.cli.progress import progress
from opscope.cli.source import read_all, read_recording, source_options
from opscope.cli.view_options import view_options
from opscope.errors import OpscopeError, SourceError

if TYPE_CHECKING:
    pass


@click.command()
@source_options
@click.option("-o", "--output", "output", metavar="FILE", required=True, help="File to write; `-` is standard output.")
@click.option("--to", "to_format", metavar="NAME", help="Format to write (see `opscope formats`) instead of the suffix's.")
@click.option("-f", "--force", is_flag=True, help="Replace FILE whatever it is.")
@view_options()
def command(
    source: str, module: str | None, from_format: str | None, output: str, to_format: str | None, force: bool, **views: Any
) -> None:
    """Write SOURCE to a file: data or a picture, by the file's suffix.

    An existing file is replaced if it is of the kind that is being written (yesterday's step.dot by today's); anything else, and a
    recording, is kept unless --force is given. The file appears only when it is complete.

    \b
    opscope export step.hlo -o step.svg --depth 3        groups open three deep
    opscope export step.hlo -o dot.png --around dot.105  a node and its neighbours
    opscope export step.hlo -o step.html                 the viewer, to mail
    opscope export step.hlo -o step.json                 data, readable again
    opscope export dump_folder -o run.opscope            every pass in one file
    """
    from opscope.render import find_writer, refuse_to_replace, write
    from opscope.view_options import ViewOptions

    options = ViewOptions(**views)
    if output == "-" and to_format is None:
        raise OpscopeError("standard output has no suffix; say what to write with --to NAME (see `opscope formats`)")
    target = Path(output)
    row = find_writer(target, to_format)
    options.require(row.name, f"{row.name} files")
    if not force:
        refuse_to_replace(target, row.name, row.begins, Path(source))
    recording = read_recording(source, from_format, module, whole=row.passes, diff=options.diff is not None)
    shown = read_all(source, from_format, module) if recording is None else [recording]
    with progress(f"writing {output}") as report:
        try:
            write(shown, target, options, row, report)
        except SourceError as error:
            raise error.at(source) from None
