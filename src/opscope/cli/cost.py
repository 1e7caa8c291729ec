"""`opscope cost`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from opscope.cli.progress import progress
from opscope.cli.source import (
    check_force,
    check_profiles,
    device_option,
    measure_option,
    one_or_programs,
    one_profile,
    picture_options,
    profiles_option,
    source_options,
)
from opscope.cli.table import blocks, count, modules, rest, table
from opscope.ellipsis import ellipsize
from opscope.errors import OpscopeError, in_source
from opscope.naming import Part
from opscope.quantities import short_bytes, short_number, short_seconds
from opscope.terminal import say, say_json

if TYPE_CHECKING:
    from opscope.analysis.costs import Costs
    from opscope.analysis.devices import Device
    from opscope.profile.place import Times
    from opscope.readers.timed import Timed
    from opscope.recording.cost_changes import CostChanges
    from opscope.view_options import Theme

_MOST_ROWS = 20
_LONGEST = 70
_WELL_MATCHED = 0.9
_TIME = "time"
_PERS = ("node", "kernel", "op", "module", "source")


@click.command()
@source_options
@click.argument("other", metavar="[SOURCE]", required=False, type=click.Path())
@profiles_option
@measure_option
@click.option("--by", metavar="time|flops|bytes|METRIC", help="Rank by this: time if it is measured or estimated, otherwise flops.")
@click.option("--per", type=click.Choice(_PERS), help="What a row is: a node, or with two sources a module, unless you say so.")
@device_option
@picture_options("the modules by their shares, the roofline and the kernels of a step")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every row.")
@click.option("--all", "everything", is_flag=True, help="List every row instead of the heaviest.")
def command(
    source: str,
    other: str | None,
    module: str | None,
    from_format: str | None,
    part: Part,
    profiles: tuple[str, ...],
    measure: bool,
    by: str | None,
    per: str | None,
    device: str | None,
    output: str | None,
    force: bool,
    theme: Theme,
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
    opscope cost trace_dir --device h200 -o cost.svg     as a picture
    opscope cost before.xplane.pb after.xplane.pb        what got slower, by module

    With two SOURCEs, rows are modules, those that got slower first. Nodes are matched as in `opscope diff`, so names may differ.
    """
    from opscope.analysis.costs import costs_of
    from opscope.analysis.devices import device_of
    from opscope.loading import load_timed

    check_force(force, output)
    chosen_device = None if device is None else device_of(device)

    def load(name: str, profile: str | None) -> list[Timed]:
        with progress(f"reading {name}") as report:
            timed = load_timed(name, module=module, format=from_format, profile=profile, measure=measure, part=part, progress=report)
        return [one for one in timed if one.times is not None] or timed

    if other is not None:
        first, second = _profile_each(source, other, profiles, from_format)
        if output is not None:
            raise click.UsageError("-o draws one source; leave out the other.")
        changes = _compared(source, load(source, first), other, load(other, second), by, per or "module", chosen_device)
        say_json(changes.to_json(), indent=1) if as_json else say(*_changes(changes, None if everything else _MOST_ROWS))
        return
    chosen = load(source, one_profile(profiles))
    with in_source(source):
        costs = [costs_of(one.program, one.times, by, per or "node", chosen_device) for one in chosen]
    if output is not None:
        if len(chosen) > 1:
            raise OpscopeError(f"{source}: has {len(chosen)} modules; choose one with --module NAME to use -o")
        _draw(chosen[0], chosen_device, by, source, output, theme, force)
    elif as_json:
        say_json(one_or_programs([one.to_json() for one in costs]), indent=1)
    elif len(costs) == 1:
        say(*_text(costs[0], None if everything else _MOST_ROWS))
    else:
        cells = [("module", costs[0].by, "rows"), *((one.program, _amount(one.total, one.unit), f"{len(one.rows):,}") for one in costs)]
        of_all = [note for note in costs[0].notes if all(note in one.notes for one in costs)]
        say(*modules(cells, "lrr"), *(f"note  {note}" for note in of_all))


def _profile_each(a: str, b: str, profiles: tuple[str, ...], format: str | None) -> tuple[str | None, str | None]:
    """The profile of each of two sources. If there is one, it belongs to the source that is not a profile itself."""
    from opscope.loading import is_profile

    if len(profiles) == 1:
        has_times = [is_profile(source, format) for source in (a, b)]
        if has_times.count(True) == 1:
            return (None, profiles[0]) if has_times[0] else (profiles[0], None)
    check_profiles(profiles)
    return (profiles[0], profiles[1]) if profiles else (None, None)


