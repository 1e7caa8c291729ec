"""`opscope repl`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opscope.cli.progress import progress
from opscope.cli.prompt.source_flags import chosen_source, read_compiled, source_flags
from opscope.cli.source import from_option, module_option, part_options, read_one
from opscope.errors import OpscopeError
from opscope.naming import Part
from opscope.terminal import say

if TYPE_CHECKING:
    from opscope.program import Program
    from opscope.recording.history import Step
    from opscope.recording.model import Recording

_MOST_LISTED = 100


@click.command()
@source_flags
@module_option
@from_option
@part_options
@click.option("--live", is_flag=True, help="Show drawings in one browser tab instead of writing a file for each.")
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Directory for drawings (default: a temporary one) and extracts (default: the current one).",
)
@click.option("--browser", metavar="PROGRAM", help="Open each drawing with this program.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    source: str | None,
    platform: str,
    module: str | None,
    from_format: str | None,
    part: Part,
    live: bool,
    output: str | None,
    browser: str | None,
    **files: str | None,
) -> None:
    """Explore SOURCE at a prompt: the commands and flags of XLA's interactive_graphviz, and more.

    Tab completes names, the arrow keys recall earlier lines, Ctrl+C stops only the running command, Ctrl+D leaves. Piped input runs as
    a script, and the exit code is 2 if one of its commands failed.

    \b
    opscope repl step.hlo
    opscope repl dump_dir@12 --live
    opscope repl --hlo_text=step.hlo --platform=CPU
    echo "allpaths Arg_0.1 dot.5" | opscope repl step.hlo
    """
    from opscope.cli.prompt.drawing import FileDrawer, LiveDrawer
    from opscope.cli.prompt.session import Session

    if live and output:
        raise OpscopeError("--live draws in the browser and --output into files; use only one of them")
    path, format = chosen_source(source, files)
    program = read_compiled(path, platform) if platform else read_one(path, format or from_format, module, part)
    directory = Path(output) if output else None
    drawer = LiveDrawer(program, say, browser) if live else FileDrawer(directory, browser)
    most = _MOST_LISTED if sys.stdout.isatty() else None
    session = Session(
        program,
        drawer.draw,
        say,
        partial(say, err=True),
        lambda: drawer.open(program),
        None if platform or format else _history(path, program),
        directory=directory,
        most_listed=most,
    )
    try:
        if sys.stdin.isatty():
            say(f"{program!r}. `help` lists the commands.")
            _read_lines(session)
        else:
            for line in sys.stdin:
                session.run(line)
                if not session.running:
                    break
            if session.failed:
                ctx.exit(2)
    finally:
        drawer.close()


def _history(source: str, program: Program) -> Callable[[str | None, str], list[Step]] | None:
    """A function that follows a node through the passes of the program's recording; None if the source is not one. A node without a
    graph is one of another pass."""
    from opscope.recording.sources import is_recording_source, open_recording, split_at

    base, which = split_at(source)
    if not is_recording_source(base):
        return None

    @cache
    def recording() -> Recording:
        with progress(f"reading {base}") as report:
            return open_recording(base, report)

    def history(graph: str | None, node: str) -> list[Step]:
        passes = recording()
        if graph is None:
            return passes.history(node, passes.with_node(node)[-1].index, carried=True)
        last = {snapshot.module: snapshot.index for snapshot in passes}
        index = which or next(i for i in reversed(last.values()) if passes[i].program.name == program.name)
        return passes.history((graph, node), index, carried=True)

    return history


def _read_lines(session: Any) -> None:
    """Read lines from a terminal, with completion and a history that is kept between sessions."""
    history = Path.home() / ".opscope_history"
    readline = _line_editing(session, history)
    while session.running:
        try:
            if not _run_line(session):
                break
        except KeyboardInterrupt:
            continue  # a second Ctrl+C, while the first was being handled
    if readline is not None:
        try:
            readline.write_history_file(history)
        except OSError:
            pass  # a read-only home directory costs only the history


def _run_line(session: Any) -> bool:
    """Read and run one line; False at the end of input. Ctrl+C ends the line or the command, never the prompt."""
    try:
        line = input("opscope> ")
    except EOFError:
        say()
        return False
    except KeyboardInterrupt:
        say()
        return True
    try:
        session.run(line)
    except KeyboardInterrupt:
        say("stopped")
    return True


def _line_editing(session: Any, history: Path) -> Any:
    try:
        import readline
    except ImportError:  # not available on Windows; the prompt works without it
        return None
    completions: list[str] = []

    def complete(text: str, state: int) -> str | None:
        if state == 0:
            completions[:] = session.complete(readline.get_line_buffer(), text)
        return completions[state] if state < len(completions) else None

    readline.set_completer(complete)
    readline.set_completer_delims(" \t\n")
    readline.parse_and_bind("tab: complete")
    readline.parse_and_bind("set enable-bracketed-paste on")
    try:
        readline.read_history_file(history)
    except OSError:
        pass  # the first session has no history
    return readline
