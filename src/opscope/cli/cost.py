"""`opscope cost`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from opscope.cli.progress import progress
from opscope.cli.source import measure_option, one_or_programs, profile_option, source_options
from opscope.cli.table import blocks, count, modules, rest, table
from opscope.ellipsis import ellipsize
from opscope.errors import in_source
from opscope.quantities import short_bytes, short_number, short_seconds
from opscope.terminal import say, say_json

if TYPE_CHECKING:
    from opscope.analysis.costs import Costs
    from opscope.profile.place import Times

_MOST_ROWS = 20
_LONGEST = 70
_PERS = ("node", "kernel", "op", "module", "source")


@click.command()
@source_options
@profile_option
@measure_option
@click.option("--by", metavar="time|flops|bytes|METRIC", help="Rank by this: time if it is measured or estimated, otherwise flops.")
@click.option("--per", type=click.Choice(_PERS), default="node", show_default=True, help="What a row is.")
@click.option("--device", metavar="NAME", help="Estimate times for this device: h200, a100, tpu-v5e, …, or a JSON file with its rates.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every row.")
@click.option("--all", "everything", is_flag=True, help="List every row instead of the heaviest.")
def command(
    source: str,
    module: str | None,
    from_format: str | None,
    profile: str | None,
    measure: bool,
    by: str | None,
    per: str,
    device: str | None,
    as_json: bool,
    everything: bool,
) -> None:
    """List what SOURCE spends its time on, the heaviest first, with shares and cumulative shares.

    SOURCE is a profile (.xplane.pb, the directory that jax.profiler.trace writes, or a trace of PyTorch's profiler), or a program with
    --profile FILE. Without a profile, rows are ranked by their estimated FLOPs or bytes, or by the time that they need at best on a
    --device. Numbers are of one step: one run of the module.

    \b
    opscope cost trace_dir
    opscope cost trace_dir --per module
    opscope cost after.hlo --profile trace_dir --per source --json
    opscope cost torch_trace_dir --profile trace.json.gz
    opscope cost model:make --measure
    opscope cost step.hlo --by bytes
    opscope cost step.hlo --device h200
    """
    from opscope.analysis.costs import costs_of
    from opscope.analysis.devices import device_of
    from opscope.loading import load_timed

    chosen_device = None if device is None else device_of(device)
    with progress(f"reading {source}") as report:
        timed = load_timed(source, module=module, format=from_format, profile=profile, measure=measure, progress=report)
    chosen = [one for one in timed if one.times is not None] or timed
    with in_source(source):
        costs = [costs_of(one.program, one.times, by, per, chosen_device) for one in chosen]
    if as_json:
        say_json(one_or_programs([one.to_json() for one in costs]), indent=1)
    elif len(costs) == 1:
        say(*_text(costs[0], None if everything else _MOST_ROWS))
    else:
        cells = [("module", costs[0].by, "rows"), *((one.program, _amount(one.total, one.unit), f"{len(one.rows):,}") for one in costs)]
        say(*modules(cells, "lrr"))


def _text(costs: Costs, most: int | None) -> list[str]:
    parts = [table(_facts(costs))]
    headings = [costs.per, costs.by, "share", "sum", "calls"]
    others = costs.other_units
    is_node = costs.per == "node"
    is_compared = costs.by == "time" and any(row.at_best is not None for row in costs.rows)
    last = [*(["at best"] if is_compared else []), *(["limit"] if costs.device and is_node else []), *(["op", "module"] if is_node else [])]
    rows = [(*headings, *others, *last)]
    for row in costs.rows[:most]:
        rows.append(
            (
                ellipsize(row.name, _LONGEST),
                _amount(row.amounts[costs.by], costs.unit),
                f"{row.share:.1%}",
                f"{row.cumulative:.1%}",
                f"{row.calls:,.6g}",
                *("" if name not in row.amounts else _amount(row.amounts[name], unit) for name, unit in others.items()),
                *(["" if row.at_best is None else f"{row.at_best:.0%}"] if is_compared else []),
                *([row.limit] if costs.device and is_node else []),
                *([ellipsize(row.op, _LONGEST), ellipsize(row.module, _LONGEST)] if is_node else []),
            )
        )
    parts.append(table(rows, "lrrrr" + "r" * (len(others) + is_compared)) + rest(len(costs.rows), most))
    if costs.times is not None and costs.times.unplaced:
        parts.append(_unplaced(costs.times, most))
    return blocks(*parts)


def _facts(costs: Costs) -> list[tuple[str, str]]:
    facts = [("program", costs.program)]
    times = costs.times
    if times is not None:
        steps = max(times.steps, 1)
        share = times.placed_seconds / times.device_seconds if times.device_seconds else 1.0
        facts.append(("device time", f"{short_seconds(times.device_seconds / steps)} per step, measured in {count(times.steps, 'step')}"))
        facts.append(("placed", f"{share:.2%} of it on nodes"))
        if len(times.phases) > 1:
            facts.append(("phases", ", ".join(f"{phase} {seconds / times.device_seconds:.1%}" for phase, seconds in times.phases.items())))
        if times.idle:
            facts.append(("device idle", f"{short_seconds(times.idle / steps)} per step, between kernels"))
    if costs.device is not None:
        facts.append(("estimated for", f"{costs.device.title}, at its peak rates"))
    if costs.by != "time":
        facts.append((costs.by, f"{_amount(costs.total, costs.unit)} per step"))
    if costs.missing:
        facts.append(("unknown", f"{count(costs.missing, 'operation')} of unknown {costs.by}"))
    return facts + [("note", note) for note in costs.notes]


def _unplaced(times: Times, most: int | None) -> list[str]:
    """The kernels that belong to no node."""
    heaviest = sorted(times.unplaced.items(), key=lambda item: -item[1][0])
    steps = max(times.steps, 1)
    rows = [("kernel without a node", "time", "calls")]
    rows += [
        (ellipsize(name, _LONGEST), short_seconds(seconds / steps), f"{count / steps:,.6g}") for name, (seconds, count) in heaviest[:most]
    ]
    return table(rows, "lrr")


def _amount(value: float, unit: str) -> str:
    if unit == "s":
        return short_seconds(value)
    return short_bytes(value) if unit == "B" else short_number(value)
