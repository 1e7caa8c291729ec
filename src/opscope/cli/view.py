"""`opscope view`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opscope.cli.progress import progress
from opscope.cli.source import (
    at_terminal,
    check_profiles,
    device_option,
    from_option,
    measure_option,
    module_option,
    one_profile,
    part_options,
    profiles_option,
)
from opscope.cli.view_options import DrawingCommand, FlagOptions, serving_options, view_options
from opscope.errors import SourceError
from opscope.naming import Part
from opscope.terminal import say

if TYPE_CHECKING:
    from opscope.serve.sources import Served


@click.command(cls=DrawingCommand)
@click.argument("sources", metavar="[SOURCE]...", nargs=-1, type=click.Path(allow_dash=True))
@click.option(
    "--browse", multiple=True, metavar="DIR", type=click.Path(exists=True, file_okay=False),
    help="Offer the files in DIR on the home page; repeatable.",
)  # fmt: skip
@module_option
@from_option
@part_options
@profiles_option
@device_option
@measure_option
@serving_options
@click.option("--watch", is_flag=True, help="Reload when the file changes.")
@view_options("html")
def command(
    sources: tuple[str, ...],
    browse: tuple[str, ...],
    module: str | None,
    from_format: str | None,
    part: Part,
    profiles: tuple[str, ...],
    device: str | None,
    measure: bool,
    port: int,
    host: str,
    no_browser: bool,
    watch: bool,
    **views: Any,
) -> None:
    """Explore SOURCE in the browser. By default only this machine can reach the server; Ctrl+C stops it.

    With several sources, the viewer switches between them. A recording, or a directory of compiler dumps, is shown with its passes as
    a timeline. Without a SOURCE, a home page opens, on which to drop or choose files.

    \b
    opscope view                             choose a file in the browser
    opscope view --browse models             or one in this directory
    opscope view step.hlo                    a program
    opscope view before.hlo after.hlo        two programs, to switch between
    opscope view before.hlo after.hlo --diff how they differ
    opscope view before_dir after_dir --diff two profiles: what got slower
    opscope view dump_dir                    every pass of a compiler
    opscope view trace_dir                   what jax.profiler.trace wrote: the modules that ran, with their times
    opscope view model:make                  the model that make() in model.py returns
    opscope view model:make --measure        the same after running it, with the time of each node
    opscope view trace_dir --device h200     the same, with what each node takes at best
    opscope view step.hlo --around dot.105   a node and its neighbours
    """
    from opscope.render.writers.html import initial, viewer_script
    from opscope.serve.start import serve

    viewer_script()
    options = FlagOptions(**views)
    options.require("html", "the viewer")
    if sources:
        served, config = _opened(sources, module, from_format, part, profiles, device, measure, options)
    else:
        of_source: dict[str, str | bool | None] = {
            "--module": module,
            "--from": from_format,
            "--profile": one_profile(profiles),
            "--device": device,
        }
        of_source |= {"--stage": part.stage, "--inside": part.inside, "--measure": measure or None}
        _check_home(options, of_source, is_wanted=bool(browse) or no_browser)
        served, config = [], initial(options)
    serve(served, host=host, port=port, browser=not no_browser, watch=watch, config=config, browse=browse, say=say)


def _opened(
    sources: tuple[str, ...],
    module: str | None,
    format: str | None,
    part: Part,
    profiles: tuple[str, ...],
    device: str | None,
    measure: bool,
    options: FlagOptions,
) -> tuple[list[Served], dict[str, Any]]:
    """What to serve of the sources, and the settings of the page."""
    from opscope.recording.sources import split_at
    from opscope.render.draw.check_options import check_options, checked_graph
    from opscope.render.writers.html import initial
    from opscope.serve.opening import open_source
    from opscope.serve.recent import remember
    from opscope.serve.recordings import ServedRecording

    diff = options.diff is not None
    if diff and len(sources) > 1:
        served: list[Served] = [_compared(sources, module, format, part, profiles, device)]
    else:
        profile = one_profile(profiles)
        served = [
            one
            for source in sources
            for one in open_source(
                source,
                module=module,
                format=format,
                part=part,
                profile=profile,
                device=device,
                measure=measure,
                diff=diff,
                reading=progress,
            )
        ]
    first = served[0]
    try:
        check = checked_graph if isinstance(first, ServedRecording) else check_options
        check(options, first.program())
    except SourceError as error:
        raise error.at(sources[0]) from None
    for source in sources:
        path = Path(split_at(source)[0])
        if path.is_file() or path.is_dir():
            remember(path)
    return served, initial(options, first.recording if isinstance(first, ServedRecording) else first.program())


def _compared(
    sources: tuple[str, ...], module: str | None, format: str | None, part: Part, profiles: tuple[str, ...], device: str | None
) -> Served:
    from opscope.serve.opening import open_comparison

    if len(sources) != 2:
        raise click.UsageError(f"--diff compares two sources, not {len(sources)}.")
    check_profiles(profiles)
    return open_comparison(*sources, module=module, format=format, part=part, profiles=profiles, device=device, reading=progress)


def _check_home(options: FlagOptions, needs_source: dict[str, str | bool | None], is_wanted: bool) -> None:
    """Refuse a missing SOURCE where it is a mistake: in a script, in which nobody sees the home page, and with options about a program."""
    if not is_wanted and not at_terminal():
        raise click.UsageError("name a SOURCE; without one, the home page opens only from a terminal, or with --browse or --no-browser.")
    flags = [flag for flag, value in needs_source.items() if value is not None]
    flags += [options.spelled(row.name) for row in options.given if row.name != "theme"]
    if flags:
        raise click.UsageError(f"{flags[0]} needs a SOURCE to apply to.")
