"""Damaged files through every reader and everything that follows: each must end in a sentence or a result, soon.

    python benchmarks/fuzz.py [--inputs 10000] [--kinds hlo,torch] [--state .bench/fuzz] [--keep]

Input number N is the same in every run with the same state, so a run can be stopped and goes on where it was: the state has the next
number, the counts, and the pool. A damaged file whose outcome is new (a sentence that no other gave, a graph of another size) joins the
pool and is damaged further. A fault is any error that is not a sentence, or an input that takes more than 20 seconds; its file is kept.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import FrameType

from mutations import mutated
from results import HERE, Figure, keep

from opscope import native
from opscope.analysis.enrich import enrich
from opscope.analysis.info import info_of
from opscope.errors import OpscopeError
from opscope.loading import load_all
from opscope.program import Program
from opscope.recording.diff import diff
from opscope.recording.sources import is_recording_source, open_recording
from opscope.recording.store.store import StoreWriter
from opscope.render.wire.compare_passes import compared_rows
from opscope.render.wire.diff import encode_diff
from opscope.render.wire.program import encode_wire
from opscope.render.writers.svg import svg_text

SAMPLES = HERE.parent / "tests" / "samples"
LARGEST_SAMPLE = 40_000
LARGEST_POOL = 3000
SECONDS = 20
SAVED = 200
"""The state is saved after so many inputs."""
DRAWN = 8
"""Of the inputs that give a program, one in so many is also drawn."""
NEEDS = {"onnx": "onnx", "mlir": "jaxlib"}
SLOW = {"mlir"}
"""Read in a process of their own, which takes seconds; only if named with --kinds."""


@dataclass
class State:
    """What a run of any length has found so far."""

    next: int = 0
    seconds: float = 0.0
    outcomes: dict[str, int] = field(default_factory=dict)
    """By kind of file: how many were shown, refused, or ended in a fault."""
    signatures: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


class Slow(Exception):
    """An input that takes too long."""


def kinds(chosen: list[str]) -> list[str]:
    names = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir())
    wanted = chosen or [name for name in [*names, "recording"] if name not in SLOW]
    return [name for name in wanted if NEEDS.get(name, name) == name or find_spec(NEEDS[name])]


def seeds(kind: str, directory: Path) -> list[Path]:
    """Real files of a kind, which damage starts from."""
    if kind == "recording":
        return [_recording(directory)]
    files = [path for path in sorted((SAMPLES / kind).rglob("*")) if path.is_file() and path.suffix not in (".py", ".md")]
    return [path for path in files if path.stat().st_size <= LARGEST_SAMPLE] or files[:1]


def _recording(directory: Path) -> Path:
    path = directory / "seed.opscope"
    if not path.exists():
        writer = StoreWriter(path)
        for number, name in enumerate(("hlo/written.hlo", "hlo/constants.hlo", "hlo/types.hlo")):
            writer.add(load_all(SAMPLES / name)[0], f"pass {number}", pipeline=("p",), module="m", seconds=0.5)
        writer.close()
    return path


def follow(path: Path, draw: bool) -> str:
    """Read a file and do everything with it that commands do. Returns a signature of the outcome; a sentence begins with "refused"."""
    try:
        if is_recording_source(path):
            recording = open_recording(path)
            rows = list(compared_rows(recording))
            programs = [snapshot.program for snapshot in recording]
            _ = [snapshot.origins for snapshot in recording]
            for program in programs[-1:]:
                _use(program, draw)
            return f"shown {len(rows)} passes"
        programs = load_all(path)
        for program in programs[:3]:
            _use(program, draw)
    except OpscopeError as error:
        sentence = str(error)
        if not sentence or "\n" in sentence:
            raise AssertionError(f"not one line: {sentence!r}") from None
        return "refused " + re.sub(r"\d+|'[^']*'|\"[^\"]*\"|\S*/\S*", "", sentence)[:160]
    return f"shown {len(programs)} {sum(program.node_count for program in programs).bit_length()}"


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
    if draw:
        svg_text(program)


@contextmanager
def patience() -> Iterator[None]:
    def stop(_: int, __: FrameType | None) -> None:
        raise Slow(f"more than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


class Fuzzer:
    """Makes inputs one by one; everything that it knows is in its directory."""

    def __init__(self, directory: Path, chosen: list[str], seed: int = 1) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.seed = seed
        self.kinds = kinds(chosen)
        self.pool = {kind: seeds(kind, directory) for kind in self.kinds}
        self._file = directory / "state.json"
        self.state = State()
        if self._file.exists():
            self.state = State(**json.loads(self._file.read_text("utf-8")))
            for path in sorted((directory / "pool").glob("*")):
                self.pool.setdefault(path.stem.partition("-")[2], []).append(path)
        self._signatures = set(self.state.signatures)

    def run(self, inputs: int) -> None:
        """Run so many more inputs. The state is saved from time to time, and when the run is interrupted."""
        try:
            for _ in range(inputs):
                self.step()
                if self.state.next % SAVED == 0:
                    self.save()
        finally:
            self.save()

    def step(self) -> None:
        started = time.perf_counter()
        number = self.state.next
        rng = random.Random(f"{self.seed} {number}")
        kind = rng.choice(self.kinds)
        origin = rng.choice(self.pool[kind])
        structure = "opscope" if kind == "recording" else origin.suffix.removeprefix(".")
        content = mutated(origin.read_bytes(), structure, rng)
        path = self.directory / f"input{origin.suffix}"
        path.write_bytes(content)
        try:
            with patience():
                signature = follow(path, draw=number % DRAWN == 0)
        except (MemoryError, RecursionError, Exception) as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            fault = f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}: {str(error)[:120]}"
            self.state.faults.append(f"{number} {kind}: {fault}")
            self._store("faults", number, kind, origin.suffix, content)
            signature = f"fault {fault}"
        outcome = f"{kind} {signature.partition(' ')[0]}"
        self.state.outcomes[outcome] = self.state.outcomes.get(outcome, 0) + 1
        if f"{kind} {signature}" not in self._signatures:
            self._signatures.add(f"{kind} {signature}")
            if len(self._signatures) < LARGEST_POOL and not signature.startswith("fault"):
                self.pool[kind].append(self._store("pool", number, kind, origin.suffix, content))
        self.state.next += 1
        self.state.seconds += time.perf_counter() - started

    def _store(self, where: str, number: int, kind: str, suffix: str, content: bytes) -> Path:
        path = self.directory / where / f"{number:08}-{kind}{suffix}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        return path

    def save(self) -> None:
        self.state.signatures = sorted(self._signatures)
        self._file.write_text(json.dumps(asdict(self.state), indent=1), "utf-8")


def figures(state: State) -> list[Figure]:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    shown = sum(count for name, count in state.outcomes.items() if name.endswith("shown"))
    return [
        Figure("damaged files", state.next, at_least=1_000_000, note=f"{len(state.signatures)} different outcomes"),
        Figure("faults", len(state.faults), size=state.next, at_most=0),
        Figure("still a graph", 100 * shown / max(1, state.next), "%", size=state.next),
        Figure("time", state.seconds, "s", size=state.next),
        Figure("peak memory", peak, "MB", size=state.next, note="of the last run"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--kinds", default="", help="only these, such as hlo,torch (default: all that are installed, without mlir)")
    parser.add_argument("--state", type=Path, default=HERE.parent / ".bench" / "fuzz")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    fuzzer = Fuzzer(options.state, [kind for kind in options.kinds.split(",") if kind])
    fuzzer.run(options.inputs)
    state = fuzzer.state
    print("\n".join(state.faults))
    print("\n".join(f"{count:8,}  {name}" for name, count in sorted(state.outcomes.items())))
    print(f"{state.next:,} inputs, {len(state.faults)} faults, {state.seconds:.0f} s, {len(state.signatures)} different outcomes")
    if options.keep:
        keep("fuzz", figures(state))
    sys.exit(1 if state.faults else 0)


if __name__ == "__main__":
    main()
