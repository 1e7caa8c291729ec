"""The zoo: public models and programs, each looked at in every way. What is installed is looked at; the rest is named.

    python benchmarks/zoo/run.py [--quick] [--only torch|jax|onnx|samples] [--name PART] [--resume] [--report] [--keep]

Prints how many give a graph, whether it is true, what a look changed, FLOPs, memory and time beside the framework's, and backward links.
Details of each program are in `.bench/zoo_*.jsonl`, from which `--report` prints the tables again. To look at more: pip install torchvision
timm diffusers equinox dm-haiku penzai diffrax optimistix jaxopt, and put checkouts of openxla/stablehlo (its testdata) and
google-ai-edge/model-explorer (its test_models) below `.bench/samples`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import re
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
from results import Figure, keep  # noqa: E402

BENCH = HERE.parents[1] / ".bench"
SAMPLES = BENCH / "samples"
_LIMIT = 180
"""CPU seconds for one model: on a busy machine, time passes without work."""
_LONGEST = 3600
"""Seconds for one model that waits for something."""
_MEMORY = 12 << 30
"""Bytes of address space for one model, besides what torch's libraries take."""
_NAMED = 8
_CLOSE = 0.01
_CLOSE_MEMORY = 0.05
_CLOSE_STEP = 0.10

Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a slice of each family")
    parser.add_argument("--only", choices=("torch", "jax", "onnx", "samples"))
    parser.add_argument("--name", default="", help="only programs whose name contains this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="PyTorch models looked at at a time (one for each core)")
    parser.add_argument("--resume", action="store_true", help="go on where the last run was stopped")
    parser.add_argument("--report", action="store_true", help="print the tables of the last run")
    parser.add_argument("--keep", action="store_true", help="keep the figures in benchmarks/results")
    parser.add_argument("--machine", default="", help="where a run was made whose tables are kept here")
    options = parser.parse_args()
    figures: list[Figure] = []
    for framework, look in (("samples", _samples), ("jax", _jax), ("onnx", _onnx), ("torch", _torch)):
        if options.only not in (None, framework):
            continue
        path = BENCH / f"zoo_{framework}.jsonl"
        if not options.report:
            _write(path, look, options)
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        print(f"\n{framework}: {len(rows)} programs")
        figures += _report(framework, rows, _seen(framework, len(rows)))
        if framework == "torch":
            _print_left_out()
    if options.keep:
        keep("zoo", figures, options.machine)


def _write(path: Path, look: Callable[[bool, Callable[[str], bool], int], Iterable[Row]], options: argparse.Namespace) -> None:
    """One line for each program, as soon as it has been looked at: a run takes long, and may be stopped."""
    path.parent.mkdir(exist_ok=True)
    known = path.read_text().splitlines() if options.resume and path.exists() else []
    names = {json.loads(line)["name"] for line in known}
    with path.open("a" if options.resume else "w") as file:
        for row in look(options.quick, lambda name: options.name in name and name not in names, options.jobs):
            file.write(json.dumps(row) + "\n")
            file.flush()


def _torch(quick: bool, wanted: Callable[[str], bool], jobs: int) -> Iterator[Row]:
    import torch
    import torch_checks
    import torch_zoo

    torch.set_num_threads(1)  # a process that is forked has no threads

    def look(entry: Any) -> Row:
        try:
            model, args, kwargs = entry.make()
            with torch.no_grad():
                model(*args, **kwargs)
        except Exception as error:
            return {"set up": f"{type(error).__name__}: {error}"[:200]}
        return torch_checks.check(model, args, kwargs)

    if torch.version.cuda is not None:
        return _forked(_named_entries(quick, wanted), look, jobs)
    entries = [entry for entry in torch_zoo.entries(quick) if wanted(entry.name)]
    torch_zoo.prepare()
    torch_checks.prepare()
    return _forked(entries, look, jobs)


def _named_entries(quick: bool, wanted: Callable[[str], bool]) -> list[Any]:
    """All entries, without importing their packages here: a PyTorch for GPUs aborts in a forked process if they were imported before."""
    import torch
    import torch_zoo

    def names(_: Any) -> Row:
        return {"entries": [(entry.family, entry.name) for entry in torch_zoo.entries(quick) if wanted(entry.name)]}

    (row,) = _forked([torch_zoo.Entry("", "", lambda: (torch.nn.Identity(), (), {}))], names, 1)
    return [torch_zoo.Entry(family, name, partial(torch_zoo.make, family, name)) for family, name in row["entries"]]


def _forked(entries: Iterable[Any], look: Callable[[Any], Row], jobs: int) -> Iterator[Row]:
    """Each model in a process of its own: what one does to torch is not another's, and one that never ends is stopped."""
    waiting = iter(entries)
    running: dict[Any, tuple[Any, Any, float]] = {}
    while True:
        for entry in itertools.islice(waiting, jobs - len(running)):
            process, pipe = _started(entry, look)
            running[pipe] = entry, process, time.monotonic() + _LONGEST
        if not running:
            return
        ended: list[Any] = wait(running, max(0, min(end for _, _, end in running.values()) - time.monotonic()))
        for pipe in ended or [min(running, key=lambda each: running[each][2])]:
            entry, process, _ = running.pop(pipe)
            row: Row = {"stages": {}, "broken": f"more than {_LONGEST} s"}
            try:
                row = pipe.recv() if ended else row
            except EOFError:
                row = {"stages": {}, "broken": f"its process ended, or took more than {_LIMIT} s of CPU time"}
            process.kill()
            process.join()
            pipe.close()
            print("." if "stages" in row else "-", end="", flush=True)
            yield {"family": entry.family, "name": entry.name, **row}


def _started(entry: Any, look: Callable[[Any], Row]) -> tuple[Any, Any]:
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (_LIMIT, _LIMIT))
        most = _MEMORY + int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        try:
            row = look(entry) | {"all seconds": time.process_time()}
        except BaseException as error:
            row = {"stages": {}, "broken": f"{type(error).__name__}: {error}"[:300]}
        theirs.send(row)

    process = context.Process(target=work)
    process.start()
    theirs.close()
    return process, ours


