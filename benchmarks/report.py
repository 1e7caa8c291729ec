"""Writes benchmarks/RESULTS.md from the figures in benchmarks/results/*.jsonl: `python benchmarks/report.py`.

Where a figure was measured several times, the last line counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from results import HERE, RESULTS

Line = dict[str, Any]

GRAPHS = {
    "transformer": "transformer, forward",
    "training": "transformer, forward and backward",
    "resnet": "ResNet-like",
    "hlo": "HLO-like, constants with many users",
    "gpt2": "GPT-2, 12 layers, exported",
    "transformer4": "JAX train step, 4 layers, compiled",
    "transformer4_lowered": "JAX train step, 4 layers, before optimization",
    "transformer24": "JAX train step, 24 layers, compiled",
    "transformer24_lowered": "JAX train step, 24 layers, before optimization",
    "transformer24_open": "JAX train step, 24 layers, compiled, fusions open",
    "transformer4_lowered.hlo": "JAX train step, 4 layers, before optimization",
    "transformer4.hlo": "JAX train step, 4 layers, compiled",
    "transformer24.hlo": "JAX train step, 24 layers, compiled (18 MB of HLO)",
    "transformer4_passes": "passes of a JAX train step, 4 layers",
    "transformer4_passes, worst step": "passes of a JAX train step, 4 layers, worst pass",
    "transformer4_passes, without metadata": "passes of a JAX train step, 4 layers, without metadata",
    "transformer4_passes, without metadata, worst step": "passes of a JAX train step, 4 layers, without metadata, worst pass",
    "deep.pt2": "a module of 10,000 operations",
    "gpu_scan_passes": "a program with a scan, XLA:GPU",
    "h200_train_step": "JAX train step, 4 layers, XLA:GPU",
    "compiled 24-layer HLO": "JAX train step, 24 layers, compiled",
}
"""The name of a graph in the report, if the benchmark's own name is too short."""

OTHERS = {
    "parse_hlo": "Reading HLO text",
    "attribution": "Kernels of a profile on instructions",
    "profile_sizes": "Large profiles",
    "flops": "FLOPs against other counts",
    "pt2": "Reading `.pt2` files",
    "record": "Recordings",
    "timeline": "A recording in the viewer",
    "diff": "Matching nodes across passes",
    "truth": "Links of passes against ground truth",
    "recorded_truth": "Links of passes against compilers that say what became of every node",
    "original_values": "Links of passes against XLA's own record",
    "histories": "Rows and histories against the raw text",
    "backward_links": "Linking backward to forward",
    "backward_lines": "Links by line, and saved values",
    "memory": "Memory of compiled programs",
    "torch_memory": "Memory of PyTorch's training steps",
    "memory_advice": "What checkpoints save on a GPU, estimated and measured",
    "memory_advice_cpu": "What checkpoints save on the CPU, estimated and as XLA plans it",
    "memory_lane": "The memory lane of 100,000 nodes",
    "inferred_halves": "Forward and backward without names",
    "structure": "Repeated blocks without names",
    "zoo": "Public models and programs",
    "empty_room": "Empty room in Expand all",
    "large": "A program of a million nodes",
    "large_inputs": "Large inputs",
    "fuzz": "Damaged files",
    "soak": "Everything at once, killed at random (`make soak`)",
}
"""Benchmarks whose figures are listed one by one."""

INTRODUCTION = """\
# Benchmark results

`make bench` measures these figures, keeps them as JSON lines in [results/](results), and writes this page from the lines with
`benchmarks/report.py`. Each line has the commit, the date and the machine. [README.md](README.md) says what each script measures.
"""
LAYOUT = """
## Layout

Every node is a box, without groups. A cell is the CPU seconds of the layout call, the least of three runs where one takes under three
seconds, with the number of edge crossings in brackets (counted up to 12,000 boxes). Each layout may use 60 seconds of CPU; an engine that
did not finish a graph is not tried on larger graphs of the same kind. "·" means that it was not run. `netron` is Netron's own layout;
`dagre` is version 3.1.
"""
VIEWER = """
## The viewer in Chromium

Seconds from opening one HTML file to the first picture, then for *Expand all* and *Flatten*, with repeats unfolded so that every node is
drawn.
"""


COUNTED = frozenset(("diff", "truth", "recorded_truth", "original_values", "histories"))
"""Benchmarks whose sizes are counts of what was judged: another one does not make it another figure."""


