"""What `fuzz.py` damages, and what it does with a damaged file: everything that commands do."""

from __future__ import annotations

import gzip
import json
import re
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from fuzz_dumps import DUMPS, SUFFIX, Unpacked, write_dumps
from results import HERE

from opscope import native
from opscope.analysis.costs import costs_of
from opscope.analysis.devices import device_of
from opscope.analysis.enrich import enrich
from opscope.analysis.info import info_of
from opscope.errors import OpscopeError
from opscope.loading import is_profile, load_all, load_timed
from opscope.memory.model import Memory
from opscope.memory.report import to_json
from opscope.memory.schedule import computed_memory
from opscope.memory.sources import read_memory
from opscope.memory.xla_files import Reports, reported_memory
from opscope.program import Program, ProgramBuilder, TensorType
from opscope.readers import read
from opscope.readers.profiles import timed_with
from opscope.readers.source import Source
from opscope.recording.diff import diff
from opscope.recording.history import history
from opscope.recording.kernel_code import kernel_code
from opscope.recording.model import Recording, Snapshot
from opscope.recording.reasons import why
from opscope.recording.sources import is_recording_source, open_recording
from opscope.recording.store.codec import DAMAGED
from opscope.recording.store.store import StoreWriter
from opscope.render.draw import host
from opscope.render.wire.diff import encode_diff
from opscope.render.wire.memory import encode_memory
from opscope.render.wire.program import encode_wire
from opscope.render.wire.recording import encode_recording
from opscope.render.writers.html import initial
from opscope.render.writers.svg import svg_text
from opscope.view_options import ViewOptions

SAMPLES = HERE.parent / "tests" / "samples"
GPU_DUMPS = HERE.parent / "tests" / "memory" / "gpu_dumps.tar.gz"
LARGEST_SAMPLE = 40_000
LONGEST_LOG = 12_000
LOG_PART = 4_000
"""A log is read faster in parts, each with some of its entries."""
NEEDS = {"onnx": "onnx", "mlir": "jaxlib"}
SLOW = {"mlir"}
"""Read in a process of their own, which takes seconds; only if named."""
RECORDING = "recording"
TRACES = "kineto"
LONGEST_TRACE = 60
"""Events."""
REPORTS = "xla_memory"
"""XLA's memory reports, which are read for a program."""
OVERLAYS = {
    "style": [
        {
            "queries": [
                {"type": "node_type", "nodeType": "op_nodes"},
                {"type": "regex", "queryRegex": "a+b?", "matchTypes": ["title", "attr"]},
                {"type": "attr_value_range", "attrName": "k", "min": None, "max": 4},
            ],
            "nodeType": "op_nodes",
            "styles": {"node_bg_color": {"id": "node_bg_color", "value": "#dce9e9"}, "edge_color": "#0a0b0c"},
            "version": "v2",
        }
    ],
    "data": {
        "main": {
            "name": "run",
            "results": {"a": {"value": 2.5, "bgColor": "red"}, "b": {"value": 1}},
            "thresholds": [{"value": 2, "bgColor": "#00ff00"}],
            "gradient": [{"stop": 0, "bgColor": "red"}, {"stop": 1, "bgColor": "blue"}],
        }
    },
}
"""Style rules and node data, which colour a picture."""
BESIDE = {
    "table": "node,ms\na,0.5\nb,1e-3\n",
    "values": json.dumps({"unit": "J", "metric": "energy", "values": {"a": 0.5, "b": 2}}),
    "onnxruntime": json.dumps(
        [
            {"cat": "Session", "name": "model_loading_array", "ts": 1, "dur": 2},
            {"cat": "Session", "name": "model_run", "ts": 4, "dur": 9, "pid": 1, "tid": 1},
            {"cat": "Node", "name": "a_kernel_time", "ts": 5, "dur": 3, "args": {"op_name": "add", "provider": "CPU"}},
        ]
    ),
    "tensorrt": json.dumps([{"count": 10}, {"name": "a + PWN(b)", "timeMs": 5.0, "averageMs": 0.5, "percentage": 100.0}]),
    "device": json.dumps({"title": "mine", "bandwidth": 4.8e12, "vector": 6.7e13, "products": {"bf16": 9.9e14}}),
}
"""Files beside a program: what was measured of its nodes, and the rates of a device."""
_SLOW = ("aitemplate", "data", "fx_text", "hidet", "output_code", "recording", "snapshots_dump", "style", "xla_dump", "xplane")
_SLOWER = ("hlo_proto", "kineto")
_SLOWEST = ("aitemplate_dump", "fx_texts_dump", "hidet_dump", "torch_debug_dump", "torch_trace")
WEIGHTS = {**dict.fromkeys(_SLOW, 0.25), **dict.fromkeys(_SLOWER, 0.1), **dict.fromkeys(_SLOWEST, 0.05)}
"""How often a kind comes that takes long, where quick ones (up to 2 ms for an input) come once."""


