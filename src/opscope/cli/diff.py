"""`opscope diff`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opscope.cli.progress import progress
from opscope.cli.source import check_profiles, device_option, from_option, module_option, part_options, profiles_option
from opscope.cli.table import blocks, rest, table
from opscope.cli.view_options import DrawingCommand, FlagOptions, view_options
from opscope.ellipsis import ellipsize
from opscope.errors import OpscopeError
from opscope.naming import Part
from opscope.quantities import short_bytes, short_number
from opscope.terminal import say, say_json

if TYPE_CHECKING:
    from opscope.program import Program
    from opscope.recording.diff import Diff, Match
    from opscope.recording.model import Recording

MOST_LINES = 20
_LONGEST_NODE = 160


@click.command(cls=DrawingCommand)
@click.argument("a", metavar="A", type=click.Path(allow_dash=True))
@click.argument("b", metavar="B", type=click.Path(allow_dash=True))
@module_option
@from_option
@part_options
@profiles_option
@device_option
@click.option(
    "--match-by-name/--no-match-by-name",
    default=None,
    help="Match nodes of the same name, or ignore names. Default: what the recording says, otherwise whichever diff is smaller.",
)
@click.option("--all", "everything", is_flag=True, help=f"List every difference instead of the first {MOST_LINES} of each kind.")
@click.option(
    "--text", "as_text", is_flag=True, help="Print the lines of both programs side by side, aligned by the matches; --all does not fold."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every pair of nodes.")
@click.option("-o", "--output", metavar="FILE", help="Write a picture of both programs (SVG, PNG, PDF), or the viewer (HTML), by suffix.")
@click.option("-f", "--force", is_flag=True, help="Overwrite FILE, whatever it contains.")
@view_options()
def command(
    a: str,
    b: str,
    module: str | None,
    from_format: str | None,
    part: Part,
    profiles: tuple[str, ...],
    device: str | None,
    match_by_name: bool | None,
    everything: bool,
    as_text: bool,
    as_json: bool,
    output: str | None,
    force: bool,
    **views: Any,
) -> None:
    """Compare two programs, or two passes of a recording.

    A and B are sources, or passes of one: run.opscope@12, dump_dir@12. B can be just @13, a pass of the same recording as A. With -o, the
    view options apply as in `opscope export`.

    \b
    opscope diff before.hlo after.hlo
    opscope diff run.opscope@12 @13
    opscope diff run.opscope@12 @13 --text
    opscope diff before.hlo after.hlo -o diff.html
    opscope diff before_dir after_dir -o slower.html     two profiles: what got slower
    """
    options = FlagOptions(**views)
    target = None if output is None else _target(output, options, force, (a, b))
    check_profiles(profiles)
    only_drawn = [*map(options.spelled, (row.name for row in options.given)), *(["--force"] if force else [])]
    only_drawn += [*(["--profile"] if profiles else []), *(["--device"] if device else [])]
    if target is None and only_drawn:
        flag = only_drawn[0]
        raise OpscopeError(f"{flag} only applies with -o FILE; add -o FILE, or leave it out")
    comparison = _read(a, b, module, from_format, match_by_name, part, profiles, device)
    if target is not None:
        _write(comparison, target, options)
        return
    if as_text:
        from opscope.cli.side_by_side import text_lines

        with progress("comparing"):
            lines = list(text_lines(comparison, everything))
        say(*lines)
        return
    with progress("comparing"):
        from opscope.recording.comparison import diff_of

        diff = diff_of(comparison)
        data = diff.to_json() if as_json else None
        lines = [] if as_json else diff_lines(diff, None if everything else MOST_LINES)
    if as_json:
        say_json(data)
    else:
        say(*lines)


def _target(output: str, options: FlagOptions, force: bool, sources: tuple[str, str]) -> Path:
    """The file to write, if it can be written."""
    from opscope.render import comparison_options, find_writer
    from opscope.whole_file import refuse_to_replace, titled

    target = Path(output)
    row = find_writer(target)
    comparison_options(row, options).require(row.name, f"{titled(row.name)} files")
    if not force:
        for source in sources:
            refuse_to_replace(target, row.name, row.begins, Path(source))
    return target


def _read(
    a: str,
    b: str,
    module: str | None,
    format: str | None,
    match_by_name: bool | None,
    part: Part,
    profiles: tuple[str, ...],
    device: str | None,
) -> Recording:
    from opscope.comparing import load_comparison

    with progress(f"reading {a} and {b}") as report:
        return load_comparison(
            a, b, module=module, format=format, match_by_name=match_by_name, profiles=profiles, device=device, part=part, progress=report
        )


def _write(comparison: Recording, target: Path, options: FlagOptions) -> None:
    from opscope.render import write

    with progress(f"writing {target}") as report:
        write([comparison], target, options, progress=report)


def diff_lines(diff: Diff, most: int | None) -> list[str]:
    from opscope.recording.change_groups import change_groups

    rewrites = [match for match in diff.compared if match.evidence in ("rewrite", "identity") and len(match.a) + len(match.b) > 2]
    sections = (
        ("fused", [str(fusion) for fusion in diff.fusions]),
        ("rewritten", [_rewritten(match) for match in rewrites]),
        ("replaced", [_replaced(match) for match in (*diff.replaced, *diff.undecided)]),
        ("added", [f"+ {_line(diff.b, key)}" for key in diff.added]),
        ("removed", [f"− {_line(diff.a, key)}{_by(diff, key)}" for key in diff.removed]),
        ("changed", [_changed(match) for match in diff.changed]),
    )
    groups = change_groups(diff)
    says_more = len(groups) > 1 or any(len(group.modules) > 1 for group in groups)
    head = [_section("by module", list(map(str, groups)), most)] if says_more else []
    return blocks(*_facts(diff), *head, *(_section(title, lines, most) for title, lines in sections if lines))


def _rewritten(match: Match) -> str:
    return f"{_named(match.a)} became {_named(match.b)}" + (f": {match.rule}" if match.rule else "")


def _replaced(match: Match) -> str:
    perhaps = "" if match.evidence != "undecided" else "one of " if len(match.b) > 1 else "perhaps "
    return f"{_named(match.a)} → {perhaps}{_named(match.b)} ({match.evidence})"


def _changed(match: Match) -> str:
    changes = "; ".join(map(str, match.changes))
    return f"~ {_named(match.a)} → {_named(match.b)} ({match.evidence}): {changes}"


def _facts(diff: Diff) -> tuple[list[str], list[str]]:
    came, went = (len(keys) for keys in diff.rewritten)
    counts = (
        f"+{len(diff.all_added):,} added, −{len(diff.all_removed):,} removed, ~{len(diff.changed):,} changed, {len(diff.moved):,} moved"
    )
    if diff.merged:
        counts += f", {diff.merged:,} merged"
    if diff.copied:
        counts += f", ×{diff.copied:,} copied"
    if came or went:
        counts += f" (in rewrites: +{came:,} −{went:,})"
    summary = diff.summary
    rows = [("", "before", "after"), ("nodes", *(f"{n:,}" for n in summary["nodes"]))]
    rows += [("parameters", *map(short_number, summary["parameter_elements"])), ("FLOPs", *map(short_number, summary["flops"]))]
    rows += [("bytes", *map(short_bytes, summary["bytes"]))]
    if any(summary["unknown"]):
        rows.append(("without", *(f"{count:,} of unknown cost" if count else "" for count in summary["unknown"])))
    ops = sorted(summary["ops"].items(), key=lambda item: -abs(item[1][1] - item[1][0]))
    rows += [(op, f"{before:,}", f"{after:,}") for op, (before, after) in ops[:8]]
    return [counts, diff.basis], table(rows, "lrr")


def _section(title: str, lines: list[str], most: int | None) -> list[str]:
    return [f"{title} ({len(lines):,})", *lines[:most], *rest(len(lines), most)]


def _line(program: Program, key: Any) -> str:
    return ellipsize(program[key[0]][key[1]].short_text, _LONGEST_NODE, middle=True) + f"  in {key[0]}"


def _by(diff: Diff, key: Any) -> str:
    """Which pattern removed a node, if the compiler said so."""
    rule = diff.removed_by.get(key, "")
    return f": {rule}" if rule else ""


def _named(keys: Any) -> str:
    return ", ".join(id for _, id in keys[:4]) + (", …" if len(keys) > 4 else "")