def _jax(quick: bool, wanted: Callable[[str], bool], jobs: int) -> Iterator[Row]:
    import jax_checks
    import jax_zoo

    for entry in jax_zoo.entries(quick):
        if wanted(entry.name):
            yield {"family": entry.family, "name": entry.name, **jax_checks.check(*entry.make())}


def _samples(quick: bool, wanted: Callable[[str], bool], jobs: int) -> Iterator[Row]:
    import samples

    for path in samples.entries(quick, SAMPLES):
        if wanted(path.name):
            yield {"family": path.suffix[1:], "name": path.name, **samples.check(path)}


def _onnx(quick: bool, wanted: Callable[[str], bool], jobs: int) -> Iterator[Row]:
    """The models of ONNX's own backend tests: each has as many nodes as its graph."""
    from onnx.backend.test.case.node import collect_testcases

    from opscope.readers import capture_object

    for case in collect_testcases(None)[:: 20 if quick else 1]:
        if not wanted(case.name) or case.model is None:
            continue
        try:
            program = capture_object(case.model)
            missing = [node.name for node in case.model.graph.node if not all(name in _values(program) for name in node.output if name)]
            yield {"family": "onnx", "name": case.name, "stages": {"forward": "ok"}, "nodes": len(program.main), "wrong": missing}
        except Exception as error:
            yield {"family": "onnx", "name": case.name, "stages": {"forward": f"failed: {type(error).__name__}: {error}"}}


def _values(program: Any) -> set[str]:
    """The names of all values of a graph."""
    return {name for node in program.main for name in (node.id, *str(node.attrs.get("output_names", "")).split(", "))}


def _seen(framework: str, count: int) -> str:
    """How much of the zoo was looked at, if it was not all of it."""
    if framework != "torch":
        return ""
    import torch_zoo

    every = len(torch_zoo.entries(quick=False))
    return f"the first {count:,} of {every:,} entries" if count < every else ""


