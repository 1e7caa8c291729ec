"""How many operations of a training step get the right half without names, and which functions are taken for a training step.

    python benchmarks/inferred_halves.py [--keep]

The truth is the names of the same program, which are not read. Three sets of further steps are counted together: those that the inference
was written with, those that it was mended with afterwards, and those that came last. `--keep` appends the figures to
benchmarks/results/inferred_halves.jsonl.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from results import Figure, keep

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "jax_functions"))

from many_steps import LAST, SECOND, SEEN
from steps_and_functions import FUNCTIONS, STEPS, directions_compared, lowered

from opscope.analysis.halves import with_halves
from opscope.readers.hlo.module import parse_hlo


def main(words: list[str]) -> None:
    figures = []
    print(f"{'step':26} {'operations':>10} {'right':>8} {'precision':>10} {'recall':>8}   (of the backward half)")
    for name, step in STEPS.items():
        pairs = Counter(directions_compared(step()))
        total, right = pairs.total(), sum(count for (a, b), count in pairs.items() if a == b)
        both = pairs["backward", "backward"]
        precision = both / max(1, sum(count for (_, b), count in pairs.items() if b == "backward"))
        recall = both / max(1, sum(count for (a, _), count in pairs.items() if a == "backward"))
        print(f"{name:26} {total:10,} {100 * right / total:6.1f} % {100 * precision:8.1f} % {100 * recall:6.1f} %")
        figures.append(Figure("operations in the right half, without names", 100 * right / total, "%", name, total))
    print(f"{'further steps':26} {'programs':>10} {'right':>8} {'undecided':>10} {'wrong':>8} {'operations wrong':>17}")
    for name, steps in {"seen": SEEN, "second": SECOND, "last": LAST}.items():
        outcomes: Counter[str] = Counter()
        wrong_operations = 0
        for step in steps.values():
            pairs = Counter(directions_compared(step()))
            wrong = sum(count for (a, b), count in pairs.items() if a != b) if any(b for _, b in pairs) else None
            outcomes["undecided" if wrong is None else "wrong" if wrong else "right"] += 1
            wrong_operations += wrong or 0
        counts = [outcomes[kind] for kind in ("right", "undecided", "wrong")]
        print(f"{name:26} {len(steps):10,} {counts[0]:8,} {counts[1]:10,} {counts[2]:8,} {wrong_operations:17,}")
        figures.append(Figure("steps with undecided halves", counts[1], "", f"further steps, {name}", len(steps)))
        figures.append(Figure("operations in the wrong half", wrong_operations, "", f"further steps, {name}", len(steps), at_most=0))
    mistaken = []
    for name, (function, arguments) in FUNCTIONS.items():
        program = parse_hlo(lowered(function, *arguments).plain)[0]
        if with_halves(program) is not program:
            mistaken.append(name)
    print(f"{len(FUNCTIONS)} functions that are not training steps, {len(mistaken)} taken for one: {', '.join(mistaken) or 'none'}")
    figures.append(Figure("functions taken for a training step", len(mistaken), "", "", len(FUNCTIONS), at_most=0))
    if "--keep" in words:
        keep("inferred_halves", figures)


if __name__ == "__main__":
    main(sys.argv[1:])