def kinds(chosen: list[str]) -> list[str]:
    names = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir())
    wanted = chosen or [name for name in [*names, RECORDING, REPORTS, *OVERLAYS, *BESIDE, *DUMPS] if name not in SLOW]
    return [name for name in wanted if NEEDS.get(name, name) == name or find_spec(NEEDS[name])]


def seeds(kind: str, directory: Path) -> list[Path]:
    """Real files of a kind, which damage starts from. Those that are compressed are unpacked: damaged gzip ends in one sentence."""
    if kind == RECORDING:
        return [_recording(directory / "seed.opscope")]
    if kind == REPORTS:
        return _reports(directory / "reports")
    if kind in DUMPS:
        return write_dumps(kind, directory)
    if kind in BESIDE:
        return [_written(directory / f"beside.{kind}", BESIDE[kind].encode())]
    if kind in OVERLAYS:
        path = directory / f"overlay.{kind}"
        path.write_text(json.dumps(OVERLAYS[kind]), "utf-8")
        return [path]
    files = [path for path in sorted((SAMPLES / kind).rglob("*")) if path.is_file() and not path.name.startswith(("make", "depyf"))]
    (directory / "seeds").mkdir(exist_ok=True)
    plain = [each for path in files for each in _plain(path, kind, directory / "seeds")]
    return [path for path in plain if path.stat().st_size <= LARGEST_SAMPLE] or plain[:1]


def _plain(path: Path, kind: str, directory: Path) -> list[Path]:
    """A sample as it is read fastest: unpacked, the beginning of a trace in time, a log in parts."""
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    name = f"{path.parent.name}_{path.name.removesuffix('.gz')}"
    if name.endswith(".log"):
        return [_written(directory / f"{number}_{name}", part) for number, part in enumerate(_parts(content[:LONGEST_LOG]))]
    if kind == TRACES and name.endswith(".json"):
        trace = json.loads(content)
        events = sorted(trace["traceEvents"], key=lambda event: event.get("ts", 0.0))
        content = json.dumps({**trace, "traceEvents": events[:LONGEST_TRACE]}).encode()
    return [_written(directory / name, content)]


def _parts(log: bytes) -> Iterator[bytes]:
    part = b""
    for entry in re.split(rb"(?<=\n)(?=[VDIWE]\d{4} )", log):
        if part and len(part) + len(entry) > LOG_PART:
            yield part
            part = b""
        part += entry
    yield part


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def _recording(path: Path) -> Path:
    if not path.exists():
        writer = StoreWriter(path)
        for number, name in enumerate(("hlo/written.hlo", "hlo/constants.hlo", "hlo/types.hlo")):
            writer.add(load_all(SAMPLES / name)[0], f"pass {number}", pipeline=("p",), module="m", seconds=0.5)
        writer.close()
    return path


def _reports(directory: Path) -> list[Path]:
    """The reports of a small module, as mlp.assignment and mlp.live, next to its text."""
    directory.mkdir(exist_ok=True)
    with tarfile.open(GPU_DUMPS) as archive:
        for member in archive:
            for end, name in (
                ("-buffer-assignment.txt", "mlp.assignment"),
                ("-live-range.txt", "mlp.live"),
                ("optimizations.txt", "mlp.hlo"),
            ):
                content = archive.extractfile(member) if member.name.startswith("mlp/") and member.name.endswith(end) else None
                if content is not None:
                    (directory / name).write_bytes(content.read())
    return [directory / "mlp.assignment", directory / "mlp.live"]


@cache
def _reported_program(path: Path) -> Program:
    return read(Source(path), "hlo")[0]


@cache
def _coloured() -> Program:
    builder = ProgramBuilder("p")
    graph = builder.graph("main")
    graph.node("a", "add", (), [TensorType("f32", (4,))], attrs={"k": 3})
    graph.node("b", "mul", [("a", 0)], [TensorType("f32", (4,))], attrs={"k": "text"})
    return builder.build()


class OneIsolate:
    """V8 for many pictures, where the product starts one for each: that takes seven times as long as drawing a small one."""

    def __init__(self) -> None:
        self._new = host._Isolate
        self._isolate: host._Isolate | None = None

    def __enter__(self) -> None:
        vars(host)["_Isolate"] = self._lent

    def __exit__(self, *_: object) -> None:
        vars(host)["_Isolate"] = self._new
        self._close()

    @contextmanager
    def _lent(self) -> Iterator[host._Isolate]:
        self._isolate = self._isolate or self._new()
        try:
            yield self._isolate
        except OpscopeError:
            raise
        except BaseException:
            self._close()  # it was stopped in the middle
            raise

    def _close(self) -> None:
        if self._isolate is not None:
            self._isolate.__exit__()
            self._isolate = None


class Outcome(NamedTuple):
    """What came of reading a damaged file."""

    signature: str
    """Different for different outcomes. The first word is "shown" or "refused"."""
    contents: list[Program] | Recording | Memory | None = None


