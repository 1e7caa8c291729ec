"""`opscope diff`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from opscope.cli.progress import progress
from opscope.cli.source import choose, read_all
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
@click.option("--module", metavar="NAME", help="The module to take where a source holds several.")
@click.option("--names/--no-names", default=None, help="Trust names of nodes, or do not (default: find out).")
@click.option("--all", "everything", is_flag=True, help="List every difference instead of the first ones.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every pair of nodes.")
def command(a: str, b: str, module: str | None, names: bool | None, everything: bool, as_json: bool) -> None:
    """What changed between two programs, or two passes of a recording.

    A and B are any sources, or passes: run.opscope@12, dump-folder@12. With B given as @13, it is a pass of A's recording.
    """
    from opscope.recording.diff import diff

    if b.startswith("@"):
        b = a.rpartition("@")[0] + b
    first, ids, _ = _read(a, module)
    second, ids_b, origins = _read(b, module)
    if names is not None:
        ids = "names" if names else "positions"
    elif ids != ids_b:
        ids = None
    told = origins if _follows(a, b) else ()
    with progress("comparing"):
        found = diff(first, second, origins=told, ids=ids)
        text = json.dumps(found.to_json(), ensure_ascii=False) if as_json else diff_text(found, None if everything else MOST_LINES)
    click.echo(text)


def _read(source: str, module: str | None) -> tuple[Program, str | None, tuple[Origin, ...]]:
    """A program, what its ids mean where a recording says so, and where its nodes came from."""
    from opscope.recording.sources import open_passes, split_at

    base, which = split_at(source)
    if not which:
        return choose(source, read_all(source, None, module)), None, ()
    with progress(f"reading {base}") as report:
        recording = open_passes(base, report)
        snapshot = recording.snapshot(which, module)
        return snapshot.program, recording.attrs.get("ids"), snapshot.origins


def _follows(a: str, b: str) -> bool:
    """Whether b is the pass right after a: only then does what the compiler told about b speak of a's nodes."""
    from opscope.recording.sources import split_at

    (base_a, pass_a), (base_b, pass_b) = split_at(a), split_at(b)
    return base_a == base_b and pass_a.isdigit() and pass_b.isdigit() and int(pass_b) == int(pass_a) + 1


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
