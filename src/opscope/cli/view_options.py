"""The click options of commands that draw, built from the table of view options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from opscope.view_options import ROWS, Row, ViewOptions

Command = TypeVar("Command", bound=Callable[..., Any])


class FlagOptions(ViewOptions):
    """View options from the command line: messages name their flags."""

    def spelled(self, name: str, value: str | float | None = None) -> str:
        flag = "--" + name.replace("_", "-")
        return flag if value is None else f"{flag} {value}"


class DrawingCommand(click.Command):
    """A command with view options. A flag whose value may be left out can come before SOURCE: `view --diff a.hlo b.hlo`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _spell_out(args))


def _spell_out(args: list[str]) -> list[str]:
    """The arguments, in which no flag takes the SOURCE after it for its value: `--diff a.hlo` becomes `--diff=overlay a.hlo`."""
    bare = {row.flag: row for row in ROWS if row.bare is not None}
    return [
        f"{arg}={bare[arg].bare}" if arg in bare and _is_source(after, bare[arg]) else arg
        for arg, after in zip(args, (*args[1:], "--"), strict=False)
    ]


def _is_source(arg: str, row: Row) -> bool:
    """Is an argument after the flag of this row a SOURCE? A lone word that is not a file is probably a misspelled value."""
    is_flag = arg.startswith("-") and arg != "-"
    return not is_flag and arg not in row.choices and (not arg.isalpha() or Path(arg).exists())


def view_options(writer: str | None = None) -> Callable[[Command], Command]:
    """Add --graph, --depth, --flatten, --around … to a command, which receives them as keyword arguments. Options that its only `writer`
    refuses are hidden from its help."""

    def decorate(command: Command) -> Command:
        for row in reversed(ROWS):
            command = click.option("/".join(row.flags), **_settings(row), hidden=writer is not None and writer not in row.writers)(command)
        return command

    return decorate


def serving_options(command: Command) -> Command:
    """--port, --host and --no-browser."""
    port = click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Port to listen on; 0 picks a free one.")
    host = click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Address to listen on.")
    no_browser = click.option("--no-browser", is_flag=True, help="Print the address instead of opening a browser.")
    return port(host(no_browser(command)))


def _settings(row: Row) -> dict[str, Any]:
    """The arguments of `click.option` for a row."""
    settings: dict[str, Any] = {"default": row.default, "help": row.help, "metavar": row.metavar or None}
    if row.kind == "flag":
        settings["is_flag"] = True
    elif row.kind == "integer":
        settings |= {"type": click.IntRange(None if row.least is None else int(row.least)), "show_default": row.default is not None}
    elif row.kind == "number":
        settings |= {"type": click.FloatRange(row.least, row.most), "show_default": True}
    elif row.kind == "choice":
        settings |= {"type": click.Choice(row.choices), "show_default": row.default is not None}
        if row.bare is not None:
            settings |= {"is_flag": False, "flag_value": row.bare}
    elif row.kind in ("texts", "files"):
        settings["multiple"] = True
    elif row.kind == "pair":
        settings["nargs"] = 2
    return settings