def latest(benchmark: str) -> list[Line]:
    """The last line for each figure, in the order in which figures first appeared."""
    path = RESULTS / f"{benchmark}.jsonl"
    lines = [json.loads(text) for text in path.read_text("utf-8").splitlines()] if path.exists() else []
    sizes = [None if benchmark in COUNTED else line["size"] for line in lines]
    return list({(line["graph"], size, line["tool"], line["name"]): line for line, size in zip(lines, sizes, strict=True)}.values())


def number(value: float) -> str:
    """At most three digits that count, except shares near 100 %."""
    if value >= 1e6:
        return f"{value / 1e6:.3g} M"
    if value >= 1e4:
        return f"{value / 1e3:.3g} k"
    return f"{value:,.0f}" if value == int(value) else f"{value:g}" if value > 99 else f"{float(f'{value:.3g}'):g}"


def measured(line: Line | None) -> str:
    if line is None:
        return "·"
    return line["note"] or "" if line["value"] is None else f"{number(line['value'])} {line['unit']}".strip()


def graph_name(line: Line) -> str:
    graph = line["graph"] or ""
    return GRAPHS.get(graph, graph)


def size_of(line: Line) -> str:
    return "" if line["size"] is None else f"{line['size']:,}"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    cells = [list(head), *(list(row) for row in rows)]
    cells.insert(1, ["---"] * len(cells[0]))
    return "\n" + "\n".join(f"| {' | '.join(row)} |" for row in cells) + "\n"


def origins(lines: list[Line]) -> str:
    """Where the figures come from: one item for each commit, day and machine, with the tools measured there."""
    tools: dict[str, dict[str, None]] = {}
    for line in lines:
        tools.setdefault(f"{line['date']}, commit {line['commit']}, {line['machine']}", {})[line["tool"]] = None
    return "\n" + "\n".join(f"- {origin}: {', '.join(names)}" for origin, names in tools.items()) + "\n"


def figures(lines: list[Line]) -> str:
    rows = []
    for line in lines:
        target = f"{line['target']} {line['unit']}, {'met' if line['met'] else '**missed**'}" if line["target"] else ""
        rows.append((graph_name(line), size_of(line), line["tool"], line["name"], measured(line), target, line["note"]))
    return table(["graph", "size", "tool", "figure", "measured", "target", "note"], rows) if rows else ""


def with_target(lines: list[Line]) -> list[Line]:
    return [line for line in lines if line["target"]]


def layout() -> str:
    lines = latest("layout")
    cells = {(line["graph"], line["size"], line["tool"], line["name"]): line for line in lines}
    flat = [line for line in lines if line["name"] in ("layout", "crossings")]
    tools = list(dict.fromkeys(line["tool"] for line in flat))
    rows = []
    for graph, size in dict.fromkeys((line["graph"], line["size"]) for line in flat):
        row = [GRAPHS.get(graph or "", graph or ""), f"{size:,}"]
        for tool in tools:
            crossings = cells.get((graph, size, tool, "crossings"))
            row.append(measured(cells.get((graph, size, tool, "layout"))) + (f" ({measured(crossings)})" if crossings else ""))
        rows.append(row)
    return LAYOUT + table(["graph", "boxes", *tools], rows) + figures(with_target(lines)) + origins(flat)


def viewer() -> str:
    lines = latest("viewer")
    cells = {(line["graph"], line["size"], line["tool"], line["name"]): line for line in lines}
    columns = ["first picture", "Expand all", "Flatten", "file"]
    opened = dict.fromkeys((line["graph"], line["size"], line["tool"]) for line in lines if line["name"] in columns)
    rows = [
        [GRAPHS.get(graph, graph), f"{size:,}", tool, *(measured(cells.get((graph, size, tool, name))) for name in columns)]
        for graph, size, tool in opened
    ]
    return (
        VIEWER
        + table(["graph", "nodes", "tool", *columns], rows)
        + figures(with_target(lines))
        + origins([line for line in lines if line["name"] in columns])
    )


def other(benchmark: str) -> str:
    lines = latest(benchmark)
    return f"\n## {OTHERS[benchmark]}\n" + figures(lines) + origins(lines) if lines else ""


def report() -> str:
    return INTRODUCTION + layout() + viewer() + "".join(other(name) for name in OTHERS)


def main() -> None:
    target: Path = HERE / "RESULTS.md"
    target.write_text(report(), encoding="utf-8")
    print(f"benchmarks/{target.name}")


if __name__ == "__main__":
    main()
