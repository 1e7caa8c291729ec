"""`opscope diff`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from opscope.cli.progress import progress
from opscope.cli.source import from_option, module_option, read_one
from opscope.cli.table import blocks, rest, table
from opscope.ellipsis import ellipsize
from opscope.errors import OpscopeError, SourceError
from opscope.quantities import short_bytes, short_number
from opscope.terminal import say, say_json

if TYPE_CHECKING:
    from opscope.program import Program
    from opscope.recording.diff import Diff, Match
    from opscope.recording.model import Origin

MOST_LINES = 20
_LONGEST_NODE = 160


@click.command()
@click.argument("a", metavar="A", type=click.Path(allow_dash=True))
@click.argument("b", metavar="B", type=click.Path(allow_dash=True))
@module_option
@from_option
@click.option(
    "--match-by-name/--no-match-by-name",
    default=None,
    help="Match nodes of the same name, or ignore names. Default: what the recording says, otherwise whichever diff is smaller.",
)
@click.option("--all", "everything", is_flag=True, help=f"List every difference instead of the first {MOST_LINES} of each kind.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every pair of nodes.")
def command(
    a: str, b: str, module: str | None, from_format: str | None, match_by_name: bool | None, everything: bool, as_json: bool
) -> None:
    """Compare two programs, or two passes of a recording.

    A and B are sources, or passes of one: run.opscope@12, dump_dir@12. B can be just @13, a pass of the same recording as A.

    \b
    opscope diff before.hlo after.hlo
    opscope diff run.opscope@12 @13
    """
    if a.startswith("@") and not Path(a).exists():
        raise OpscopeError(f"A must name a recording, such as run.opscope{a}")
    first = _read(a, from_format, module)
    second = _read(_pass_of(a, b, from_format) if b.startswith("@") else b, from_format, module)
    with progress("comparing"):
        comparison = _compare(first, second, match_by_name)
        data = comparison.to_json() if as_json else None
        lines = [] if as_json else diff_lines(comparison, None if everything else MOST_LINES)
    if as_json:
        say_json(data)
    else:
        say(*lines)


def _pass_of(a: str, which: str, format: str | None) -> str:
    """The source for a B that is just a pass (@13): that pass of the recording that A names."""
    from opscope.recording.sources import is_recording_source, split_at

    base, _ = split_at(a)
    if not is_recording_source(base, format):
        raise SourceError(f"is not a recording, so {which} names no pass in it", base)
    return base + which


class _Side(NamedTuple):
    """A program; if it is a pass of a recording, also which one, and what the recording says about it."""

    program: Program
    compilation: tuple[str, str] | None = None
    """The recording, and the module within it."""
    number: int = 0
    ids: str | None = None
    origins: tuple[Origin, ...] = ()


def _read(source: str, format: str | None, module: str | None) -> _Side:
    from opscope.recording.sources import open_passes, split_at

    base, which = split_at(source)
    if not which:
        return _Side(read_one(source, format, module))
    with progress(f"reading {base}") as report:
        recording = open_passes(base, report, format=format)
        snapshot = recording.snapshot(which, module)
        return _Side(snapshot.program, (base, snapshot.module), snapshot.index, recording.attrs.get("ids"), snapshot.origins)


def _compare(a: _Side, b: _Side, match_by_name: bool | None) -> Diff:
    """Snapshots of one compilation share names; across two compilations, equal names may be a coincidence.

    The origins that the compiler reported for a snapshot refer to the snapshot right before it, and to no other.
    """
    from opscope.recording.diff import diff, diff_passes

    if a.compilation is None or a.compilation != b.compilation:
        return diff(a.program, b.program, match_by_name=match_by_name)
    ids = a.ids if match_by_name is None else "names" if match_by_name else "positions"
    return diff_passes(a.program, b.program, origins=b.origins if b.number == a.number + 1 else (), ids=ids)


def diff_lines(diff: Diff, most: int | None) -> list[str]:
    rewrites = [match for match in diff.compared if match.evidence in ("rewrite", "identity") and len(match.a) + len(match.b) > 2]
    sections = (
        ("fused", [str(fusion) for fusion in diff.fusions]),
        ("rewritten", [_rewritten(match) for match in rewrites]),
        ("added", [f"+ {_line(diff.b, key)}" for key in diff.added]),
        ("removed", [f"− {_line(diff.a, key)}" for key in diff.removed]),
        ("changed", [_changed(match) for match in diff.changed]),
    )
    return blocks(*_facts(diff), *(_section(title, lines, most) for title, lines in sections if lines))


def _rewritten(match: Match) -> str:
    return f"{_named(match.a)} became {_named(match.b)}" + (f": {match.rule}" if match.rule else "")


def _changed(match: Match) -> str:
    changes = "; ".join(map(str, match.changes))
    return f"~ {_named(match.a)} → {_named(match.b)} ({match.evidence}): {changes}"


def _facts(diff: Diff) -> tuple[list[str], list[str]]:
    from opscope.recording.rows import in_rewrites

    came, went = in_rewrites(diff)
    added, removed = len(diff.added) + came, len(diff.removed) + went
    counts = f"+{added:,} added, −{removed:,} removed, ~{len(diff.changed):,} changed, {len(diff.moved):,} moved"
    if diff.copied:
        counts += f", ×{diff.copied:,} copied"
    if came or went:
        counts += f" (in rewrites: +{came:,} −{went:,})"
    how = "matched by name" if diff.names == "used" else "matched by structure, names ignored"
    summary = diff.summary
    rows = [("", "before", "after"), ("nodes", *(f"{n:,}" for n in summary["nodes"]))]
    rows += [("parameters", *map(short_number, summary["parameter_elements"])), ("FLOPs", *map(short_number, summary["flops"]))]
    rows += [("bytes", *map(short_bytes, summary["bytes"]))]
    if any(summary["unknown"]):
        rows.append(("without", *(f"{count:,} of unknown cost" if count else "" for count in summary["unknown"])))
    ops = sorted(summary["ops"].items(), key=lambda item: -abs(item[1][1] - item[1][0]))
    rows += [(op, f"{before:,}", f"{after:,}") for op, (before, after) in ops[:8]]
    return [counts, how], table(rows, "lrr")


def _section(title: str, lines: list[str], most: int | None) -> list[str]:
    return [f"{title} ({len(lines):,})", *lines[:most], *rest(len(lines), most)]


def _line(program: Program, key: Any) -> str:
    return ellipsize(program[key[0]][key[1]].short_text, _LONGEST_NODE, middle=True) + f"  in {key[0]}"


def _named(keys: Any) -> str:
    return ", ".join(id for _, id in keys[:4]) + (", …" if len(keys) > 4 else "")
