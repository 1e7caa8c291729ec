"""The flags of XLA's interactive_graphviz: its names for the source, and --platform."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from opscope.cli.source import read_one

if TYPE_CHECKING:
    from opscope.program import Program
    from opscope.readers.jax.xla import Form

Command = TypeVar("Command", bound=Callable[..., Any])

FLAGS: dict[str, tuple[Form, str]] = {
    "hlo_text": ("text", "SOURCE, by its name in interactive_graphviz: HLO text."),
    "hlo_module_proto": ("module", "A serialized HloModuleProto (needs jaxlib)."),
    "hlo_proto": ("proto", "A serialized HloProto (needs jaxlib)."),
    "hlo_snapshot": ("snapshot", "A serialized HloSnapshot (needs jaxlib)."),
}


def source_flags(command: Command) -> Command:
    """SOURCE, which the flags of interactive_graphviz can name instead, and --platform."""
    for name, (_, help) in reversed(FLAGS.items()):
        command = click.option(f"--{name}", metavar="FILE", help=help)(command)
    platform = click.option(
        "--platform", default="", metavar="NAME", help="Compile the HLO for CPU or CUDA first, and explore the result (needs jaxlib)."
    )
    return click.argument("source", metavar="[SOURCE]", required=False, type=click.Path(allow_dash=True))(platform(command))


def chosen_source(source: str | None, files: dict[str, str | None]) -> tuple[str, Form | None]:
    """The one source that was named, and which form a flag says it has."""
    named: list[tuple[str, Form | None]] = [(path, FLAGS[name][0]) for name, path in files.items() if path]
    if source:
        named.append((source, None))
    if len(named) != 1:
        flags = ", ".join(f"--{name}" for name in FLAGS)
        raise click.UsageError(f"{'Name a source' if not named else 'Name only one source'}: SOURCE, or one of {flags}.")
    return named[0]


def read_flagged(source: str, form: Form | None, platform: str, format: str | None, module: str | None) -> Program:
    """The program of a source. XLA reads the binary forms, and compiles for a platform."""
    if form in (None, "text") and not platform:
        return read_one(source, "hlo" if form else format, module)
    from opscope.analysis.enrich import with_groupings
    from opscope.errors import in_source
    from opscope.loading import only_program
    from opscope.readers.hlo import parse_hlo
    from opscope.readers.jax.xla import xla_text
    from opscope.readers.source import Source

    with in_source(source):
        text = xla_text(Source(source).read_bytes(), form or "text", platform)
        return with_groupings(only_program(source, parse_hlo(text)))
