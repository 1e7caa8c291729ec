"""`opscope info`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from opscope.cli.progress import progress
from opscope.cli.source import one_or_programs, profile_option, read_all, source_options
from opscope.cli.table import blocks, count, modules, rest, table
from opscope.naming import Part, listed
from opscope.quantities import short_bytes, short_number, short_seconds
from opscope.terminal import say, say_json

if TYPE_CHECKING:
    from opscope.analysis.info import Info
    from opscope.program import Program

MOST_ROWS = 15
MOST_BLOCKS = 4
MOST_LOOPS = 4
MOST_NODES = 20_000
"""The drawing core, which knows what is saved for backward, takes seconds for larger programs."""


@click.command()
@source_options
@profile_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every graph and op.")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="List every graph and op instead of the largest; in large programs, count what is saved for backward.",
)
@click.option("--as-xla", is_flag=True, help="Count FLOPs and bytes as XLA's own analysis does: no custom calls, each loop once.")
def command(
    source: str, module: str | None, from_format: str | None, part: Part, profile: str | None, as_json: bool, everything: bool, as_xla: bool
) -> None:
    """Summarize SOURCE: graphs, nodes by op, parameters, FLOPs and bytes.

    FLOPs and bytes are for one run of the entry graph: a fusion costs what its body costs, a loop its body times its trip count, a call of
    cuBLAS or cuDNN what it computes. Unknown costs (other custom calls, loops without a known trip count) are reported as missing, never
    guessed.

    \b
    opscope info step.hlo
    opscope info step.hlo --json | jq .flops
    opscope info model:make --stage joint
    zcat step.hlo.gz | opscope info -
    """
    from opscope.analysis.info import info_of

    programs = read_all(source, from_format, module, profile, part=part)
    with progress(f"counting {source}"):
        infos = [info_of(program, as_xla) for program in programs]
        saved = [_saved(program) if everything or program.node_count <= MOST_NODES else None for program in programs]
    if as_json:
        say_json(
            one_or_programs([info.to_json() | {"saved_for_backward": each} for info, each in zip(infos, saved, strict=True)]), indent=1
        )
    elif len(infos) == 1:
        say(*_lines(infos[0], saved[0], None if everything else MOST_ROWS, as_xla))
    else:
        rows = [("module", "graphs", "nodes", "entry")]
        rows += [(info.name, f"{len(info.graphs):,}", f"{info.nodes:,}", info.entry) for info in infos]
        say(*modules(rows, "lrr"))


def _saved(program: Program) -> dict[str, int] | None:
    """How many values the forward half saves for the backward half, and their bytes; None without a backward half."""
    from opscope.render.saved import saved_for_backward

    values = saved_for_backward(program)
    return {"values": len(values), "bytes": sum(value.bytes or 0 for value in values)} if values else None


def _lines(info: Info, saved: dict[str, int] | None, most: int | None, as_xla: bool) -> list[str]:
    graphs = sorted(info.graphs, key=lambda graph: -graph.nodes)
    rows = [("graph", "nodes", "FLOPs", "bytes", "called")]
    for graph in graphs[:most]:
        called = "entry" if graph.name == info.entry else f"{graph.callers:,}×"
        flops, moved = _known(short_number, graph.flops, graph.unknown_flops), _known(short_bytes, graph.bytes, graph.unknown_bytes)
        rows.append((graph.name, f"{graph.nodes:,}", flops, moved, called))
    ops = [("op", "nodes", "kind"), *((op, f"{count:,}", kind) for op, count, kind in info.ops[:most])]
    return blocks(
        table(_facts(info, saved, as_xla)),
        table(rows, "lrrrr") + rest(len(graphs), most, "graphs"),
        table(ops, "lrl") + rest(len(info.ops), most, "ops"),
    )


def _facts(info: Info, saved: dict[str, int] | None, as_xla: bool) -> list[tuple[str, str]]:
    graphs = "1 graph" if len(info.graphs) == 1 else f"{len(info.graphs):,} graphs"
    apart = info.transcendentals if as_xla else 0
    flops = _known(short_number, info.flops - apart, info.unknown_flops)
    if apart:
        flops += f", and {count(apart, 'transcendental')}"
    elif info.transcendentals:
        flops += f", {short_number(info.transcendentals)} of them transcendental"
    if info.unknown_flops:
        flops += f"{_joint(info.flops)} {count(info.unknown_flops, 'operation')} of unknown cost ({listed(info.unknown_flops_ops)})"
    moved = _known(lambda size: f"{short_bytes(size)} read and written", info.bytes, info.unknown_bytes)
    if info.unknown_bytes:
        moved += f"{_joint(info.bytes)} {count(info.unknown_bytes, 'operation')} with values of unknown size"
    return [
        ("program", info.name),
        ("nodes", f"{info.nodes:,} in {graphs}, entry {info.entry}"),
        *_arguments(info),
        ("FLOPs", flops),
        ("bytes", moved),
        *_halves(info),
        *([("saved", f"{count(saved['values'], 'value')} for backward, {short_bytes(saved['bytes'])}")] if saved else []),
        *_blocks(info),
        *_loops(info),
        *([] if info.device_seconds is None else [("device time", f"{short_seconds(info.device_seconds)}, measured")]),
        *(("note", note) for note in info.notes),
    ]


def _halves(info: Info) -> list[tuple[str, str]]:
    """The operations of each half, if they are inferred; if the source states them, the viewer shows them."""
    if info.halves is None:
        return []
    counts = ", ".join(f"{count:,} {name}" for name, count in info.halves.items())
    return [("halves", f"{counts} operations, with called graphs (inferred from structure)")]


def _blocks(info: Info) -> list[tuple[str, str]]:
    """The largest repeated blocks, if they were found by shape."""
    if not info.blocks:
        return []
    shown = [f"{block.title} ×{block.repeats} ({block.nodes:,} nodes each)" for block in info.blocks[:MOST_BLOCKS]]
    more = [f"{len(info.blocks) - MOST_BLOCKS:,} more"] if len(info.blocks) > MOST_BLOCKS else []
    return [("blocks", ", ".join([*shown, *more]) + " (found by shape)")]


def _loops(info: Info) -> list[tuple[str, str]]:
    """The loops, with what their values are."""
    rows = []
    for loop in info.loops[:MOST_LOOPS]:
        parts = [f"{count(number, slot)} ({short_bytes(loop.bytes[slot])})" for slot, number in loop.values.items()]
        runs = "" if loop.trips is None else f" ×{loop.trips:,}"
        rows.append(("loop", f"{loop.node}{runs}" + (f": {', '.join(parts)}" if parts else "")))
    more = len(info.loops) - MOST_LOOPS
    return [*rows, *([("loops", f"{more:,} more")] if more > 0 else [])]


def _known(text: Callable[[float], str], amount: int, unknown: int) -> str:
    """An amount as text, or "unknown" if nothing of it is known."""
    return text(amount) if amount or not unknown else "unknown"


def _joint(amount: int) -> str:
    return ", without" if amount else ":"


def _arguments(info: Info) -> list[tuple[str, str]]:
    """The arguments of the entry. Some compilers call every argument a parameter; then the row says so."""
    has_roles = info.inputs or info.buffers
    rows = [
        ("parameters", info.parameters, info.parameter_elements, info.parameter_bytes, info.parameters_of_unknown_size),
        ("buffers", info.buffers, info.buffer_elements, info.buffer_bytes, info.buffers_of_unknown_size),
        ("inputs", info.inputs, info.input_elements, info.input_bytes, info.inputs_of_unknown_size),
    ]
    where = "" if has_roles else " (every argument of the entry)"
    return [
        (name, f"{count:,}{where}{_size(elements, stored, count, unknown)}") for name, count, elements, stored, unknown in rows if count
    ]


def _size(elements: int, stored: int, count: int, unknown: int) -> str:
    if unknown == count:
        return ", of unknown size"
    return f": {short_number(elements)} elements, {short_bytes(stored)}" + (f", without {unknown:,} of unknown size" if unknown else "")