def _print_left_out() -> None:
    import torch_zoo

    for reason, names in torch_zoo.left_out().items():
        print(f"  left out   {len(names):,} of {reason}: {', '.join(names[:_NAMED])}{', …' if len(names) > _NAMED else ''}")


def _report(framework: str, rows: list[Row], note: str = "") -> list[Figure]:
    """Prints the tables, and returns their figures."""
    not_set_up = [row for row in rows if "set up" in row]
    rows = [row for row in rows if "set up" not in row]
    broken = [row for row in rows if "broken" in row]
    print(f"  {len(rows)} run by themselves; {len(not_set_up)} do not (wrong inputs or configuration)")
    for row in broken:
        print(f"  BROKEN {row['family']} {row['name']}: {row['broken']}")
    figures = [Figure("programs", len(rows), graph=framework, note=note)]
    if not_set_up:
        figures.append(Figure("entries that do not run in a small size", len(not_set_up), graph=framework))
    for stage in dict.fromkeys(stage for row in rows for stage in row["stages"]):
        outcomes = [(row["name"], row["stages"][stage]) for row in rows if stage in row["stages"]]
        counts = Counter(text.partition(":")[0] for _, text in outcomes)
        print(f"  {stage:10} {', '.join(f'{count} {text}' for text, count in counts.most_common())}")
        for name, text in outcomes:
            if text.startswith("failed"):
                print(f"    {name}: {text[:200]}")
        for reason, names in _by_reason(outcomes).items():
            print(f"    {len(names)} refused, such as {names[0]}: {reason}")
        figures += [
            Figure(f"{stage}: a graph", 100 * sum(not _is_bad(text) for _, text in outcomes) / max(1, len(outcomes)), "%", framework),
            Figure(
                f"{stage}: neither a graph nor a reason", sum(text.startswith("failed") for _, text in outcomes), "", framework, at_most=0
            ),
        ]
    wrong = [(row["name"], row["wrong"]) for row in rows if row.get("wrong")]
    nodes = sum(row.get("nodes", 0) for row in rows)
    print(f"  truth      {nodes:,} nodes, {sum(len(each) for _, each in wrong)} wrong {wrong[:5] if wrong else ''}")
    figures += [
        Figure("nodes", nodes, graph=framework),
        Figure("wrong nodes", sum(len(each) for _, each in wrong), graph=framework, at_most=0),
    ]
    if framework in ("torch", "jax"):
        effects = [(row["name"], row["effects"]) for row in rows if row.get("effects")]
        print(f"  effects    {len(effects)} programs changed {effects[:8] if effects else ''}")
        figures.append(Figure("programs that a look changed", len(effects), graph=framework, at_most=0))
        with_unknown = [row for row in rows if row.get("unknown")]
        ops = Counter(op for row in with_unknown for op in row["unknown"])
        print(f"  unknown    {len(with_unknown)} of {len(rows)} have operations of unknown cost: {ops.most_common(12)}")
        figures.append(Figure("with unknown costs", 100 * len(with_unknown) / max(1, len(rows)), "%", framework, at_most=5))
    return figures + (_report_torch(rows) if framework == "torch" else _report_jax(rows) if framework == "jax" else [])


def _is_bad(text: str) -> bool:
    return text.startswith(("failed", "refused"))


