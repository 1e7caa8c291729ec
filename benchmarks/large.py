"""How long people wait for a program of a million nodes: its export, and its page in real Chromium.

    python benchmarks/large.py [--nodes 1000000] [--page FILE] [--keep]

The program is the training step of `training_graph.py` as HLO text, with the scopes that JAX writes, so that reading, the links from
backward to forward and the groups have all their work. Prints the time, CPU time and peak memory of `opscope export`, for a picture and
for a page, the time to the first picture and of Flatten, and the frames while panning and zooming over every box. Other work on the
machine makes the times longer, but hardly the CPU times beside them (those of Flatten also have what garbage collection does on other
cores). `--page` measures a page that was exported before, and not its export. A figure that misses its target is printed with it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from results import Figure, keep
from training_graph import training_graph

from opscope.program import Node, Program, TensorType

BENCH = Path(__file__).resolve().parent.parent / ".bench"
MILLION = 1_000_000
OPCODES = {"layer_norm": "multiply", "softmax": "exponential", "gelu": "tanh"}
"""What a compiler would have made of operations that HLO does not have."""
ATTRIBUTES = {
    "dot": ", lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "reduce": ", dimensions={0}, to_apply=%sum",
    "gather": ", offset_dims={2}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=2, slice_sizes={1,512}",
}
SUM = "%sum (a: f32[], b: f32[]) -> f32[] {\n  %a = f32[] parameter(0)\n  %b = f32[] parameter(1)\n  ROOT %s = f32[] add(%a, %b)\n}\n"
_MEASURED = """
import json, resource, subprocess, sys, time
started = time.perf_counter()
subprocess.run(sys.argv[1:], check=True)
use = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([time.perf_counter() - started, use.ru_utime + use.ru_stime, use.ru_maxrss / 1e6]))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=MILLION)
    parser.add_argument("--page", type=Path, help="a page of such a program, whose export is not measured")
    parser.add_argument("--keep", action="store_true", help="append the figures to benchmarks/results/large.jsonl")
    arguments = parser.parse_args()
    figures = []
    with tempfile.TemporaryDirectory() as directory:
        page = arguments.page or Path(directory, "page.html")
        exported: Iterable[Figure] = ()
        if not arguments.page:
            source = hlo_file(arguments.nodes)
            picture = export("export of a picture", source, Path(directory, "picture.svg"), arguments.nodes)
            exported = chain(picture, export("export", source, page, arguments.nodes))
        for figure in chain(exported, view(page.resolve(), arguments.nodes)):
            missed = f" (MISSED: target {figure.target})" if figure.met is False else ""
            print(f"{figure.name:28} {figure.value:10.2f} {figure.unit}{missed}", flush=True)
            figures.append(figure)
    if arguments.keep:
        keep("large", figures)


def hlo_file(nodes: int, places: bool = False) -> Path:
    """The training step as HLO text, with or without the place of each instruction in a source file; written once."""
    path = BENCH / f"train_{nodes}{'_places' if places else ''}.hlo"
    if not path.exists():
        BENCH.mkdir(exist_ok=True)
        with path.open("w", encoding="utf-8") as file:
            file.writelines(hlo_lines(training_graph(nodes), places))
    return path


def hlo_lines(program: Program, places: bool = False) -> Iterator[str]:
    yield f"HloModule jit_train\n\n{SUM}\nENTRY %main {{\n"
    parameters = 0
    lines: dict[str, int] = {}
    """The layers are made in a loop, so that their instructions have the same lines."""
    root = program.main.outputs[0][0]
    for node in program.main:
        operands = ", ".join(f"%{name}" for name, _ in node.inputs)
        if node.op == "parameter":
            operands = str(parameters)
            parameters += 1
        elif node.op == "constant":
            operands = "1"
        op = OPCODES.get(node.op, node.op)
        types = [shape_text(each) for each in node.outputs]
        if op == "tuple":
            types = [f"({', '.join(shape_text(program.main[name].outputs[0]) for name, _ in node.inputs)})"]
        is_root = "ROOT " if node.id == root else ""
        line = lines.setdefault(node.id.partition(".")[2], len(lines) + 1)
        place = f' source_file="train_step.py" source_line={line}' if places else ""
        metadata = f'metadata={{op_name="{op_name(node, op)}"{place}}}'
        yield f"  {is_root}%{node.id} = {types[0]} {op}({operands}){ATTRIBUTES.get(op, '')}, {metadata}\n"
    yield "}\n"


def shape_text(type: TensorType) -> str:
    layout = ",".join(str(dimension) for dimension in reversed(range(len(type.shape))))
    return f"{type.dtype}[{','.join(map(str, type.shape))}]" + (f"{{{layout}}}" if layout else "")


def op_name(node: Node, op: str) -> str:
    """The name that JAX gives the operation: the backward half is transposed."""
    half, *groups = (part.partition(":")[0] for part in node.scope) if node.scope else ("",)
    first, rest = groups[:1], groups[1:]
    if half == "forward":
        first = [f"jvp({name})" for name in first]
    elif half == "backward":
        first = [f"transpose(jvp({name}))" for name in first]
    else:
        first = [half, *first] if half else first
    return "/".join(["jit(train)", *first, *rest, op])


def export(name: str, source: Path, target: Path, nodes: int) -> Iterator[Figure]:
    command = [sys.executable, "-m", "opscope", "export", str(source), "-o", str(target)]
    printed = subprocess.run([sys.executable, "-c", _MEASURED, *command], check=True, capture_output=True, text=True).stdout
    seconds, cpu, peak = json.loads(printed.splitlines()[-1])
    yield Figure(name, seconds, "s", "", nodes, at_most=15)
    yield Figure(f"{name}, CPU", cpu, "s", "", nodes)
    yield Figure(f"{name}, peak memory", peak, "GB", "", nodes, at_most=1.5)
    if target.suffix == ".html":
        yield Figure("page", target.stat().st_size / 1e6, "MB", "", nodes)


def view(target: Path, nodes: int) -> Iterator[Figure]:
    # These need a browser; the programs made here are for machines without one too.
    from viewer import LONGEST_BLOCK_MS, cpu_seconds, drag, longest_task, moving, opened, press, wheel

    with opened(target) as (page, first):
        yield Figure("first picture", first, "s", "", nodes, at_most=3)
        used = cpu_seconds(page)
        yield Figure("first picture, CPU", used, "s", "", nodes)
        yield Figure("Flatten", press(page, "Flatten"), "s", "", nodes, at_most=15)
        yield Figure("Flatten, CPU", cpu_seconds(page) - used, "s", "", nodes)
        yield Figure("longest block until then, CPU", longest_task(page), "ms", "", nodes, at_most=LONGEST_BLOCK_MS)
        for name, move in (("pan far", drag), ("zoom", wheel), ("pan near", drag)):
            median, worst = moving(page, lambda move=move: move(page))  # type: ignore[misc]
            page.evaluate("window.opscope.whenIdle()")
            yield Figure(f"{name}, one frame", median, "ms", "", nodes, at_most=17)
            yield Figure(f"{name}, worst frame", worst, "ms", "", nodes)
        yield Figure("longest block", page.evaluate("window.blocked"), "ms", "", nodes, at_most=LONGEST_BLOCK_MS)


if __name__ == "__main__":
    main()
