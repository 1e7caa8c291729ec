"""`opscope passes`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import click

from opscope.cli.commanded import WithCommand, commanded, run_and_show
from opscope.cli.pass_search import found_json, found_lines, found_rows, node_named, passes_touching
from opscope.cli.progress import progress
from opscope.cli.source import check_force, from_option, module_option
from opscope.cli.table import BARS, count, table
from opscope.errors import OpscopeError
from opscope.quantities import short_bytes, short_number, short_seconds
from opscope.terminal import say, say_json

if TYPE_CHECKING:
    from opscope.memory.pass_peaks import PassPeak
    from opscope.recording.dumps.fusion_notes import FusionNote
    from opscope.recording.kernel_code import KernelCode
    from opscope.recording.model import Recording
    from opscope.recording.pass_costs import PassCost
    from opscope.recording.reasons import Reasons
    from opscope.recording.rows import Row

_COSTS = ("flops", "bytes", "at best")
_PEAKS = ("peak", "peak change")
_RULES = "matched"
_LAUNCHES = "launches"
_MOST_RULES = 3
_NUMBER = re.compile(r"\.(\d{4,})\..+\.after_")


@click.command(cls=WithCommand)
@click.argument("source", metavar="SOURCE | -- COMMAND…", type=click.Path(), required=False)
@module_option
@from_option
@click.option("--all", "everything", is_flag=True, help="Also list the passes that changed nothing.")
@click.option(
    "--touching", metavar="WHAT",
    help="Only passes that touched WHAT: a node with all that it was or became, or a search (op:dot, scope:layer_1).",
)  # fmt: skip
@click.option("--history", metavar="NODE", help="Which passes made and changed NODE of any pass, on what evidence, and its source lines.")
@click.option("--find", metavar="SEARCH", help="After which passes SEARCH (op:all-reduce, any text) is found, and from which on.")
@click.option(
    "--why", metavar="NODE[,CONSUMER]",
    help="Why NODE was fused (with CONSUMER), or was not, and what autotuning chose for it, as XLA noted it while compiling for a GPU.",
)  # fmt: skip
@click.option("--code", metavar="NODE", help="The code of the kernel that computes NODE, and every source line that it comes from.")
@click.option("--sort", type=click.Choice(["order", "time"]), default="order", help="By time: every pass that has one, the slowest first.")
@click.option("--profile", metavar="FILE", type=click.Path(), help="Profile (.xplane.pb) of the compilation: the seconds of XLA's passes.")
@click.option("--cost", is_flag=True, help="Also the FLOPs and bytes of the program after each pass.")
@click.option("--device", metavar="NAME", help="With --cost: also the time that the program needs at best on this device.")
@click.option("--memory", is_flag=True, help="Also the most bytes in use in the program after each pass, and which pass raised it most.")
@click.option("-o", "--output", metavar="FILE", type=click.Path(), help="With -- COMMAND: keep the recording in FILE (.opscope).")
@click.option("-f", "--force", is_flag=True, help="With -o: overwrite FILE, whatever it contains.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every pass.")
@click.pass_context
def command(
    context: click.Context,
    source: str | None,
    module: str | None,
    from_format: str | None,
    everything: bool,
    touching: str | None,
    history: str | None,
    find: str | None,
    why: str | None,
    code: str | None,
    sort: str,
    profile: str | None,
    cost: bool,
    device: str | None,
    memory: bool,
    output: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """List compiler passes, one per row, and what each added, removed and changed.

    SOURCE is a recording (.opscope) or a directory written by a compiler: XLA's xla_dump_to, hidet's outs, AITemplate's debug dumps,
    torch's TORCH_TRACE logs and torch_compile_debug. With -- COMMAND, the command runs with what makes its compilers (XLA, torch.compile)
    write down their passes, and these are listed; the exit code is the command's.

    \b
    opscope passes -- python train.py
    opscope passes -o run.opscope -- python train.py
    opscope passes dump_dir
    opscope passes run.opscope --module jit_step --all
    opscope passes dump_dir --find op:all-reduce
    opscope passes dump_dir --touching scope:layer_1
    opscope passes dump_dir --history fusion.133
    opscope passes dump_dir --why multiply.12
    opscope passes dump_dir --why multiply.12,add.7
    opscope passes dump_dir --code fusion.12
    opscope passes outs --sort time
    opscope passes dump_dir --sort time --profile trace_dir
    opscope passes dump_dir --cost --device h200
    opscope passes dump_dir --memory
    """
    from opscope.recording.kernel_counts import kernel_counts
    from opscope.recording.sources import open_recording
    from opscope.render.wire.compare_passes import compared_rows

    if (arguments := commanded(context)) is not None:
        if source is not None:
            raise click.UsageError("SOURCE and -- COMMAND exclude each other.")
        check_force(force, output)
        unkept = context.params | {"output": None, "force": False}
        context.exit(run_and_show(arguments, output, force, lambda path: context.invoke(command, **unkept | {"source": path})))
    if source is None:
        raise click.UsageError("Missing argument 'SOURCE', or -- COMMAND.")
    if output is not None or force:
        raise click.UsageError(f"{'-o' if output is not None else '--force'} applies to -- COMMAND.")
    if device is not None and not cost:
        raise click.UsageError("--device applies to --cost.")
    chosen_device = None
    if device is not None:
        from opscope.analysis.devices import device_of

        chosen_device = device_of(device)
    if why is not None and _why_in_texts(source, why, as_json):
        return
    with progress(f"reading {source}") as report:
        recording = open_recording(source, report, format=from_format)
    if profile is not None:
        recording = _with_profile(recording, profile)
    if module is not None:
        recording = recording.of_module(module)
    if history is not None:
        _history(recording, history, as_json)
        return
    if find is not None:
        _find(recording, find, as_json)
        return
    if why is not None:
        _why(recording, why, as_json)
        return
    if code is not None:
        _code(recording, code, as_json)
        return
    with progress("comparing passes") as report:
        rows = list(compared_rows(recording, report))
        if touching is not None:
            touched = passes_touching(recording, touching)
            rows = [row for row in rows if row.snapshot.index in touched]
    hidden = len(rows) - sum(len(_listed(_of_module(rows, name))) for name in recording.modules)
    passes, changed = len(rows), sum(not row.unchanged for row in rows)
    if sort == "time":
        rows, everything = _slowest_first(source, rows), True
    costs: dict[int, PassCost] = {}
    if cost:
        from opscope.recording.pass_costs import pass_costs

        with progress("estimating costs") as report:
            costs = pass_costs((row.snapshot for row in rows), chosen_device, report)
    peaks = _peaks(recording, rows) if memory else {}
    if as_json:
        say_json([row.to_json() | _number_json(row, costs) | _number_json(row, peaks) for row in rows], indent=1)
        return
    for name in recording.modules:
        module_rows = _of_module(rows, name)
        if module_rows:
            counts = map(str, kernel_counts(row.snapshot for row in module_rows)) if sort == "order" else ()
            say(*([name] if name else []), *_lines(module_rows, everything, costs, peaks), *counts, "")
    unlisted = "" if everything or not hidden else f" ({hidden:,} changed nothing; --all lists them)"
    summary = f"{passes:,} {'pass' if passes == 1 else 'passes'}, {changed:,} changed{unlisted}"
    if sort == "time" and any(row.snapshot.name == _LAUNCHES for row in rows):
        say("launches: the seconds of Inductor's code generation; those of fusion are part of them")
    say(*_remarks(recording, summary), *_rise(recording, peaks))


def _with_profile(recording: Recording, profile: str) -> Recording:
    from pathlib import Path

    from opscope.errors import in_source
    from opscope.profile.xplane import trace_in
    from opscope.recording.dumps.xla import timed_by_profile

    path = Path(profile)
    with in_source(profile):
        file = trace_in(path) if path.is_dir() else path
        if file is None:
            raise OpscopeError("has no profile (.xplane.pb) in it")
        return timed_by_profile(recording, file.read_bytes())


def _peaks(recording: Recording, rows: list[Row]) -> dict[int, PassPeak]:
    from opscope.memory.pass_peaks import pass_peaks

    with progress("computing memory") as report:
        return pass_peaks(recording, [row.snapshot for row in rows], report)


def _number_json(row: Row, numbers: Mapping[int, PassCost | PassPeak]) -> dict[str, Any]:
    return numbers[row.snapshot.index]._asdict() if numbers else {}


def _rise(recording: Recording, peaks: Mapping[int, PassPeak]) -> list[str]:
    """Which pass raised the peak most."""
    if not peaks:
        return []
    from opscope.memory.pass_peaks import highest_rise

    index = highest_rise(peaks)
    rise = "no pass raised the peak"
    if index is not None:
        peak = peaks[index]
        sizes = f"{short_bytes(peak.peak_before_bytes or 0)} → {short_bytes(peak.peak_bytes)}"
        rise = f"{index} {recording.snapshot(index).name} raised the peak most: {sizes}, at {peak.peak_at}"
    return [rise, "peaks are computed in the order in which programs are written; only after scheduling is it the order of the run"]


def _history(recording: Recording, node: str, as_json: bool) -> None:
    from opscope.cli.pass_history import past_json, past_lines, pasts_of

    with progress("following the node"):
        node, _ = node_named(recording, node)
        pasts = list(pasts_of(recording, node))
    if as_json:
        say_json([past_json(past) for past in pasts], indent=1)
    else:
        for past in pasts:
            say(*past_lines(past, node, len(pasts) > 1))


def _find(recording: Recording, query: str, as_json: bool) -> None:
    with progress("searching passes") as report:
        rows = found_rows(recording, query, report)
    if as_json:
        say_json(found_json(rows), indent=1)
    else:
        say(*found_lines(rows, recording))


def _why_in_texts(source: str, nodes: str, as_json: bool) -> bool:
    """Answer from what lies beside the passes, if that is enough."""
    from opscope.recording.reasons import why_in_texts, why_pair_in_texts

    node, _, consumer = nodes.partition(",")
    if consumer:
        pair = why_pair_in_texts(source, node, consumer)
        if pair is not None:
            _say_pair(nodes, *pair, as_json)
        return pair is not None
    reasons = why_in_texts(source, node)
    if reasons is not None:
        _say_reasons(reasons, as_json)
    return reasons is not None


def _why(recording: Recording, nodes: str, as_json: bool) -> None:
    from opscope.recording.reasons import why, why_pair

    node, _, consumer = nodes.partition(",")
    with progress("following the node"):
        if consumer:
            pair = why_pair(recording, node, consumer)
        else:
            reasons = why(recording, node)
    if consumer:
        _say_pair(nodes, *pair, as_json)
    else:
        _say_reasons(reasons, as_json)


def _say_pair(nodes: str, fused: bool, notes: list[FusionNote], as_json: bool) -> None:
    if as_json:
        say_json({"fused": fused, "notes": [note.to_json() for note in notes]}, indent=1)
    else:
        say(f"{nodes.replace(',', ' and ')} were {'' if fused else 'not '}fused", *map(str, notes))


def _say_reasons(reasons: Reasons, as_json: bool) -> None:
    notes, choices = reasons
    if as_json:
        say_json([*(note.to_json() for note in notes), *(choice.to_json() for choice in choices)], indent=1)
    else:
        say(*map(str, notes), *(line for choice in choices for line in choice.lines()))


def _code(recording: Recording, node: str, as_json: bool) -> None:
    from opscope.recording.kernel_code import kernel_code

    codes = kernel_code(recording, node)
    if as_json:
        say_json([{**code._asdict(), "lines": [str(line.frame) for line in code.lines]} for code in codes], indent=1)
        return
    shown: dict[tuple[str, str], list[KernelCode]] = {}
    for code in codes:
        shown.setdefault((code.module, code.node), []).append(code)
    for first, *others in shown.values():
        say(f"{first.node} of {first.module}: {_named(first)}")
        say(*(f"  {line.frame}" for line in first.lines), "", *first.text.expandtabs().splitlines(), "")
        say(*(f"also {_named(other)}" for other in others))


def _named(code: KernelCode) -> str:
    return ", ".join(filter(None, (code.language, code.file)))


def _of_module(rows: list[Row], name: str) -> list[Row]:
    return [row for row in rows if row.snapshot.module == name]


def _slowest_first(source: str, rows: list[Row]) -> list[Row]:
    """The passes whose seconds are known. Those of a pass include the passes that it runs."""
    timed = [(row.snapshot.seconds, row) for row in rows if row.snapshot.seconds is not None]
    if not timed:
        raise OpscopeError(
            f"{source}: no pass has its seconds; XLA writes them for GPUs with xla_dump_module_metadata, hidet with "
            "profile_pass_instrument; a profile of the compilation has them (--profile), and opscope.record takes them live"
        )
    return [row for _, row in sorted(timed, key=lambda pair: -pair[0])]


def _lines(rows: list[Row], everything: bool, costs: Mapping[int, PassCost], peaks: Mapping[int, PassPeak]) -> list[str]:
    timed = any(row.snapshot.seconds is not None for row in rows)
    most = max(row.snapshot.nodes for row in rows) or 1
    shown = rows if everything else _listed(rows)
    numbered = any(_file_number(row) for row in rows)
    head = ["#", "file", "pipeline", "pass", "seconds", "nodes", "", "added", "removed", "merged", "copied", "changed", *_COSTS, *_PEAKS]
    head.append(_RULES)
    rules = {row.snapshot.index: _rules(row) for row in shown}
    absent = {
        *([] if numbered else ["file"]),
        *([] if timed else ["seconds"]),
        *([] if any(row.merged for row in shown) else ["merged"]),
        *([] if any(row.copied for row in shown) else ["copied"]),
        *([] if any(rules.values()) else [_RULES]),
        *([] if costs else _COSTS),
        *([] if peaks else _PEAKS),
        *([] if any(cost.estimated_seconds is not None for cost in costs.values()) else ["at best"]),
    }
    columns = [i for i, name in enumerate(head) if name not in absent]
    numbers = ((row, costs.get(row.snapshot.index), peaks.get(row.snapshot.index)) for row in shown)
    paths = [row.snapshot.pipeline for row in shown]
    in_order = all(row.snapshot.index < later.snapshot.index for row, later in pairwise(shown))
    pipelines = _pipelines(paths) if in_order else map(" / ".join, paths)
    cells = [
        head,
        *(
            [*_cells(row, pipeline, most), *_cost_cells(cost), *_peak_cells(peak), rules[row.snapshot.index]]
            for pipeline, (row, cost, peak) in zip(pipelines, numbers, strict=True)
        ),
    ]
    return table([[row[i] for i in columns] for row in cells], "".join("rrllrrlrrrrrrrrrrl"[i] for i in columns))


def _rules(row: Row) -> str:
    """The rules of a pass that matched, as its compiler names them, and how often: "pointless_permute_pair ×4". One rule for a whole
    stage (Inductor's lowering) says nothing."""
    counts = Counter(origin.rule for origin in row.snapshot.origins if origin.rule and origin.where is not None)
    named = [f"{rule} ×{count:,}" if count > 1 else rule for rule, count in counts.most_common(_MOST_RULES)]
    return ", ".join([*named, *(["…"] if len(counts) > _MOST_RULES else [])])


def _cost_cells(cost: PassCost | None) -> list[str]:
    if cost is None:
        return [""] * len(_COSTS)
    flops, moved, either = ("≥ " if unknown else "" for unknown in (cost.unknown_flops, cost.unknown_bytes, cost.unknown))
    seconds = "" if cost.estimated_seconds is None else either + short_seconds(cost.estimated_seconds)
    return [flops + short_number(cost.flops), moved + short_bytes(cost.bytes), seconds]


def _peak_cells(peak: PassPeak | None) -> list[str]:
    if peak is None:
        return [""] * len(_PEAKS)
    least = "≥ " if peak.unknown_sizes else ""
    change = f"{'+' if peak.rise > 0 else '−'}{short_bytes(abs(peak.rise))}" if peak.rise else ""
    return [least + short_bytes(peak.peak_bytes), change]


def _listed(rows: list[Row]) -> list[Row]:
    """The initial program of a module, and the passes that changed something; --all lists the others too."""
    return [row for row in rows if row is rows[0] or not row.unchanged]


def _file_number(row: Row) -> str:
    """The compiler's own number of the pass, if the file name has one: XLA counts from the first pass it runs."""
    match = _NUMBER.search(str(row.snapshot.attrs.get("file", "")))
    return match[1] if match else ""


def _pipelines(paths: list[tuple[str, ...]]) -> Iterator[str]:
    """The pipeline of each row. Where the row above is in the same one, or in the one that runs it, the last name says which it is."""
    above: tuple[str, ...] = ()
    for path in paths:
        outer = path[:-1]
        yield "  " * len(outer) + "".join(path[-1:]) if outer and above[: len(outer)] == outer else " / ".join(path)
        above = path


def _cells(row: Row, pipeline: str, most: int) -> list[str]:
    s = row.snapshot
    bar = BARS[min(7, s.nodes * 8 // (most + 1))]
    seconds = "" if s.seconds is None else f"{s.seconds:.4f}"
    signed = (("+", row.added), ("−", row.removed), ("−", row.merged), ("+", row.copied), ("~", row.changed))
    *counts, changed = [f"{sign}{count:,}" if count else "" for sign, count in signed]
    return [str(s.index), _file_number(row), pipeline, s.name, seconds, f"{s.nodes:,}", bar, *counts, row.aside or changed]


def _remarks(recording: Recording, counts: str) -> list[str]:
    from opscope.recording.model import NOTHING_RECORDED

    remarks = [counts if recording else NOTHING_RECORDED]
    if recording.skipped:
        remarks.append(
            f"{count(len(recording.skipped), 'file')} skipped: " + "; ".join(recording.skipped[:3]) + "; …" * (len(recording.skipped) > 3)
        )
    remarks += recording.attrs.get("remarks", ())
    if "finished" not in recording.attrs:
        remarks.append("the recording is incomplete: it was interrupted, and later passes are missing")
    return remarks
