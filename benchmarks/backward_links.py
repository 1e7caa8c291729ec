"""How many backward instructions of a transformer train step are linked to forward ones, and by which evidence.

    python benchmarks/make_hlo.py --layers 4
    python benchmarks/backward_links.py [--keep] [FILE.hlo …]

`--keep` appends the shares to benchmarks/results/backward_links.jsonl.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

from results import Figure, keep

from opscope.analysis.gradients import backward_links
from opscope.readers import read
from opscope.readers.source import Source


def main(words: list[str]) -> None:
    paths = [word for word in words if word != "--keep"] or [".bench/transformer4_lowered.hlo", ".bench/transformer4.hlo"]
    figures = []
    print(f"{'file':44} {'nodes':>8} {'backward':>9} {'place':>7} {'scope':>7} {'source':>7} {'operands':>9} ", end="")
    print(f"{'none':>6} {'links/node':>10} {'s':>6}")
    for path in paths:
        program = read(Source(path))[0]
        started = time.perf_counter()
        links = backward_links(program)
        seconds = time.perf_counter() - started
        evidence = Counter(link.evidence for link in links)
        share = {name: f"{100 * evidence[name] / max(1, len(links)):.1f} %" for name in ("place", "scope", "source", "operands", "none")}
        linked = 100 * (1 - evidence["none"] / max(1, len(links)))
        figures.append(Figure("backward instructions linked to forward", linked, "%", Path(path).name, len(links)))
        mean = sum(len(link.forward) for link in links) / max(1, len(links))
        print(
            f"{path:44} {program.node_count:8,} {len(links):9,} {share['place']:>7} {share['scope']:>7} {share['source']:>7} "
            f"{share['operands']:>9} {share['none']:>6} {mean:10.1f} {seconds:6.2f}"
        )
    if "--keep" in words:
        keep("backward_links", figures)


if __name__ == "__main__":
    main(sys.argv[1:])
