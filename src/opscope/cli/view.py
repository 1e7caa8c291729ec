"""`opscope view`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opscope.cli.source import from_option, module_option, read_all, read_one, read_recording
from opscope.cli.view_options import FlagOptions, serving_options, view_options
from opscope.errors import OpscopeError, SourceError
from opscope.terminal import say

if TYPE_CHECKING:
    from opscope.program import Program
    from opscope.recording.model import Recording
    from opscope.serve.sources import Served


@click.command()
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, type=click.Path(allow_dash=True))
@module_option
@from_option
@serving_options
@click.option("--watch", is_flag=True, help="Reload when the file changes.")
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
    """Explore SOURCE in the browser. By default only this machine can reach the server; Ctrl+C stops it.

    With several sources, the viewer switches between them. A recording, or a directory of compiler dumps, is shown with its passes as
    a timeline.

    \b
    opscope view step.hlo                    a program
    opscope view before.hlo after.hlo        two programs, to switch between
    opscope view dump_dir                    every pass of a compiler
    opscope view model:make                  the model that make() in model.py returns
    opscope view step.hlo --around dot.105   a node and its neighbours
    """
    from opscope.render.draw.check_options import check_options, checked_graph
    from opscope.render.writers.html import initial, viewer_script
    from opscope.serve.recordings import ServedRecording
    from opscope.serve.start import serve

    viewer_script()
    options = FlagOptions(**views)
    options.require("html", "the viewer")
    served = [one for source in sources for one in _served(source, module, from_format, options.diff is not None)]
    first = served[0]
    try:
        check = checked_graph if isinstance(first, ServedRecording) else check_options
        check(options, first.program())
    except SourceError as error:
        raise error.at(sources[0]) from None
    config = initial(options, first.recording if isinstance(first, ServedRecording) else None)
    serve(served, host=host, port=port, browser=not no_browser, watch=watch, config=config, say=say)


def _served(source: str, module: str | None, format: str | None, diff: bool) -> list[Served]:
    """Read a source now, so that its errors are reported at once, and again whenever its file changes."""
    from opscope.serve.recordings import ServedRecording
    from opscope.serve.sources import Served

    path = Path(source) if Path(source).is_file() else None
    short = Path(source).name or source
    read = partial(read_recording, source, format, module, whole=True, diff=diff)
    recording = read()
    if recording is not None:
        return [ServedRecording(short, partial(_reopened, read), recording, path)]
    programs = read_all(source, format, module)

    def reread(name: str) -> Program:
        return read_one(source, format, module if len(programs) == 1 else name)

    named = [(short if len(programs) == 1 else f"{short}: {program.name}", program) for program in programs]
    return [Served(name, partial(reread, program.name), path, program) for name, program in named]


def _reopened(read: Callable[[], Recording | None]) -> Recording:
    """The recording, after its file changed."""
    recording = read()
    if recording is None:
        raise OpscopeError("the file is no longer a recording; write one there, or start `opscope view` again")
    return recording
