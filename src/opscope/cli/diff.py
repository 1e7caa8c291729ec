"""`opscope diff`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from opscope.cli.progress import progress
from opscope.cli.source import from_option, module_option, read_one
from opscope.cli.table import table
from opscope.quantities import short_bytes, short_number

if TYPE_CHECKING:
    from opscope.program import Program
    from opscope.recording.diff import Diff, Match
    from opscope.recording.model import Origin

MOST_LINES = 20


@click.command()
@click.argument("a", metavar="A", type=click.Path(allow_dash=True))
@click.argument("b", metavar="B", type=click.Path(allow_dash=True))
@module_option
@from_option
@click.option(
    "--match-by-name/--no-match-by-name",
    default=None,
    help="Take nodes of one name for the same node, or ignore names. Default: as a recording says, else whichever diff is smaller.",
)
@click.option("--all", "everything", is_flag=True, help="List every difference instead of the first ones.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every pair of nodes.")
def command(
    a: str, b: str, module: str | None, from_format: str | None, match_by_name: bool | None, everything: bool, as_json: bool
) -> None:
    """What changed between two programs, or two passes of a recording.

    A and B are any sources, or passes: run.opscope@12, dump-folder@12. With B given as @13, it is a pass of A's recording.
    """
    if b.startswith("@"):
        b = a.rpartition("@")[0] + b
    first, second = (_read(source, from_format, module) for source in (a, b))
    with progress("comparing"):
        found = _compare(first, second, match_by_name)
        text = json.dumps(found.to_json(), ensure_ascii=False) if as_json else diff_text(found, None if everything else MOST_LINES)
    click.echo(text)


class _State(NamedTuple):
    """A program, and where it is a state of a compilation, which one and what its recording says."""

    program: Program
    compilation: tuple[str, str] | None = None
    """The recording and the module in it."""
    number: int = 0
    ids: str | None = None
    origins: tuple[Origin, ...] = ()


def _read(source: str, format: str | None, module: str | None) -> _State:
    from opscope.recording.sources import open_passes, split_at

    base, which = split_at(source)
    if not which:
        return _State(read_one(source, format, module))
    with progress(f"reading {base}") as report:
        recording = open_passes(base, report, format=format)
        snapshot = recording.snapshot(which, module)
        return _State(snapshot.program, (base, snapshot.module), snapshot.index, recording.attrs.get("ids"), snapshot.origins)


def _compare(a: _State, b: _State, match_by_name: bool | None) -> Diff:
    """States of one compilation share their names; of two, equal names may be chance.

    What the compiler told about a state speaks of the state right before it, and of no other.
    """
    from opscope.recording.diff import diff, diff_passes

    if a.compilation is None or a.compilation != b.compilation:
        return diff(a.program, b.program, match_by_name=match_by_name)
    ids = a.ids if match_by_name is None else "names" if match_by_name else "positions"
    return diff_passes(a.program, b.program, origins=b.origins if b.number == a.number + 1 else (), ids=ids)


def diff_text(found: Diff, most: int | None) -> str:
    blocks = [_facts(found)]
    blocks += _section("fused", [str(fusion) for fusion in found.fusions], most)
    told = [match for match in found.compared if match.evidence in ("rewrite", "identity") and len(match.a) + len(match.b) > 2]
    blocks += _section("rewritten", [_rewritten(match) for match in told], most)
    blocks += _section("added", [f"+ {_line(found.b, key)}" for key in found.added], most)
    blocks += _section("removed", [f"− {_line(found.a, key)}" for key in found.removed], most)
    blocks += _section("changed", [_changed(match) for match in found.changed], most)
    return "\n\n".join(blocks)


def _rewritten(match: Match) -> str:
    return f"{_named(match.a)} became {_named(match.b)}" + (f": {match.rule}" if match.rule else "")


def _changed(match: Match) -> str:
    parts = "; ".join(f"{change.field} {_short(change.old)} → {_short(change.new)}" for change in match.changes)
    return f"~ {_named(match.a)} → {_named(match.b)} ({match.evidence}): {parts}"


def _facts(found: Diff) -> str:
    from opscope.recording.rows import in_rewrites

    came, went = in_rewrites(found)
    added, removed = len(found.added) + came, len(found.removed) + went
    counts = f"+{added:,} added, −{removed:,} removed, ~{len(found.changed):,} changed, {len(found.moved):,} moved"
    if found.copied:
        counts += f", ×{found.copied:,} copied"
    if came or went:
        counts += f" (in rewrites: +{came:,} −{went:,})"
    counts += "\nmatched by name" if found.names == "used" else "\nmatched by structure, names ignored"
    summary = found.summary
    rows = [("", "before", "after"), ("nodes", *(f"{n:,}" for n in summary["nodes"]))]
    rows += [("parameters", *map(short_number, summary["parameter_elements"])), ("FLOPs", *map(short_number, summary["flops"]))]
    rows += [("bytes", *map(short_bytes, summary["bytes"]))]
    if any(summary["unknown"]):
        rows.append(("without", *(f"{count:,} of unknown cost" if count else "" for count in summary["unknown"])))
    ops = sorted(summary["ops"].items(), key=lambda item: -abs(item[1][1] - item[1][0]))
    rows += [(op, f"{before:,}", f"{after:,}") for op, (before, after) in ops[:8]]
    return f"{counts}\n\n" + table(rows, "lrr")


def _section(title: str, lines: list[str], most: int | None) -> list[str]:
    if not lines:
        return []
    more = f"\n… {len(lines) - most:,} more (--all lists them)" if most is not None and len(lines) > most else ""
    return [f"{title} ({len(lines):,})\n" + "\n".join(lines[:most]) + more]


def _line(program: Program, key: Any) -> str:
    return _short(program[key[0]][key[1]].short_text, 160) + f"  in {key[0]}"


def _named(keys: Any) -> str:
    return ", ".join(id for _, id in keys[:4]) + (", …" if len(keys) > 4 else "")


def _short(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-most // 2 :]}"