def _by_reason(outcomes: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The programs of each refusal, without the places in files and the names of classes that differ."""
    reasons: dict[str, list[str]] = {}
    for name, text in outcomes:
        if text.startswith("refused: "):
            reason = re.sub(r"^\S*:\d+:\d+: ", "", text.removeprefix("refused: "))[:160]
            reasons.setdefault(re.sub(r"failed on \w+", "failed on …", reason), []).append(name)
    return reasons


def _total(split: dict[str, int]) -> int:
    return split["argument"] + split["output"] + split["temp"] - split["alias"]


def _report_jax(rows: list[Row]) -> list[Figure]:
    ratios = [(row["name"], stage, *pair) for row in rows for stage, pair in row.get("flops", {}).items()]
    far = [each for each in ratios if abs(each[2] - each[3]) > _CLOSE * max(abs(each[3]), 1)]
    print(f"  FLOPs      {len(ratios) - len(far)} of {len(ratios)} within 1 % of XLA's (with transcendentals); not: {far}")
    memories = [(row["name"], *map(_total, row["memory"])) for row in rows if "memory" in row]
    others = [each for each in memories if abs(each[1] - each[2]) > _CLOSE_MEMORY * each[2]]
    print(f"  memory     {len(memories) - len(others)} of {len(memories)} within 5 % of XLA's total, from its plan; not: {others}")
    figures = [
        Figure("FLOPs as XLA's", 100 * (len(ratios) - len(far)) / max(1, len(ratios)), "%", "jax"),
        Figure("memory, from XLA's plan, within 5 % of its total", 100 * (len(memories) - len(others)) / max(1, len(memories)), "%", "jax"),
    ]
    for stage in ("jaxpr", "hlo", "optimized"):
        pairs = [(row["seconds"][stage], row["jit seconds"][stage]) for row in rows if "jit seconds" in row and stage in row["seconds"]]
        mine, theirs = median([a for a, _ in pairs] or [0]), median([b for _, b in pairs] or [0])
        print(f"  CPU time   {stage}: capture {mine:.3f} s, jax.jit to the same stage {theirs:.3f} s (medians)")
        figures += [Figure(f"{stage}: capture, median", mine, "s", "jax"), Figure(f"{stage}: jax.jit alone, median", theirs, "s", "jax")]
    return figures


def _report_torch(rows: list[Row]) -> list[Figure]:
    parameters = [row["name"] for row in rows if "parameters" in row and row["parameters"][0] != row["parameters"][1]]
    print(f"  parameters {len(parameters)} programs with another count {parameters[:8] if parameters else ''}")
    compared = [(row["name"], *row["products"]) for row in rows if row.get("products") and row["products"][1]]
    far = [each for each in compared if each[1] is None or abs(each[1] - each[2]) > _CLOSE * each[2]]
    print(f"  FLOPs      {len(compared) - len(far)} of {len(compared)} within 1 % of FlopCounterMode; not: {far}")
    joint = [row["unknown in joint"] for row in rows if "unknown in joint" in row]
    ops = Counter(op for unknown in joint for op in unknown)
    with_unknown = sum(bool(unknown) for unknown in joint)
    print(f"  unknown    {with_unknown} of {len(joint)} joint graphs have operations of unknown cost: {ops.most_common(12)}")
    linked = [row["linked"] for row in rows if "linked" in row]
    share = 100 * sum(some for some, _ in linked) / max(1, sum(every for _, every in linked))
    print(f"  gradients  {share:.2f} % of {sum(every for _, every in linked):,} backward operations are linked")
    memories = [(row["name"], *row["memory"]) for row in rows if row.get("memory")]
    others = [each for each in memories if abs(each[1] - each[2]) > _CLOSE_STEP * each[2]]
    print(f"  memory     {len(memories) - len(others)} of {len(memories)} peaks of a step within 10 % of torch's allocator; not: {others}")
    times = [row["seconds"] for row in rows if "seconds" in row]
    own = [row["seconds"] - row["export seconds"] for row in rows if row.get("export seconds")]
    print(f"  CPU time   capture median {median(times or [0]):.2f} s; what opscope adds to torch.export {median(own or [0]):.3f} s")
    return [
        Figure("programs with another parameter count", len(parameters), graph="torch", at_most=0),
        Figure("joint graphs with unknown costs", 100 * with_unknown / max(1, len(joint)), "%", "torch", at_most=5),
        Figure("products as FlopCounterMode", 100 * (len(compared) - len(far)) / max(1, len(compared)), "%", "torch"),
        Figure("backward operations linked", share, "%", "torch"),
        Figure("peak of a step within 10 % of the allocator's", 100 * (len(memories) - len(others)) / max(1, len(memories)), "%", "torch"),
        Figure("a capture, median", median(times or [0]), "s", "torch"),
        Figure("what opscope adds to torch.export, median", median(own or [0]), "s", "torch"),
    ]


if __name__ == "__main__":
    main()