def _draw(timed: Timed, device: Device | None, by: str | None, source: str, output: str, theme: Theme, force: bool) -> None:
    from opscope.analysis.enrich import enrich
    from opscope.analysis.roofline import with_estimates
    from opscope.render.panel_picture import check_picture, write_cost

    form = check_picture(Path(output), Path(source), force)
    with progress(f"writing {output}"):
        program = enrich(timed.program)
        program = program if device is None else with_estimates(program, device)
        write_cost(program, None if by == _TIME else by, Path(output), form, theme)


def _compared(a: str, before: list[Timed], b: str, after: list[Timed], by: str | None, per: str, device: Device | None) -> CostChanges:
    """The heaviest modules of two sources."""
    from opscope.recording.cost_changes import PERS, cost_changes

    if per not in PERS:
        raise click.UsageError(f"two sources are compared --per {', '.join(PERS)}, not {per}.")
    with in_source(f"{a} and {b}"):
        return cost_changes(before[0], after[0], by, per, device)


def _changes(changes: CostChanges, most: int | None) -> list[str]:
    a, b = changes.a, changes.b
    first = "" if a.of_what == b.of_what else f" {a.of_what}"
    facts = [
        ("programs", f"{a.program} → {b.program}"),
        (a.by, f"{_amount(a.total, a.unit)}{first} → {_amount(b.total, a.unit)} {b.of_what}{_ratio(a.total, b.total)}"),
        ("matched", f"{changes.matched:.1%} of it on nodes that both have"),
    ]
    if changes.by_module is not None:
        facts.append(("", f"{changes.by_module:.1%} of it in modules that both have, by the order of their products"))
    elif changes.matched < _WELL_MATCHED:
        facts.append(("", "the rest is new in the second; of code that torch.compile made, open its TORCH_TRACE log with --profile"))
    rows = [(changes.per, "before", "after", "change", "")]
    for row in changes.rows[:most]:
        before, after = ("" if amount is None else _amount(amount, a.unit) for amount in (row.before, row.after))
        sign = "+" if row.change > 0 else "−" if row.change < 0 else ""
        rows.append((ellipsize(row.name, _LONGEST), before, after, sign + _amount(abs(row.change), a.unit), _ratio(row.before, row.after)))
    return blocks(table(facts), table(rows, "lrrrl") + rest(len(changes.rows), most))


def _ratio(before: float | None, after: float | None) -> str:
    return f" ({after / before:.2f}×)" if before and after else ""


def _text(costs: Costs, most: int | None) -> list[str]:
    parts = [table(_facts(costs))]
    headings = [costs.per, costs.by, "share", "sum", "calls"]
    others = costs.other_units
    is_node = costs.per == "node"
    is_compared = costs.by == _TIME and any(row.at_best is not None for row in costs.rows)
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
        of_what = costs.part or f"per step, measured in {count(times.steps, 'step')}"
        facts.append(("device time", f"{short_seconds(times.device_seconds / steps)} {of_what}"))
        facts.append(("placed", f"{share:.2%} of it on nodes"))
        if len(times.phases) > 1 and not costs.part:
            facts.append(("phases", ", ".join(f"{phase} {seconds / times.device_seconds:.1%}" for phase, seconds in times.phases.items())))
        if times.idle:
            facts.append(("device idle", f"{short_seconds(times.idle / steps)} {costs.part or 'per step'}, between kernels"))
    if costs.device is not None:
        facts.append(("estimated for", f"{costs.device.title}, at its peak rates"))
    if costs.by != _TIME:
        facts.append((costs.by, f"{_amount(costs.total, costs.unit)} {costs.of_what}"))
    if costs.missing:
        what = {"flops": "FLOPs", "bytes": "bytes"}.get(costs.by, "FLOPs or bytes, so without an estimated time")
        facts.append(("unknown", f"{count(costs.missing, 'operation')} of unknown {what}"))
    if costs.from_bytes:
        facts.append(("partly", f"{count(costs.from_bytes, 'operation')} of unknown FLOPs: the time is that of the bytes"))
    if costs.unjudged and times is not None:
        share = costs.unjudged * max(times.steps, 1) / times.device_seconds
        facts.append(
            ("not judged", f"{short_seconds(costs.unjudged)}, {share:.1%} of the device time: operations without an estimated time")
        )
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
