"""Damaged files through every reader and everything that follows: each must end in a sentence or a result, soon.

    python benchmarks/fuzz.py [--inputs 100000] [--workers 2] [--seed 1] [--kinds hlo,torch] [--state .bench/fuzz] [--keep]

Guided by coverage: a damaged file that reaches code which none did before, or whose outcome is new (a sentence that no other gave, a
graph of another size), joins the pool and is damaged further. Every file is read; those that join the pool, and one in sixteen of the
others that give a program, also go through analysis, wire, JSON, recording, diff and memory, and one in eight of these through view,
layout and SVG. A fault is any error that is not a sentence, or an input that takes more than 20 seconds of CPU; its file is kept.

Each worker has a seed, a pool and a state of its own. Its input number N is the same in every run with the same state, so a run can be
stopped and goes on where it was: the state has the next number, the counts, what was reached, and the pool. The files of faults are
tried again at the start.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

from instrument import Blocks, instrument
from mutations import mutated
from results import HERE, Figure, keep

BLOCKS = Blocks()
if __name__ == "__main__":
    instrument("opscope", BLOCKS)  # before the import that imports opscope
    os.environ["OPSCOPE_CACHE"] = "off"

from fuzz_dumps import Unpacked  # noqa: E402
from fuzz_targets import RECORDING, WEIGHTS, OneIsolate, follow, kinds, reading, seeds  # noqa: E402

STATE = "state.json"
MANY, IN_CI = 1_000_000, 100_000
"""Inputs of a run that is kept, and of `make fuzz`, whose figures are kept beside those of the other."""
IN_MEMORY = Path("/dev/shm")
"""Where inputs are written if there is such a place: an input is read once."""
LARGEST_POOL = 6000
SECONDS = 20
SAVED = 2000
"""The state is saved after so many inputs."""
FOLLOWED = 16
DRAWN = 8
"""Of the inputs that give a program, one in `FOLLOWED` is used as commands use it, and of these one in `DRAWN` is drawn."""


@dataclass
class State:
    """What a run of any length has found so far."""

    next: int = 0
    seconds: float = 0.0
    """CPU time."""
    followed: int = 0
    drawn: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    """By kind of file: how many were shown, refused, or ended in a fault."""
    signatures: list[str] = field(default_factory=list)
    reached: list[str] = field(default_factory=list)
    """The blocks of opscope's code that ran."""
    faults: list[str] = field(default_factory=list)
    mended: list[str] = field(default_factory=list)
    """Faults whose files end in a sentence or a result by now."""


class Slow(Exception):
    """An input that takes too long."""


@contextmanager
def patience() -> Iterator[None]:
    def stop(_: int, __: FrameType | None) -> None:
        raise Slow(f"more than {SECONDS} s of CPU")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # CPU time: the machine may be busy with something else
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class Fuzzer:
    """Makes inputs one by one; everything that it knows is in its directory."""

    def __init__(self, directory: Path, chosen: list[str], seed: int = 1) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.seed = seed
        self.kinds = kinds(chosen)
        self.seeds = {kind: seeds(kind, directory) for kind in self.kinds}
        self.pool: dict[str, list[Path]] = {kind: [] for kind in self.kinds}
        self._scratch = TemporaryDirectory(dir=IN_MEMORY if IN_MEMORY.is_dir() else None)
        self._dump = Unpacked(Path(self._scratch.name, "dump"))
        self._file = directory / STATE
        self.state = State()
        if self._file.exists():
            self.state = State(**json.loads(self._file.read_text("utf-8")))
            for path in sorted((directory / "pool").glob("*")):
                if int(path.name.partition("-")[0]) < self.state.next:  # not from after the state was saved
                    self.pool.setdefault(path.stem.partition("-")[2], []).append(path)
        self._signatures = set(self.state.signatures)
        BLOCKS.resume(self.state.reached)

    def run(self, inputs: int) -> None:
        """Run so many more inputs. The state is saved from time to time, and when the run is interrupted."""
        try:
            with OneIsolate():
                for _ in range(inputs):
                    self.step()
                    if self.state.next % SAVED == 0:
                        self.save()
        finally:
            self.save()

    def step(self) -> None:
        started = time.process_time()
        number = self.state.next
        rng = random.Random(f"{self.seed} {number}")
        (kind,) = rng.choices(self.kinds, [WEIGHTS.get(kind, 1.0) for kind in self.kinds])
        origin = self._origin(kind, rng)
        structure = "opscope" if kind == RECORDING else origin.suffix.removeprefix(".")
        content = mutated(origin.read_bytes(), structure, rng)
        path = Path(self._scratch.name, f"input{origin.suffix}")
        path.write_bytes(content)
        reached = BLOCKS.count
        try:
            with patience():
                signature, is_new = self._outcome(path, kind, number, reached)
        except (MemoryError, RecursionError, Exception) as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            fault = f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}: {str(error)[:120]}"
            self.state.faults.append(f"{number} {kind}: {fault}")
            self._store("faults", number, kind, origin.suffix, content)
            signature, is_new = f"fault {fault}", False
        outcome = f"{kind} {signature.partition(' ')[0]}"
        self.state.outcomes[outcome] = self.state.outcomes.get(outcome, 0) + 1
        if is_new:
            self._signatures.add(f"{kind} {signature}")
            if sum(map(len, self.pool.values())) < LARGEST_POOL:
                self.pool[kind].append(self._store("pool", number, kind, origin.suffix, content))
        self.state.next += 1
        self.state.seconds += time.process_time() - started

    def retry(self) -> None:
        """Try the files of faults again: what was mended since does not count as a fault."""
        for path in sorted((self.directory / "faults").glob("*")):
            number = path.name.partition("-")[0].lstrip("0") or "0"
            try:
                with patience():
                    outcome = reading(path, self.directory / "reports", self._dump)
                    if outcome.contents is not None:
                        follow(path, outcome.contents, draw=True)
            except (MemoryError, RecursionError, Exception) as error:
                print(f"still a fault: {path.name}: {type(error).__name__}", flush=True)
                continue
            self.state.mended += [fault for fault in self.state.faults if fault.startswith(f"{number} ")]
            self.state.faults = [fault for fault in self.state.faults if not fault.startswith(f"{number} ")]

    def _origin(self, kind: str, rng: random.Random) -> Path:
        """What to damage: as often a real file as one of the pool. Small files, which are read faster, come more often."""
        files = self.seeds[kind] if rng.random() < 0.5 or not self.pool[kind] else self.pool[kind]
        return min((rng.choice(files) for _ in range(2)), key=lambda path: path.stat().st_size)

    def _outcome(self, path: Path, kind: str, number: int, reached: int) -> tuple[str, bool]:
        """The signature of an input's outcome, and whether the input is worth damaging further."""
        outcome = reading(path, self.directory / "reports", self._dump)
        is_new = BLOCKS.count > reached or f"{kind} {outcome.signature}" not in self._signatures
        self._signatures.add(f"{kind} {outcome.signature}")  # what follows may have another
        if outcome.contents is not None and (is_new or number % FOLLOWED == 0):
            draw = self.state.followed % DRAWN == 0
            self.state.followed += 1
            self.state.drawn += draw
            outcome = follow(path, outcome.contents, draw) or outcome
            is_new = is_new or BLOCKS.count > reached or f"{kind} {outcome.signature}" not in self._signatures
        return outcome.signature, is_new

    def _store(self, where: str, number: int, kind: str, suffix: str, content: bytes) -> Path:
        path = self.directory / where / f"{number:08}-{kind}{suffix}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        return path

    def save(self) -> None:
        self.state.signatures = sorted(self._signatures)
        self.state.reached = BLOCKS.ran()
        self._file.write_text(json.dumps(asdict(self.state), indent=1), "utf-8")