def reading(path: Path, reports: Path, dump: Unpacked) -> Outcome:
    """Read a file. `reports` is the directory of the memory reports that a damaged one belongs to; `dump` is where dumps are unpacked."""
    try:
        if path.suffix in (".assignment", ".live"):
            about = {each: path if path.suffix == each else reports / f"mlp{each}" for each in (".assignment", ".live")}
            text = reports / "mlp.hlo"
            memory = reported_memory(Reports("mlp", about[".assignment"], about[".live"], text), _reported_program(text))
            return Outcome(f"shown {len(memory.buffers).bit_length()} buffers", memory)
        if path.suffix[1:] in OVERLAYS:
            options = ViewOptions(style=str(path)) if path.suffix == ".style" else ViewOptions(node_data=(str(path),))
            initial(options)
            return Outcome(f"shown {len(svg_text(_coloured(), options, embed_font=False)) >> 7}")
        if path.suffix[1:] in BESIDE:
            return Outcome(f"shown {_beside(path)}")
        if path.suffix == SUFFIX:
            path = dump.fill(path)
            files = [each for each in path.iterdir() if each.is_file()]
            path = files[0] if len(files) == 1 else path  # Inductor's code is a recording by itself
        if path.is_dir() or is_recording_source(path):
            recording = open_recording(path)
            return Outcome(f"shown {len(recording)} passes", recording)
        programs = load_all(path)
    except OpscopeError as error:
        return _refused(error)
    return Outcome(f"shown {len(programs)} {sum(program.node_count for program in programs).bit_length()}", programs)


def _beside(path: Path) -> int:
    """How many nodes a file beside a program says something about, or a device's bandwidth roughly."""
    if path.suffix == ".device":
        named = path.with_suffix(".json")
        named.write_bytes(path.read_bytes())
        return int(device_of(str(named)).bandwidth).bit_length()
    return sum(len(one.program.metrics) for one in timed_with([_coloured()], path))


def _refused(error: OpscopeError) -> Outcome:
    sentence = str(error)
    if not sentence or "\n" in sentence:
        raise AssertionError(f"not one line: {sentence!r}")
    return Outcome("refused " + re.sub(r"\d+|'[^']*'|\"[^\"]*\"|\S*/\S*", "", sentence)[:160])


def follow(path: Path, contents: list[Program] | Recording | Memory, draw: bool) -> Outcome | None:
    """Do with the contents of a file what commands do; what they refuse is the outcome."""
    try:
        if isinstance(contents, Memory):
            _use_memory(contents, None)
        elif isinstance(contents, Recording):
            _use_recording(contents, draw)
        else:
            for program in contents[:3]:
                _use(program, draw)
            if is_profile(str(path)):
                _use_profile(str(path))
            for memory in read_memory(str(path))[:3]:
                _use_memory(memory, None)
    except OpscopeError as error:
        if DAMAGED in str(error) and path.suffix != ".opscope":
            raise AssertionError("a recording of ours is damaged") from error
        return _refused(error)
    return None


def _use_profile(path: str) -> None:
    """Its times by themselves, and on the nodes of another program."""
    for timed in load_timed(path)[:3]:
        costs_of(timed.program, timed.times).to_json()
    with suppress(OpscopeError):
        load_timed(str(SAMPLES / TRACES / "net.native"), profile=path)


def _use_recording(recording: Recording, draw: bool) -> None:
    """What the page of a recording and `opscope passes` show, for its last program and a node of it."""
    encode_recording(recording, to_read=True)
    for snapshot in recording:
        _ = snapshot.origins
    for snapshot in recording.snapshots[-1:]:
        _use(snapshot.program, draw)
        for graph in list(snapshot.program)[:1]:
            for id in list(graph.ids)[-2:]:
                _ask(recording, snapshot, graph.name, id, draw)


def _ask(recording: Recording, snapshot: Snapshot, graph: str, id: str, draw: bool) -> None:
    """Questions about one node, which commands may refuse."""
    with suppress(OpscopeError):
        kernel_code(recording, id)
    if draw:  # both start V8
        with suppress(OpscopeError):
            why(recording, id)
        with suppress(OpscopeError):
            _ = [str(step) for step in history(recording, (graph, id), snapshot)]


def _use_memory(memory: Memory, program: Program | None) -> None:
    to_json(memory, memory.peak, "buffer")
    encode_memory(memory, program)


def _use(program: Program, draw: bool) -> None:
    info_of(program).to_json()
    enriched = enrich(program)
    encode_wire(enriched)
    text = native.dumps(enriched)
    (again,) = native.loads(text)
    if native.dumps(again) != text:
        raise AssertionError("the JSON of a program changes when it is read and written")
    writer = StoreWriter()
    writer.add(program, "a")
    stored = writer.recording()[0].program
    if [node.id for graph in stored for node in graph] != [node.id for graph in program for node in graph]:
        raise AssertionError("a recording has other nodes than the program")
    encode_diff(diff(program, again))
    _use_memory(computed_memory(program), program)
    costs_of(enriched, device=device_of("h200")).to_json()
    if draw:
        svg_text(program)
