"""SOURCE and its options, shared by all commands."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from opscope.cli.progress import progress

if TYPE_CHECKING:
    from opscope.program import Program
    from opscope.recording.model import Recording

Command = TypeVar("Command", bound=Callable[..., Any])


module_option = click.option("--module", metavar="NAME", help="Module to use if SOURCE has several.")
from_option = click.option(
    "--from", "from_format", metavar="NAME", help="Read SOURCE as this format (see `opscope formats`) instead of detecting it."
)

profile_option = click.option(
    "--profile",
    metavar="FILE",
    type=click.Path(),
    help="Profile of SOURCE (.xplane.pb, JSON of PyTorch's profiler or ONNX Runtime, .csv); its times become metrics.",
)

device_option = click.option(
    "--device", metavar="NAME", help="Estimate times for this device: h200, a100, tpu-v5e, …, or a JSON file with its rates."
)

measure_option = click.option("--measure", is_flag=True, help="Run the model that SOURCE names (module:callable), and measure its nodes.")


def at_terminal() -> bool:
    """Whether a person is there, and not a script."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def source_options(command: Command) -> Command:
    """SOURCE, --module and --from."""
    return click.argument("source", metavar="SOURCE", type=click.Path(allow_dash=True))(module_option(from_option(command)))


def read_all(
    source: str, format: str | None = None, module: str | None = None, profile: str | None = None, device: str | None = None
) -> list[Program]:
    """Every program of SOURCE, or only that of `module`, with a progress bar if it takes long."""
    from opscope.loading import load_all

    with progress(f"reading {source}") as report:
        return load_all(source, module=module, format=format, profile=profile, device=device, progress=report)


def one_or_programs(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The JSON of a source: that of its program, or a list if it has several modules."""
    return rows[0] if len(rows) == 1 else {"programs": rows}


def read_one(source: str, format: str | None = None, module: str | None = None, profile: str | None = None) -> Program:
    """The only program of SOURCE, or that of `module`."""
    from opscope.loading import only_program

    return only_program(source, read_all(source, format, module, profile))


def read_recording(
    source: str, format: str | None, module: str | None, device: str | None = None, *, whole: bool, diff: bool
) -> Recording | None:
    """The recording to show, or None (see `load_recording`)."""
    from opscope.loading import load_recording

    with progress(f"reading {source}") as report:
        return load_recording(source, module=module, format=format, device=device, whole=whole, diff=diff, progress=report)
