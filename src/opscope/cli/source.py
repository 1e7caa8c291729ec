"""SOURCE and the options that choose within it, the same for every command."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from opscope.cli.progress import progress

if TYPE_CHECKING:
    from opscope.program import Program

Command = TypeVar("Command", bound=Callable[..., Any])


def source_options(command: Command) -> Command:
    """SOURCE, --module and --reader."""
    command = click.option("--reader", metavar="NAME", help="Read with this reader (see `opscope formats`).")(command)
    command = click.option("--module", metavar="NAME", help="The module to take where SOURCE holds several.")(command)
    return click.argument("source", metavar="SOURCE", type=click.Path(allow_dash=True))(command)


def read_all(source: str, format: str | None = None, module: str | None = None) -> list[Program]:
    """Every program of SOURCE, or that of the module alone, with a progress bar if it takes long."""
    from opscope.loading import load_all

    with progress(f"reading {source}") as report:
        return load_all(source, module=module, format=format, progress=report)


def read_one(source: str, format: str | None = None, module: str | None = None) -> Program:
    """The one program that a command is about."""
    from opscope.loading import only_program

    return only_program(source, read_all(source, format, module))
