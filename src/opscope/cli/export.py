"""`opscope export`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from opscope.cli.progress import progress
from opscope.cli.source import device_option, profile_option, read_all, read_recording, source_options
from opscope.cli.view_options import DrawingCommand, FlagOptions, view_options
from opscope.errors import OpscopeError, SourceError
from opscope.naming import Part


@click.command(cls=DrawingCommand)
@source_options
@profile_option
@device_option
@click.option("-o", "--output", "output", metavar="FILE", required=True, help="File to write; `-` for standard output.")
@click.option("--to", "to_format", metavar="NAME", help="Format to write (see `opscope formats`); by default the suffix decides.")
@click.option("-f", "--force", is_flag=True, help="Overwrite FILE, whatever it contains.")
@view_options()
def command(
    source: str,
    module: str | None,
    from_format: str | None,
    part: Part,
    profile: str | None,
    device: str | None,
    output: str,
    to_format: str | None,
    force: bool,
    **views: Any,
) -> None:
    """Write SOURCE as a data file or a picture; the suffix of FILE chooses the format.

    An existing file of the same format is overwritten; any other file, and a recording, only with --force. FILE appears only once it
    is complete.

    \b
    opscope export step.hlo -o step.svg --depth 3        picture, groups expanded three deep
    opscope export step.hlo -o dot.png --around dot.105  picture of a node and its neighbours
    opscope export model:make -o attn.svg --inside layers.0.self_attn
    opscope export step.hlo -o step.html                 the viewer in one file, to share
    opscope export step.hlo -o step.json                 data that opscope reads back
    opscope export dump_dir -o run.opscope               every pass in one file
    opscope export step.xplane.pb -o step.svg --colour-by "device time"
    opscope export step.xplane.pb -o step.html --device h200
    """
    from opscope.memory.read_from import remember_source
    from opscope.render import find_writer, write
    from opscope.whole_file import refuse_to_replace, titled

    options = FlagOptions(**views)
    if output == "-" and to_format is None:
        raise OpscopeError("standard output has no suffix; choose a format with --to NAME (see `opscope formats`)")
    target = Path(output)
    row = find_writer(target, to_format)
    options.require(row.name, f"{titled(row.name)} files")
    if not force:
        refuse_to_replace(target, row.name, row.begins, Path(source))
    has_passes = row.passes and profile is None
    recording = read_recording(source, from_format, module, device, part, whole=has_passes, diff=options.diff is not None)
    content = read_all(source, from_format, module, profile, device, part) if recording is None else [recording]
    remember_source(source, *content)
    with progress(f"writing {output}") as report:
        try:
            write(content, target, options, row, report)
        except SourceError as error:
            raise error.at(source) from None