def work(directory: Path, chosen: list[str], seed: int, inputs: int) -> None:
    fuzzer = Fuzzer(directory, chosen, seed)
    fuzzer.retry()
    fuzzer.run(inputs)


def together(states: list[State]) -> State:
    """What all workers found: inputs differ by their seeds, so counts add up; what several reached counts once."""
    outcomes: Counter[str] = Counter()
    for state in states:
        outcomes.update(state.outcomes)
    return State(
        next=sum(state.next for state in states),
        seconds=sum(state.seconds for state in states),
        followed=sum(state.followed for state in states),
        drawn=sum(state.drawn for state in states),
        outcomes=dict(outcomes),
        signatures=sorted({each for state in states for each in state.signatures}),
        reached=sorted({each for state in states for each in state.reached}),
        faults=[each for state in states for each in state.faults],
        mended=[each for state in states for each in state.mended],
    )


def figures(state: State) -> list[Figure]:
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    shown = sum(count for name, count in state.outcomes.items() if name.endswith("shown"))
    enough = MANY if state.next >= MANY else IN_CI
    figures = [
        Figure("damaged files", state.next, at_least=enough, note=f"{len(state.signatures):,} different outcomes"),
        Figure("faults", len(state.faults), at_most=0, note=f"{len(state.mended)} found on the way and mended" if state.mended else ""),
        Figure("CPU time", state.seconds, "s"),
        Figure("still a graph", 100 * shown / max(1, state.next), "%"),
        Figure("through everything that follows", state.followed, note=f"{state.drawn:,} of them drawn"),
        Figure("branches reached", len(state.reached), note=f"of {len(BLOCKS):,} in the modules that were imported"),
        Figure("peak memory", peak, "MB", note="of the largest worker in the last run"),
    ]
    return figures if enough == MANY else [replace(figure, graph="make fuzz") for figure in figures]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=1, help="processes, each with a seed and a pool of its own")
    parser.add_argument("--seed", type=int, default=1, help="of the first worker; another one makes other inputs")
    parser.add_argument("--kinds", default="", help="only these, such as hlo,torch (default: all that are installed, without mlir)")
    parser.add_argument("--state", type=Path, default=HERE.parent / ".bench" / "fuzz")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    chosen = [kind for kind in options.kinds.split(",") if kind]
    workers = {seed: options.state / str(seed) for seed in range(options.seed, options.seed + options.workers)}
    forked = get_context("fork")  # the workers inherit the instrumented modules
    share = options.inputs // options.workers
    processes = [forked.Process(target=work, args=(each, chosen, seed, share)) for seed, each in workers.items()]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    if any(process.exitcode for process in processes):
        sys.exit("a worker ended early; run the command again to go on")
    state = together([State(**json.loads((each / STATE).read_text("utf-8"))) for each in workers.values()])
    print("\n".join(state.faults))
    print("\n".join(f"{count:8,}  {name}" for name, count in sorted(state.outcomes.items())))
    print(f"{state.next:,} inputs, {len(state.faults)} faults, {state.seconds:.0f} s of CPU, {len(state.reached):,} branches reached")
    if options.keep:
        keep("fuzz", figures(state))
    sys.exit(1 if state.faults else 0)


if __name__ == "__main__":
    main()
