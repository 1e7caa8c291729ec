"""SOURCE and its options, shared by all commands."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from opscope.cli.progress import progress
from opscope.naming import WHOLE_SOURCE, Part

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

profiles_option = click.option(
    "--profile",
    "profiles",
    metavar="FILE",
    type=click.Path(),
    multiple=True,
    help="Profile of SOURCE (.xplane.pb, JSON of PyTorch's profiler or ONNX Runtime, .csv); its times become metrics. Of two sources that "
    "are compared, name one for each.",
)

device_option = click.option(
    "--device", metavar="NAME", help="Estimate times for this device: h200, a100, tpu-v5e, …, or a JSON file with its rates."
)

measure_option = click.option("--measure", is_flag=True, help="Run the model that SOURCE names (module:callable), and measure its nodes.")


def part_options(command: Command) -> Command:
    """--stage and --inside, as one argument `part`."""

    @wraps(command)
    def with_part(*args: Any, stage: str | None, inside: str | None, **options: Any) -> Any:
        return command(*args, part=Part(stage, inside), **options)

    stages = "forward, joint, autograd or eager (PyTorch); jaxpr, stablehlo, hlo or optimized (JAX)"
    with_stage = click.option("--stage", metavar="NAME", help=f"Stage of the model that SOURCE (module:callable) names: {stages}.")
    with_inside = click.option("--inside", metavar="MODULE", help="Take only this module of the model, such as layers.0.self_attn.")
    return with_stage(with_inside(with_part))  # type: ignore[return-value]


def picture_options(what: str) -> Callable[[Command], Command]:
    """-o, --force and --theme of commands that can draw what they print."""

    def with_options(command: Command) -> Command:
        themes = click.Choice(("light", "dark"))
        command = click.option("--theme", type=themes, default="light", show_default=True, help="Colours of the picture.")(command)
        command = click.option("-f", "--force", is_flag=True, help="Overwrite FILE, whatever it contains.")(command)
        return click.option("-o", "--output", "output", metavar="FILE", help=f"Write {what} as a picture: .svg, .png or .pdf.")(command)

    return with_options


def check_force(force: bool, output: str | None) -> None:
    if force and output is None:
        raise click.UsageError("--force is about the file that -o FILE writes.")


def at_terminal() -> bool:
    """Whether a person is there, and not a script."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def source_options(command: Command) -> Command:
    """SOURCE, --module, --from, --stage and --inside."""
    return click.argument("source", metavar="SOURCE", type=click.Path(allow_dash=True))(module_option(from_option(part_options(command))))


def read_all(
    source: str,
    format: str | None = None,
    module: str | None = None,
    profile: str | None = None,
    device: str | None = None,
    part: Part = WHOLE_SOURCE,
) -> list[Program]:
    """Every program of SOURCE, or only that of `module`, with a progress bar if it takes long."""
    from opscope.loading import load_all

    with progress(f"reading {source}") as report:
        return load_all(
            source, module=module, format=format, profile=profile, device=device, stage=part.stage, inside=part.inside, progress=report
        )


def one_profile(profiles: Sequence[str]) -> str | None:
    """The profile of one source."""
    if len(profiles) > 1:
        raise click.UsageError(f"a source has one --profile, not {len(profiles)}.")
    return profiles[0] if profiles else None


def check_profiles(profiles: Sequence[str]) -> None:
    """The profiles of two sources that are compared."""
    if len(profiles) == 1 or len(profiles) > 2:
        raise click.UsageError(f"two sources need two profiles, not {len(profiles)}: --profile A --profile B, in their order.")


def one_or_programs(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The JSON of a source: that of its program, or a list if it has several modules."""
    return rows[0] if len(rows) == 1 else {"programs": rows}


def read_one(source: str, format: str | None, module: str | None, part: Part) -> Program:
    """The only program of SOURCE, or that of `module`."""
    from opscope.loading import only_program

    return only_program(source, read_all(source, format, module, part=part))


def read_recording(
    source: str, format: str | None, module: str | None, device: str | None, part: Part, *, whole: bool, diff: bool
) -> Recording | None:
    """The recording to show, or None (see `load_recording`)."""
    from opscope.loading import load_recording

    with progress(f"reading {source}") as report:
        return load_recording(source, module=module, format=format, device=device, part=part, whole=whole, diff=diff, progress=report)
