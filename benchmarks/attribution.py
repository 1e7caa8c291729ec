"""How much of a GPU's time opscope puts on instructions, and how much of it on the right one.

    python benchmarks/attribution.py [ARCHIVE ...] [--xprof PYTHON] [--keep]

An archive has a profile of a train step on a GPU; the default are those in ../shared/data/profiles.
`--xprof` names a Python that has XProf (`pip install xprof` in an environment of its own): what its hlo_stats put on instructions, and its
framework_op_stats on operations, comes beside it. For PyTorch, the rows are a trace by itself and, with a TORCH_TRACE log, on the launches
of Inductor's code.

The truth comes from profiles without command buffers, in which every kernel names its instruction: the names are hidden, and the kernels
placed by the schedule alone. `long` repeats the steps of a profile, to show how the time grows with the trace.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path

from results import Figure, keep

from opscope.loading import load_timed
from opscope.profile.model import Event, Profile
from opscope.profile.place import place
from opscope.profile.xplane import read_xplane
from opscope.program import Program
from opscope.readers.hlo_proto import hlo_proto, program_of

LONG = 100
XPROF_STATS = """
import json, sys
from xprof.convert.raw_to_tool_data import xspace_to_tool_data
seconds = {}
for tool in ("hlo_stats", "framework_op_stats"):
    table = json.loads(xspace_to_tool_data([sys.argv[1]], tool, {})[0])
    table = table[0] if isinstance(table, list) else table
    columns = [each["id"] for each in table["cols"]]
    rows = [dict(zip(columns, (cell and cell["v"] for cell in row["c"]))) for row in table["rows"]]
    on_device = [row for row in rows if row.get("host_or_device", "Device") == "Device" and row.get("type") != "IDLE"]
    seconds[tool] = sum(row["total_self_time"] for row in on_device) * 1e-6
