"""The flags of XLA's interactive_graphviz: its names for the source, and --platform."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from opscope.program import Program

Command = TypeVar("Command", bound=Callable[..., Any])

FLAGS = {
    "hlo_text": ("hlo", "SOURCE, by its name in interactive_graphviz: HLO text."),
    "hlo_module_proto": ("hlo-proto", "The same: a serialized HloModuleProto."),
    "hlo_proto": ("hlo-proto", "The same: a serialized HloProto."),
    "hlo_snapshot": ("hlo-proto", "The same: a serialized HloSnapshot."),
}
"""The format that each flag says the source has, and its help."""


def source_flags(command: Command) -> Command:
    """SOURCE, which the flags of interactive_graphviz can name instead, and --platform."""
    for name, (_, help) in reversed(FLAGS.items()):
        command = click.option(f"--{name}", metavar="FILE", help=help)(command)
    platform = click.option(
        "--platform", default="", metavar="NAME", help="Compile the HLO for CPU or CUDA first, and explore the result (needs jaxlib)."
    )
    return click.argument("source", metavar="[SOURCE]", required=False, type=click.Path(allow_dash=True))(platform(command))


def chosen_source(source: str | None, files: dict[str, str | None]) -> tuple[str, str | None]:
    """The one source that was named, and the format that a flag says it has."""
    named: list[tuple[str, str | None]] = [(path, FLAGS[name][0]) for name, path in files.items() if path]
    if source:
        named.append((source, None))
    if len(named) != 1:
        flags = ", ".join(f"--{name}" for name in FLAGS)
        raise click.UsageError(f"{'Name a source' if not named else 'Name only one source'}: SOURCE, or one of {flags}.")
    return named[0]


def read_compiled(source: str, platform: str) -> Program:
    """The program that XLA makes of HLO, text or proto, for a platform."""
    from opscope.analysis.clusters import with_clusters
    from opscope.errors import in_source
    from opscope.loading import only_program
    from opscope.readers.hlo import parse_hlo
    from opscope.readers.hlo_proto import hlo_proto, module_depth
    from opscope.readers.hlo_proto.text import module_text
    from opscope.readers.jax.xla import compile_hlo
    from opscope.readers.source import Source

    with in_source(source):
        file = Source(source)
        is_proto = module_depth(file.head) is not None
        text = module_text(hlo_proto(file.read_bytes())["hlo_module"]) if is_proto else file.read_text()
        return with_clusters(only_program(source, parse_hlo(compile_hlo(text, platform))))
