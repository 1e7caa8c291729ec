"""The command line. Each command is one file with a click `command`, and one row here.

Only click is imported until a command runs, so that `--help` and shell completion are instant. An error that the user can fix is one
line on stderr and exit code 2, never a traceback (OPSCOPE_TRACEBACK=1 prints one).
"""

from __future__ import annotations

import gc
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from opscope import __version__
from opscope.errors import OpscopeError, error_line
from opscope.naming import closest, suggest
from opscope.terminal import say

COMMANDS = {
    "view": ("opscope.cli.view", "Explore a program in the browser."),
    "demo": ("opscope.cli.demo", "Open an example that comes with opscope."),
    "info": ("opscope.cli.info", "Summarize a program: graphs, ops, parameters, FLOPs and bytes."),
    "export": ("opscope.cli.export", "Write a data file or a picture; the suffix chooses the format."),
    "repl": ("opscope.cli.repl", "Explore a program at a prompt."),
    "passes": ("opscope.cli.passes", "List compiler passes and what each added, removed and changed."),
    "cost": ("opscope.cli.cost", "List what takes the time, or the FLOPs and bytes, the heaviest first."),
    "memory": ("opscope.cli.memory", "Show what is in memory at the peak, and why it is still alive."),
    "diff": ("opscope.cli.diff", "Compare two programs, or two passes of a recording."),
    "bisect": ("opscope.cli.bisect", "Find the first pass after which two recordings of one program differ."),
    "formats": ("opscope.cli.formats", "List the supported formats and what to install for the rest."),
}


class LazyGroup(click.Group):
    """Lists its commands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        row = COMMANDS.get(cmd_name)
        if row is None:
            return None
        command: click.Command = import_module(row[0]).command
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`opscope` and `opscope --no-browser` mean `opscope view …`. Without any argument, only at a terminal: a script gets the help."""
        from opscope.cli.source import at_terminal

        is_view = not ctx.resilient_parsing and (self._is_view_option(args[0]) if args else at_terminal())
        return super().parse_args(ctx, ["view", *args] if is_view else args)

    def _is_view_option(self, word: str) -> bool:
        """Whether a word is an option of `view`, and not one of `opscope` itself."""
        name = word.partition("=")[0]
        if not name.startswith("--") or name in ("--help", "--version"):
            return False
        return any(name in (*option.opts, *option.secondary_opts) for option in import_module(COMMANDS["view"][0]).command.params)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """`opscope step.hlo` means `opscope view step.hlo`: a first word that is not a command but can be a source is one."""
        name = args[0]
        if name not in COMMANDS and _is_source(name):
            return super().resolve_command(ctx, ["view", *args])
        if name not in COMMANDS and not name.startswith("-"):
            ctx.fail(f"{name!r} is neither a command nor a file{suggest(name, COMMANDS, otherwise='.', spelled=str)}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Errors about the values of its options come from click's parser without their command, which is added here."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            name = ctx.invoked_subcommand
            command = self.get_command(ctx, name) if error.ctx is None and name else None
            if command is not None:
                error.ctx = click.Context(command, parent=ctx, info_name=name)
            raise

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        return super().shell_complete(ctx, incomplete) or [CompletionItem(incomplete, type="file")]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help) for name, (_, help) in COMMANDS.items()])


def _is_source(name: str) -> bool:
    """Whether a word can be a source: standard input, a file, a pass of a recording, or `module:callable`."""
    base, at, _ = name.rpartition("@")
    return name == "-" or ":" in name or os.path.exists(name) or bool(at and os.path.exists(base))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="opscope")
def opscope() -> None:
    """See the graphs your model becomes, and what every compiler pass does to them.

    SOURCE is a file, a directory of compiler dumps, `-` for standard input, `module:callable` for a live Python object, or `demo:NAME`
    for an example that comes with opscope.

    \b
    opscope                                         choose a file in the browser; options of `view` may follow
    opscope demo                                    open an example in the browser
    opscope step.hlo                                explore in the browser (short for opscope view)
    opscope export step.hlo -o step.svg --depth 3   draw a picture
    opscope passes dump_dir                         list what every pass did
    opscope COMMAND --help                          show a command's options
    """


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code: 0, 1 for an internal error, 2 for an error that the user can fix, 130 after Ctrl+C.

    Ctrl+C is how a server is meant to be stopped, so `view` and `demo` return 0 after it.
    """
    try:
        code = opscope.main(args=None if argv is None else list(argv), prog_name="opscope", standalone_mode=False)
        sys.stdout.flush()
        if argv is None:
            gc.freeze()  # the process ends, and searching a million objects for cycles before that takes seconds
        return code if isinstance(code, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        say(*(error.ctx.get_help() if error.ctx else "").split("\n"), err=True)
        return 2
    except click.NoSuchOption as error:
        return _fail_usage(_with_near_options(error))
    except click.UsageError as error:
        return _fail_usage(error)
    except click.ClickException as error:
        return _fail(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (OpscopeError, OSError, MemoryError) as error:
        return _fail(error_line(error))
    except Exception as error:
        _fail(error_line(error))
        return 1


def _with_near_options(error: click.NoSuchOption) -> click.NoSuchOption:
    """The error, with only the options whose names are close: click also counts the dashes, which all options share."""
    options = {option.lstrip("-"): option for option in error.possibilities or ()}
    near = [options[name] for name in closest(error.option_name.lstrip("-"), options)]
    return click.NoSuchOption(error.option_name, possibilities=near, ctx=error.ctx)


def _fail_usage(error: click.UsageError) -> int:
    path = error.ctx.command_path if error.ctx else "opscope"
    return _fail(f"{path}: {error.format_message()} See `{path} --help`.")


def _fail(message: str) -> int:
    """Print the message as one line."""
    if os.environ.get("OPSCOPE_TRACEBACK"):
        say(*traceback.format_exc().rstrip().split("\n"), err=True)
    say(" ".join(message.split()), err=True)
    return 2
