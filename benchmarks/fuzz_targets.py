"""What `fuzz.py` damages, and what it does with a damaged file: everything that commands do."""

from __future__ import annotations

import gzip
import re
import tarfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from results import HERE

from opscope import native
from opscope.analysis.enrich import enrich
from opscope.analysis.info import info_of
from opscope.errors import OpscopeError
from opscope.loading import load_all
from opscope.memory.model import Memory
from opscope.memory.report import to_json
from opscope.memory.schedule import computed_memory
from opscope.memory.sources import read_memory
from opscope.memory.xla_files import Reports, reported_memory
from opscope.program import Program
from opscope.readers import read
from opscope.readers.source import Source
from opscope.recording.diff import diff
from opscope.recording.model import Recording
from opscope.recording.sources import is_recording_source, open_recording
from opscope.recording.store.store import StoreWriter
from opscope.render.wire.compare_passes import compared_rows
from opscope.render.wire.diff import encode_diff
from opscope.render.wire.memory import encode_memory
from opscope.render.wire.program import encode_wire
from opscope.render.writers.svg import svg_text

SAMPLES = HERE.parent / "tests" / "samples"
GPU_DUMPS = HERE.parent / "tests" / "memory" / "gpu_dumps.tar.gz"
LARGEST_SAMPLE = 40_000
LONGEST_LOG = 12_000
NEEDS = {"onnx": "onnx", "mlir": "jaxlib"}
SLOW = {"mlir"}
"""Read in a process of their own, which takes seconds; only if named."""
RECORDING = "recording"
REPORTS = "xla_memory"
"""XLA's memory reports, which are read for a program."""


def kinds(chosen: list[str]) -> list[str]:
    names = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir())
    wanted = chosen or [name for name in [*names, RECORDING, REPORTS] if name not in SLOW]
    return [name for name in wanted if NEEDS.get(name, name) == name or find_spec(NEEDS[name])]


def seeds(kind: str, directory: Path) -> list[Path]:
    """Real files of a kind, which damage starts from. Those that are compressed are unpacked: damaged gzip ends in one sentence."""
    if kind == RECORDING:
        return [_recording(directory / "seed.opscope")]
    if kind == REPORTS:
        return _reports(directory / "reports")
    files = [path for path in sorted((SAMPLES / kind).rglob("*")) if path.is_file() and not path.name.startswith("make")]
    plain = [_plain(path, directory / "seeds") if path.suffix in (".gz", ".log") else path for path in files]
    return [path for path in plain if path.stat().st_size <= LARGEST_SAMPLE] or plain[:1]


def _plain(path: Path, directory: Path) -> Path:
    """A compressed file unpacked, and the beginning of a log, which is a log, too."""
    target = directory / f"{path.parent.name}_{path.name.removesuffix('.gz')}"
    if not target.exists():
        directory.mkdir(exist_ok=True)
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        target.write_bytes(content[:LONGEST_LOG] if target.suffix == ".log" else content)
    return target


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


class Outcome(NamedTuple):
    """What came of reading a damaged file."""

    signature: str
    """Different for different outcomes. The first word is "shown" or "refused"."""
    contents: list[Program] | Recording | Memory | None = None


def reading(path: Path, reports: Path) -> Outcome:
    """Read a file. `reports` is the directory of the memory reports that a damaged one belongs to."""
    try:
        if path.suffix in (".assignment", ".live"):
            about = {each: path if path.suffix == each else reports / f"mlp{each}" for each in (".assignment", ".live")}
            text = reports / "mlp.hlo"
            memory = reported_memory(Reports("mlp", about[".assignment"], about[".live"], text), _reported_program(text))
            return Outcome(f"shown {len(memory.buffers).bit_length()} buffers", memory)
        if is_recording_source(path):
            recording = open_recording(path)
            return Outcome(f"shown {len(recording)} passes", recording)
        programs = load_all(path)
    except OpscopeError as error:
        return _refused(error)
    return Outcome(f"shown {len(programs)} {sum(program.node_count for program in programs).bit_length()}", programs)


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
            list(compared_rows(contents))
            programs = [snapshot.program for snapshot in contents]
            _ = [snapshot.origins for snapshot in contents]
            for program in programs[-1:]:
                _use(program, draw)
        else:
            for program in contents[:3]:
                _use(program, draw)
            for memory in read_memory(str(path))[:3]:
                _use_memory(memory, None)
    except OpscopeError as error:
        return _refused(error)
    return None


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
    if draw:
        svg_text(program)
