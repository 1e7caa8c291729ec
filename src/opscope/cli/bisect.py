"""`opscope bisect`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from opscope.cli.diff import MOST_LINES, diff_lines
from opscope.cli.progress import progress
from opscope.cli.source import from_option, module_option
from opscope.terminal import say, say_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opscope.recording.bisect import Bisection, Pair
    from opscope.recording.model import Snapshot


@click.command()
@click.argument("a", metavar="A", type=click.Path())
@click.argument("b", metavar="B", type=click.Path())
@module_option
@from_option
@click.option("--all", "everything", is_flag=True, help=f"List every difference instead of the first {MOST_LINES} of each kind.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(a: str, b: str, module: str | None, from_format: str | None, everything: bool, as_json: bool) -> None:
    """Find the first pass after which two recordings of one program differ, and how.

    A and B are recordings (.opscope) or directories of compiler dumps: of two versions of a compiler, or with two flags. What they have
    after each pass is compared by structure; names, order and annotations do not count. Without --module, every module that both have is
    compared, and the difference in the largest is listed.

    \b
    opscope bisect dump_without_flag dump_with_flag
    opscope bisect yesterday.opscope today.opscope --module jit_step
    """
    from opscope.recording.bisect import bisect
    from opscope.recording.sources import open_recording

    with progress(f"reading {a} and {b}") as report:
        first, second = (open_recording(source, report, format=from_format) for source in (a, b))
    with progress("comparing passes") as report:
        results = bisect(first, second, module, report)
    if as_json:
        say_json(_json(results[0]) if len(results) == 1 else [{"module": each.module, **_json(each)} for each in results])
    else:
        say(*_lines(results, None if everything else MOST_LINES))


def _lines(results: Sequence[Bisection], most: int | None) -> list[str]:
    differing = [each for each in results if each.diff is not None]
    if not differing:
        modules = f"; {len(results):,} modules" if len(results) > 1 else ""
        return [f"{sum(each.shared for each in results):,} passes in both{modules}; no difference in structure after any of them"]
    largest = max(differing, key=_size)
    assert largest.diff is not None
    difference = ["", *diff_lines(largest.diff, most)]
    if len(results) == 1:
        return [*_where(largest), *difference]
    lines = [f"{len(results):,} modules in both, {len(results) - len(differing):,} without a difference in structure after any pass"]
    for each in differing[:most]:
        lines += ["", f"{each.module}:", *_where(each)]
    if len(differing) > len(differing[:most]):
        lines += ["", f"{len(differing) - len(differing[:most]):,} more modules differ; --all lists them"]
    return [*lines, "", f"the difference in {largest.module}:", *difference[1:]]


def _size(result: Bisection) -> int:
    return 0 if result.common is None else sum(len(graph) for graph in result.common.a.program)


def _where(result: Bisection) -> list[str]:
    """Up to which pass both are the same, and which one made the difference."""
    shared = f"{result.shared:,} passes in both"
    assert result.differs is not None and result.common is not None
    same = "they differ from the start" if result.same is None else f"the same up to {_pair(result.same)}"
    first = f"first difference after {_pair(result.differs)}"
    rest = [("A", result.only_a), ("B", result.only_b)]
    if result.differs is not result.common:
        made = [(name, each) for name, each in zip("AB", result.differs, strict=True) if result.same is None or each not in result.same]
        other = "the other" if len(made) > 1 else "B" if made[0][0] == "A" else "A"
        first = f"first difference: {' and '.join(f'pass {each.index} of {name} ({each.title})' for name, each in made)}, "
        first += f"which {other} did not run, or which changed nothing there; the next pass of both is {_pair(result.common)}"
        rest = [(name, tuple(each for each in passes if each not in result.differs)) for name, passes in rest]
    only = [f"only {name} also has before that: {', '.join(each.title for each in passes)}" for name, passes in rest if passes]
    return [f"{shared}; {same}", first, *only]


def _pair(pair: Pair) -> str:
    if pair.a.title != pair.b.title:
        return f"pass {pair.a.index} of A ({pair.a.title}), {pair.b.index} of B ({pair.b.title})"
    numbers = f"pass {pair.a.index}" if pair.a.index == pair.b.index else f"pass {pair.a.index} of A, {pair.b.index} of B"
    return f"{numbers} ({pair.a.title})"


def _json(result: Bisection) -> dict[str, Any]:
    def named(snapshot: Snapshot) -> dict[str, Any]:
        return {"index": snapshot.index, "pass": snapshot.name, "pipeline": " / ".join(snapshot.pipeline)}

    def pair(of: Pair | None) -> dict[str, Any] | None:
        return None if of is None else {"a": named(of.a), "b": named(of.b)}

    return {
        "shared": result.shared,
        "same": pair(result.same),
        "differs": pair(result.differs),
        "common": pair(result.common),
        "only_a": [named(each) for each in result.only_a],
        "only_b": [named(each) for each in result.only_b],
        "diff": None if result.diff is None else result.diff.to_json(),
    }
