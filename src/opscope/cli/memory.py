"""`opscope memory`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import click

from opscope.cli.progress import progress
from opscope.cli.source import check_force, measure_option, one_or_programs, picture_options, source_options
from opscope.cli.table import BARS, blocks, count, modules, rest, table
from opscope.ellipsis import ellipsize
from opscope.errors import OpscopeError
from opscope.naming import Part, listed
from opscope.quantities import short_bytes
from opscope.terminal import say, say_json

if TYPE_CHECKING:
    from opscope.memory.model import Buffer, Memory
    from opscope.view_options import Theme

_MOST_ROWS = 20
_LONGEST = 90
_MOST_NAMED = 3
_WIDTH = 64
_ORIGINS = {
    "reported": "reported by XLA",
    "computed": "computed from the order of the program",
    "measured": "measured by the allocator",
}


@click.command()
@source_options
@measure_option
@click.option("--at", "node", metavar="NODE", help="Show what is alive when this node runs, instead of at the peak.")
@click.option(
    "--per",
    type=click.Choice(("buffer", "module", "source", "kind")),
    default="buffer",
    show_default=True,
    help="What a row is: a buffer, or the sum of a module, a source line or a kind of buffer.",
)
@click.option(
    "--what-if",
    "what_if",
    metavar="ACTION=NODE",
    multiple=True,
    help="Show what memory would be if the values of NODE were changed: recompute=NODE, offload=NODE or bf16=NODE, "
    "or those of a function or module recomputed: checkpoint=NAME; repeatable.",
)
@click.option(
    "--suggest",
    is_flag=True,
    help="Suggest values to recompute, and what to write in the program for it. Greedy: another set may be better.",
)
@picture_options("the memory lane")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every buffer and the curve.")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="List every buffer that is alive by itself, instead of the largest with equal ones in one row.",
)
def command(
    source: str,
    module: str | None,
    from_format: str | None,
    part: Part,
    measure: bool,
    node: str | None,
    per: str,
    what_if: tuple[str, ...],
    suggest: bool,
    output: str | None,
    force: bool,
    theme: Theme,
    as_json: bool,
    everything: bool,
) -> None:
    """Show what is in memory at the peak of SOURCE: each buffer, its size, and why it is still alive.

    From a directory that XLA wrote with xla_dump_to, or a .hlo.pb file, the numbers are XLA's own. A snapshot of PyTorch's CUDA allocator
    (torch.cuda.memory._dump_snapshot) has what was measured. For any other source they are computed from the order of the program.

    \b
    opscope memory dump_dir
    opscope memory dump_dir --per kind
    opscope memory memory.pickle --per source
    opscope memory dump_dir --at dot.12 --json | jq '.live[0]'
    opscope memory dump_dir --what-if recompute=fusion.3 --what-if offload=dot.7
    opscope memory dump_dir --suggest
    opscope memory model:make --stage joint --measure
    opscope memory dump_dir -o lane.svg
    """
    check_force(force, output)
    if what_if or suggest:
        if output is not None:
            raise click.UsageError("-o writes the memory as it is; leave out --what-if and --suggest.")
        from opscope.cli.what_if import show

        if measure:
            raise click.UsageError("--measure runs the model as it is; leave out --what-if and --suggest.")
        show(source, module, from_format, part, what_if, suggest, as_json)
        return
    from opscope.memory.report import to_json
    from opscope.memory.sources import read_memory

    with progress(f"reading {source}") as report:
        memories = read_memory(source, module, from_format, report, part, measure=measure)
    if len(memories) > 1 and (node is not None or output is not None):
        flag = "--at" if output is None else "-o"
        names = listed([each.name for each in memories])
        raise OpscopeError(f"{source}: has {len(memories)} modules; choose one with --module NAME to use {flag}: {names}")
    positions = [memory.peak if node is None else memory.position_of(node) for memory in memories]
    if output is not None:
        _write(memories[0], positions[0], source, output, theme, force)
        return
    if as_json:
        rows = [to_json(memory, position, per) for memory, position in zip(memories, positions, strict=True)]
        say_json(one_or_programs(rows), indent=1)
    elif len(memories) == 1:
        most = None if everything else _MOST_ROWS
        say(*blocks(table(_facts(memories[0], positions[0])), _rows(memories[0], positions[0], per, most)))
    else:
        cells = [("module", "peak", "at"), *((each.name, short_bytes(each.peak_bytes), each.step_at(each.peak)) for each in memories)]
        say(*modules(cells, "lrl"))


def _write(memory: Memory, position: int, source: str, output: str, theme: Theme, force: bool) -> None:
    from opscope.render.panel_picture import check_picture, write_memory

    form = check_picture(Path(output), Path(source), force)
    with progress(f"writing {output}"):
        write_memory(memory, position, Path(output), form, theme)


def _facts(memory: Memory, position: int) -> list[tuple[str, str]]:
    facts = [
        ("program", memory.name),
        ("peak", f"{short_bytes(memory.peak_bytes)} ({memory.peak_bytes:,} bytes), {_ORIGINS[memory.origin]}"),
    ]
    if memory.measured is not None:
        facts.append(("measured", str(memory.measured)))
    if memory.split:
        facts.append(("of which", _split(memory)))
    point = f"{memory.step_at(position) or 'the end'}, step {position + 1:,} of {len(memory.steps):,}"
    unused = memory.reserved_at(position) - memory.bytes_at(position)
    of_it = f", {short_bytes(unused)} reserved and not in use" if unused > 0 else ""
    facts.append(("at", f"{point}: {short_bytes(memory.bytes_at(position))} in use{of_it}"))
    facts += _saved(memory, position)
    facts.append(("in use", _bars(memory)))
    if memory.remark:
        facts.append(("note", memory.remark))
    if memory.unknown:
        facts.append(("unknown", f"{memory.unknown:,} buffers of unknown size, in no sum"))
    return facts


def _saved(memory: Memory, position: int) -> list[tuple[str, str]]:
    """What is only there because the backward half reads it again, and the source lines with the most of it."""
    from opscope.memory.report import source_lines

    saved = [buffer for buffer, _ in memory.live(position) if buffer.kind == "saved" and buffer.bytes]
    if not saved:
        return []
    total = short_bytes(sum(buffer.bytes or 0 for buffer in saved))
    facts = [("saved", f"{total} for backward, {count(len(saved), 'buffer')}; --suggest says what to recompute")]
    lines = [(sum(buffer.bytes or 0 for equal in line for buffer in equal), line) for line in source_lines(saved)]
    for number, (size, line) in enumerate(lines[:_MOST_NAMED]):
        place = f"{line[0][0].source}: " if line[0][0].source else ""
        others = sum(map(len, line[_MOST_NAMED:]))
        names = [*map(_equal, line[:_MOST_NAMED]), *([f"{others:,} more"] if others else [])]
        facts.append(("" if number else "largest", f"{short_bytes(size)}: {place}{', '.join(names)}"))
    as_large = sum(size == lines[_MOST_NAMED - 1][0] for size, _ in lines[_MOST_NAMED:]) if len(lines) > _MOST_NAMED else 0
    if as_large:
        facts.append(("", f"{count(as_large, 'more line')} as large as the last: --per source"))
    return facts


def _equal(buffers: Sequence[Buffer]) -> str:
    """Equal buffers of repeated layers."""
    first = buffers[0]
    part = f" ({first.part} of each iteration)" if first.part else ""
    return f"{_times(buffers)}{first.name}{part} {first.type or ''}".rstrip()


def _split(memory: Memory) -> str:
    split = memory.split
    donated = f" ({short_bytes(split['alias'])} of them in donated arguments)" if split["alias"] else ""
    return (
        f"arguments {short_bytes(split['argument'])}, outputs {short_bytes(split['output'])}{donated}, "
        f"temporaries {short_bytes(split['temp'])}"
    )


def _bars(memory: Memory) -> str:
    """The curve from the first step to the last, one bar for the most in each part of it."""
    width = min(_WIDTH, len(memory.steps) or 1)
    most = [0] * width
    points = [*memory.curve, (len(memory.steps), 0)]
    for (start, size), (end, _) in pairwise(points):
        first, last = (min(width - 1, max(0, at) * width // (len(memory.steps) or 1)) for at in (start, end - 1))
        for column in range(first, last + 1):
            most[column] = max(most[column], size)
    top = max(most) or 1
    return "".join(BARS[min(len(BARS) - 1, size * len(BARS) // top)] for size in most)


def _rows(memory: Memory, position: int, per: str, most: int | None) -> list[str]:
    from opscope.memory.report import grouped, repeats

    live = memory.live(position)
    if per != "buffer":
        groups = grouped(live, per)
        cells = [("bytes", "buffers", per), *((short_bytes(row.bytes), f"{row.buffers:,}", row.name or "-") for row in groups[:most])]
        return table(cells, "rrl") + rest(len(groups), most)
    rows = [("bytes", "kind", "node", "type", "module", "source", "why")]
    together = [[row] for row in live] if most is None else repeats(live)
    for equal in together[:most]:
        buffer, shares = equal[0]
        size = "unknown" if buffer.bytes is None else short_bytes(len(equal) * buffer.bytes)
        why = buffer.why + (f"; in the memory of {shares[0].name}" if shares and len(equal) == 1 else "")
        scope, source = (ellipsize(text, _LONGEST, middle=True) for text in ("/".join(buffer.scope), buffer.source))
        rows.append((size, buffer.kind, _times(equal) + buffer.name, str(buffer.type or ""), scope, source, why))
    return table(rows, "rl") + rest(len(together), most)


def _times(equal: Sequence[object]) -> str:
    return f"{len(equal):,} × " if len(equal) > 1 else ""
