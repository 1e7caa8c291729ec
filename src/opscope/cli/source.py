"""SOURCE and the options that choose within it, the same for every command."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from opscope.cli.progress import progress
from opscope.errors import OpscopeError, SourceError

if TYPE_CHECKING:
    from opscope.program import Program

Command = TypeVar("Command", bound=Callable[..., Any])


def source_options(command: Command) -> Command:
    """SOURCE, --module and --reader."""
    command = click.option("--reader", metavar="NAME", help="Read with this reader (see `opscope formats`).")(command)
    command = click.option("--module", metavar="NAME", help="The module to take where SOURCE holds several.")(command)
    return click.argument("source", metavar="SOURCE", type=click.Path(allow_dash=True))(command)


def read_all(source: str, reader: str | None = None, module: str | None = None) -> list[Program]:
    """Every program of SOURCE, or that of the module alone, with a progress bar if it takes long."""
    from opscope.loading import load_all

    with progress(f"reading {source}") as report:
        return load_all(source, module=module, reader=reader, progress=report)


def choose(source: str, programs: list[Program]) -> Program:
    """The one program that a command is about."""
    from opscope.loading import select_program

    try:
        return select_program(programs, None)
    except OpscopeError as error:
        raise SourceError(str(error), source) from None
