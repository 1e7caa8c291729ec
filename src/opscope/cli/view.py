"""`opscope view`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opscope.cli.source import from_option, module_option, read_all, read_one, read_recording
from opscope.cli.view_options import view_options
from opscope.errors import OpscopeError, SourceError

if TYPE_CHECKING:
    from opscope.program import Program
    from opscope.recording.model import Recording
    from opscope.serve.sources import Served


@click.command()
@click.argument("sources", metavar="SOURCE…", nargs=-1, required=True, type=click.Path(allow_dash=True))
@module_option
@from_option
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Port to listen on; 0 takes a free one.")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Address to listen on.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.option("--watch", is_flag=True, help="Show the file again whenever it changes.")
@view_options("html")
def command(
    sources: tuple[str, ...],
    module: str | None,
    from_format: str | None,
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
    served = [one for source in sources for one in _served(source, module, from_format, options.diff is not None)]
    try:
        check = checked_graph if isinstance(served[0], ServedRecording) else check_options
        check(options, served[0].program())
    except SourceError as error:
        raise error.at(sources[0]) from None
    serve(served, host=host, port=port, browser=not no_browser, watch=watch, config=initial(options), say=click.echo)


def _served(source: str, module: str | None, format: str | None, diff: bool) -> list[Served]:
    """A source is read now, so that what is wrong with it is said at once, and again when its file changes."""
    from opscope.serve.recordings import ServedRecording
    from opscope.serve.sources import Served

    path = Path(source) if Path(source).is_file() else None
    short = Path(source).name or source
    read = partial(read_recording, source, format, module, whole=True, diff=diff)
    recording = read()
    if recording is not None:
        return [ServedRecording(short, partial(_opened, read), recording, path)]
    programs = read_all(source, format, module)

    def again(name: str) -> Program:
        return read_one(source, format, module if len(programs) == 1 else name)

    named = [(short if len(programs) == 1 else f"{short}: {program.name}", program) for program in programs]
    return [Served(name, partial(again, program.name), path, program) for name, program in named]


def _opened(read: Callable[[], Recording | None]) -> Recording:
    """The recording again, after its file changed."""
    recording = read()
    if recording is None:
        raise OpscopeError("it is not a recording any more")
    return recording
