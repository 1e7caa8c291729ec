"""`opscope repl`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opscope.cli.progress import progress
from opscope.cli.source import read_one, source_options
from opscope.errors import OpscopeError

if TYPE_CHECKING:
    from opscope.program import Program
    from opscope.recording.history import Step
    from opscope.recording.model import Recording

_MOST_LISTED = 100


@click.command()
@source_options
@click.option("--live", is_flag=True, help="Show every drawing in one browser tab instead of a file each.")
@click.option(
    "-o", "--output", metavar="DIR", type=click.Path(file_okay=False), help="Where drawings (a temporary directory) and extracts go."
)
def command(source: str, module: str | None, from_format: str | None, live: bool, output: str | None) -> None:
    """Explore SOURCE at a prompt: the commands of XLA's interactive_graphviz, and more.

    Tab completes names, the arrow keys walk through the history, Ctrl+C stops the running command only, Ctrl+D leaves. Piped input
    works as a script.
    """
    from opscope.cli.prompt.drawing import FileDrawer, LiveDrawer
    from opscope.cli.prompt.session import Session

    if live and output:
        raise OpscopeError("--live draws in the browser and --output into files; give one of them")
    program = read_one(source, from_format, module)
    folder = Path(output) if output else None
    drawer = LiveDrawer(program, click.echo) if live else FileDrawer(folder)
    most = _MOST_LISTED if sys.stdout.isatty() else None
    session = Session(
        program, drawer.draw, click.echo, lambda: drawer.open(program), _history(source, program), folder=folder, most_listed=most
    )
    try:
        if sys.stdin.isatty():
            click.echo(f"{program!r}. `help` lists the commands.")
            _converse(session)
        else:
            for line in sys.stdin:
                session.run(line)
                if not session.running:
                    break
    finally:
        drawer.close()


def _history(source: str, program: Program) -> Callable[[str, str], list[Step]] | None:
    """Follows nodes of the program through the passes of the recording that it was taken from; nothing for other sources."""
    from opscope.recording.sources import is_recording_source, open_recording, split_at

    base, which = split_at(source)
    if not is_recording_source(Path(base)):
        return None

    @cache
    def recording() -> Recording:
        with progress(f"reading {base}") as report:
            return open_recording(base, report)

    def history(graph: str, node: str) -> list[Step]:
        found = recording()
        last = {snapshot.module: snapshot.index for snapshot in found}
        index = which or next(i for i in reversed(last.values()) if found[i].program.name == program.name)
        return found.history((graph, node), index)

    return history


def _converse(session: Any) -> None:
    """A line at a time from a terminal, with completion and a history that outlives the session."""
    history = Path.home() / ".opscope_history"
    readline = _line_editing(session, history)
    while session.running:
        try:
            if not _answer(session):
                break
        except KeyboardInterrupt:
            continue  # a second one, while the first was being told about
    if readline is not None:
        try:
            readline.write_history_file(history)
        except OSError:
            pass  # a home that cannot be written to costs the history, not the session


def _answer(session: Any) -> bool:
    """One line and what it asks for; False at the end. Ctrl+C ends the line or the command, never the prompt."""
    try:
        line = input("opscope> ")
    except EOFError:
        click.echo()
        return False
    except KeyboardInterrupt:
        click.echo()
        return True
    try:
        session.run(line)
    except KeyboardInterrupt:
        click.echo("stopped")
    return True


def _line_editing(session: Any, history: Path) -> Any:
    try:
        import readline
    except ImportError:  # Windows has none; the prompt works without
        return None
    offered: list[str] = []

    def complete(text: str, state: int) -> str | None:
        if state == 0:
            offered[:] = session.complete(readline.get_line_buffer(), text)
        return offered[state] if state < len(offered) else None

    readline.set_completer(complete)
    readline.set_completer_delims(" \t\n")
    readline.parse_and_bind("tab: complete")
    readline.parse_and_bind("set enable-bracketed-paste on")
    try:
        readline.read_history_file(history)
    except OSError:
        pass  # the first session has no history
    return readline
