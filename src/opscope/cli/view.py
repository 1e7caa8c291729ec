"""`opscope view`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opscope.cli.progress import progress
from opscope.cli.source import read_all, read_one
from opscope.cli.view_options import view_options
from opscope.errors import SourceError

if TYPE_CHECKING:
    from opscope.program import Program
    from opscope.serve.sources import Served


@click.command()
@click.argument("sources", metavar="SOURCE…", nargs=-1, required=True, type=click.Path(allow_dash=True))
@click.option("--module", metavar="NAME", help="The module to take where SOURCE holds several; all, if not given.")
@click.option("--reader", metavar="NAME", help="Read with this reader (see `opscope formats`).")
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Port to listen on; 0 takes a free one.")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Address to listen on.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.option("--watch", is_flag=True, help="Show the file again whenever it changes.")
@view_options("html")
def command(
    sources: tuple[str, ...],
    module: str | None,
    reader: str | None,
    port: int,
    host: str,
    no_browser: bool,
    watch: bool,
    **views: Any,
) -> None:
    """Walk through SOURCE in the browser, served from this machine to this machine only.

    Several sources can be switched between in the viewer. A recording, or a folder of a compiler's dumps, is shown with its passes
    as a timeline. Ctrl-C ends it.

    \b
    opscope view step.hlo                    a program
    opscope view before.hlo after.hlo        two, to switch between
    opscope view dump_folder                 every pass of a compiler
    opscope view model:make                  what a function of model.py makes
    opscope view step.hlo --around dot.105   a node and its neighbours
    """
    from opscope.render.draw.check_options import check_options, checked_graph
    from opscope.render.writers.html import initial, viewer_script
    from opscope.serve.recordings import ServedRecording
    from opscope.serve.start import serve
    from opscope.view_options import ViewOptions

    viewer_script()
    options = ViewOptions(**views)
    options.require("html", "the viewer")
    served = [one for source in sources for one in _served(source, module, reader)]
    try:
        check = checked_graph if isinstance(served[0], ServedRecording) else check_options
        check(options, served[0].program())
    except SourceError as error:
        raise error.at(sources[0]) from None
    serve(served, host=host, port=port, browser=not no_browser, watch=watch, config=initial(options), say=click.echo)


def _served(source: str, module: str | None, reader: str | None) -> list[Served]:
    """A source is read now, so that what is wrong with it is said at once, and again when its file changes."""
    from opscope.recording.sources import is_recording_source
    from opscope.serve.sources import Served

    if module is None and reader is None and is_recording_source(Path(source)):
        return [_served_recording(source)]
    programs = read_all(source, reader, module)
    path = Path(source) if Path(source).is_file() else None
    short = Path(source).name or source

    def again(name: str) -> Program:
        return read_one(source, reader, module if len(programs) == 1 else name)

    named = [(short if len(programs) == 1 else f"{short}: {program.name}", program) for program in programs]
    return [Served(name, partial(again, program.name), path, program) for name, program in named]


def _served_recording(source: str) -> Served:
    from opscope.recording.model import Recording
    from opscope.recording.sources import open_recording
    from opscope.serve.recordings import ServedRecording

    def read() -> Recording:
        with progress(f"reading {source}") as report:
            return open_recording(source, report)

    path = Path(source) if Path(source).is_file() else None
    return ServedRecording(Path(source).name or source, read, read(), path)
