"""`opscope bisect`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from opscope.cli.diff import MOST_LINES, diff_lines
from opscope.cli.progress import progress
from opscope.cli.source import from_option, module_option
from opscope.terminal import say, say_json

if TYPE_CHECKING:
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
    after each pass is compared by structure; names, order and annotations do not count.

    \b
    opscope bisect dump_without_flag dump_with_flag
    opscope bisect yesterday.opscope today.opscope --module jit_step
    """
    from opscope.recording.bisect import bisect
    from opscope.recording.sources import open_recording

    with progress(f"reading {a} and {b}") as report:
        first, second = (open_recording(source, report, format=from_format) for source in (a, b))
    with progress("comparing passes") as report:
        result = bisect(first, second, module, report)
    if as_json:
        say_json(_json(result))
    else:
        say(*_lines(result, None if everything else MOST_LINES))


def _lines(result: Bisection, most: int | None) -> list[str]:
    shared = f"{result.shared:,} passes in both"
    if result.differs is None:
        return [f"{shared}; no difference in structure after any of them"]
    assert result.diff is not None and result.common is not None
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
    return [f"{shared}; {same}", first, *only, "", *diff_lines(result.diff, most)]


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