print(json.dumps(seconds))
"""
"""Prints the seconds of the device that XProf puts on instructions, and on operations of the framework."""
PROFILES = Path(__file__).resolve().parents[2] / "shared" / "data" / "profiles"
SAMPLES = Path(__file__).resolve().parents[1] / "tests" / "samples" / "kineto"


def trace_of(archive: Path) -> bytes:
    with tarfile.open(archive) as files:
        (member,) = [one for one in files.getmembers() if one.name.endswith(".xplane.pb")]
        trace = files.extractfile(member)
        return b"" if trace is None else trace.read()


def repeated(events: list[Event], times: int) -> list[Event]:
    """A longer trace: the same steps again and again."""
    length = events[-1].start + events[-1].duration - events[0].start + 1
    return [event._replace(start=event.start + i * length) for i in range(times) for event in events]


def xprof_seconds(python: Path, trace: bytes) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "host.xplane.pb")
        path.write_bytes(trace)
        done = subprocess.run([python, "-c", XPROF_STATS, path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
        seconds: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        return seconds


def torch_figures(archive: Path) -> list[Figure]:
    """Of an eager trace by itself, and of a compiled one by itself and on the code that ran."""
    name = archive.name.removesuffix(".tar.gz")
    with tempfile.TemporaryDirectory() as directory, tarfile.open(archive) as files:
        files.extractall(directory, filter="data")
        traces = {trace: next(Path(directory).rglob(f"{trace}.json")) for trace in ("eager", "compiled")}
        log = next(Path(directory).rglob("dedicated_log_torch_trace*.log"))
        timed = {trace: load_timed(str(path)) for trace, path in traces.items()}
        timed["compiled, on launches"] = load_timed(str(log), profile=str(traces["compiled"]))
        measured = []
        for trace, programs in timed.items():
            times = [one.times for one in programs if one.times is not None]
            placed, total = sum(each.placed_seconds for each in times), sum(each.device_seconds for each in times)
            work = sum(len(each.step) for each in times)
            note = ""
            if "launches" in trace:
                outside = sum(spent for each in times for (graph, _), spent in each.seconds.items() if graph == "main")
                note = f"{outside / total:.1%} of it on operators that are not compiled: the loss, the optimizer"
            measured.append(Figure(f"device time placed, {trace}", placed / total, "", name, work, at_least=0.995, note=note))
            measured.append(
                Figure(
                    f"node times / device time, {trace}",
                    total / device_seconds(traces[trace.split(",")[0]]),
                    "",
                    name,
                    work,
                    at_most=1.001,
                    at_least=0.999,
                )
            )
        return measured


def device_seconds(trace: Path) -> float:
    """What all kernels, copies and fills of a trace take, from the file itself."""
    data = trace.read_bytes()
    events = json.loads(gzip.decompress(data) if trace.suffix == ".gz" else data)["traceEvents"]
    return float(sum(event["dur"] for event in events if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")) * 1e-6)


def cuda_graph_figures() -> list[Figure]:
    """Of a step of torch.compile captured in CUDA graphs, whose kernels no operator launched; the truth is the same step without them."""
    name = "h200_torch_cuda_graphs"
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory, "attention.native")
        program.write_bytes(gzip.decompress((SAMPLES / "attention.native.gz").read_bytes()))
        (truth,), (captured,) = (
            load_timed(str(program), profile=str(SAMPLES / f"{trace}.json.gz")) for trace in ("attention", "attention_graphs")
        )
    assert truth.times is not None and captured.times is not None
    in_code = [{node: seconds for node, seconds in times.seconds.items() if node[0] != "main"} for times in (truth.times, captured.times)]
    right = sum(min(seconds, in_code[1].get(node, 0.0)) for node, seconds in in_code[0].items())
    least = min(sum(seconds.values()) for seconds in in_code)
    note = "of what is in the compiled code; two runs differ by some of the rest"
    total = captured.times.device_seconds / device_seconds(SAMPLES / "attention_graphs.json.gz")
    work = len(captured.times.step)
    return [
        Figure("device time on the right launch", right / least, "", name, work, at_least=0.99, note=note),
        Figure("node times / device time", total, "", name, work, at_most=1.001, at_least=0.999),
    ]


def figures(archive: Path, xprof: Path | None) -> list[Figure]:
    if "torch" in archive.name:
        return torch_figures(archive)
    data = trace_of(archive)
    name = archive.name.removesuffix(".tar.gz")
    started = time.perf_counter()
    profile: Profile = read_xplane(data)
    reading = time.perf_counter() - started
    module = profile.heaviest()[0]
    program: Program = program_of(hlo_proto(profile.modules[module].hlo)["hlo_module"])
    events = profile.of_module(module)
    total = sum(event.duration for event in profile.device) * 1e-12
    is_named = any(event.op in graph for event in events for graph in program)
    hidden = [event._replace(op="command_buffer_1") for event in events]
    started = time.perf_counter()
    times = place(program, hidden)
    placing = time.perf_counter() - started
    long = repeated(hidden, LONG)
    started = time.perf_counter()
    place(program, long)
    longer = time.perf_counter() - started
    measured = [
        Figure("device time placed", times.placed_seconds / total, "", name, len(events), at_least=0.995),
        Figure("node times / device time", times.device_seconds / total, "", name, len(events), at_least=0.999, at_most=1.001),
        Figure("read profile", reading, "s", name, len(data)),
        Figure("place", placing, "s", name, len(events)),
        Figure(f"place, {LONG} times the steps", longer, "s", name, len(long)),
    ]
    if xprof is not None:
        for tool, seconds in xprof_seconds(xprof, data).items():
            measured.append(Figure("device time placed", seconds / total, "", name, len(events), tool=f"XProf, {tool}"))
    if is_named:
        truth = place(program, events)
        right = sum(min(seconds, times.seconds.get(node, 0.0)) for node, seconds in truth.seconds.items())
        measured.insert(1, Figure("device time on the right instruction", right / total, "", name, len(events), at_least=0.99))
    return measured


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("archives", nargs="*", type=Path, default=sorted(PROFILES.glob("h200_*.tar.gz")))
    parser.add_argument("--xprof", type=Path, metavar="PYTHON")
    parser.add_argument("--keep", action="store_true")
    chosen = parser.parse_args()
    measured = [figure for path in chosen.archives for figure in figures(path, chosen.xprof)] + cuda_graph_figures()
    for figure in measured:
        print(f"{figure.graph:34} {figure.tool:26} {figure.name:45} {figure.value:.6g} {figure.unit} {figure.target} {figure.note}")
    if chosen.keep:
        keep("attribution", measured)


if __name__ == "__main__":
    main()
