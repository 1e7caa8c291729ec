"""Everything at once for minutes, killed and restarted at random: `make soak`, or

    python benchmarks/soak.py [--minutes 3] [--clients 50] [--seed 1] [--keep]

A server that watches a file and a growing recording, clients that ask it, an editor that replaces the file, a recorder, and exports over
the same picture. Server, recorder and exports are killed at random (SIGKILL, SIGTERM, SIGINT) and started again. Checked:

- no wrong answer: every program that a client gets is one that the file contained between request and answer, byte by byte;
- no loss: a recording contains every snapshot that its writer reported as written before it was killed, with the same nodes;
- whole files: the picture is at every moment one of those that an export of its own gives;
- no leaks: file handles and memory of a server that was not killed, and temporary files of processes that ended by themselves.

Exits with 1 if something was wrong. The seed decides what is killed when; the rest is up to the machine.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path

from results import Figure, keep
from training_graph import training_graph

import opscope
from opscope.analysis.enrich import enrich
from opscope.program import Program
from opscope.recording.sources import open_recording
from opscope.render.wire.program import encode_wire

VERSIONS = 4
"""Programs that take turns in the watched file."""
NODES = 400
MOST_HANDLES = 2
"""More file handles than after its first answer that an idle server may keep: files that it happens to read."""
MOST_GROWTH = 64e6
"""Bytes that a server may grow between its first thousand answers and its last."""

RECORD = """
import sys, opscope
programs = [opscope.load(path) for path in sys.argv[2:]]
with opscope.record(sys.argv[1], overwrite=True) as recorder:
    for number in range(1000000):
        recorder.snapshot(programs[number % len(programs)], f"pass {number}")
        print(number, flush=True)
"""


class Soak:
    """The state that all threads share: where things are, what was done, and what was wrong."""

    def __init__(self, directory: Path, seed: int, clients: int) -> None:
        self.directory = directory
        self.random = random.Random(seed)
        self.clients = clients
        self.done: Counter[str] = Counter()
        self.measured: dict[str, int] = {}
        self.faults: list[str] = []
        self.stopped = threading.Event()
        self.lock = threading.Lock()
        self.temporary = directory / "tmp"
        self.temporary.mkdir()
        self.environment = os.environ | {"TMPDIR": str(self.temporary), "XDG_CACHE_HOME": str(directory / "cache"), "HOME": str(directory)}
        self.programs = [training_graph(NODES + 40 * version) for version in range(VERSIONS)]
        self.versions = [directory / f"version{version}.json" for version in range(VERSIONS)]
        for program, path in zip(self.programs, self.versions, strict=True):
            opscope.save(program, path)
        self.wires = [encode_wire(enrich(opscope.load(path)), details=False) for path in self.versions]
        self.watched = directory / "watched.json"
        self.replaced: list[tuple[float, float, int]] = [(0.0, 0.0, 0)]
        """Between which moments the watched file got which version."""
        shutil.copy(self.versions[0], self.watched)

    def count(self, what: str) -> None:
        with self.lock:
            self.done[what] += 1

    def fault(self, sentence: str) -> None:
        with self.lock:
            self.faults.append(sentence)

    def pause(self, least: float, most: float) -> None:
        self.stopped.wait(self.random.uniform(least, most))

    def opscope(self, *arguments: str | Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "opscope", *map(str, arguments)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment)

    def check_rest(self, process: subprocess.Popen[str]) -> None:
        """A process that was not killed with SIGKILL leaves no temporary files."""
        places = [self.temporary, self.directory]
        rest = sorted(path.name for place in places for path in place.iterdir() if f"{process.pid}-" in path.name)
        if rest:
            self.fault(f"left behind: {', '.join(rest)}")

    def repeat(self, action: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            while not self.stopped.is_set():
                try:
                    action()
                except Exception as error:
                    self.fault(f"{action.__qualname__}: {type(error).__name__}: {error}")
                    self.stopped.set()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread


class Server:
    """`opscope view --watch`, started again whenever it ends, and asked by the clients."""

    def __init__(self, soak: Soak) -> None:
        self.soak = soak
        self.address = ""
        self.is_ending = False
        self.process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        process = self.soak.opscope("view", self.soak.watched, "--watch", "--no-browser")
        assert process.stdout is not None
        self.address = process.stdout.readline().strip()
        if not self.address:
            assert process.stderr is not None
            self.soak.fault(f"the server did not start: {process.stderr.read().strip()}")
            self.soak.stopped.set()
        self.soak.count("servers started")
        return process

    def end(self) -> None:
        """Let it serve for a while, end it in one of three ways, and start another."""
        self.soak.pause(8, 20)
        if self.soak.stopped.is_set():
            return
        how = self.soak.random.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
        self.is_ending = True
        self.process.send_signal(how)
        self.process.communicate()
        self.soak.count(f"servers ended with {how.name}")
        if how != signal.SIGKILL:
            self.soak.check_rest(self.process)
        self.process = self._start()
        self.is_ending = False

    def ask(self) -> None:
        """One client: the page, then its program, which must be what the file contained in between."""
        process, address = self.process, self.address
        before = time.monotonic()
        try:
            with urllib.request.urlopen(address, timeout=60) as answer:
                page = answer.read()
            with urllib.request.urlopen(address + "wire/0", timeout=60) as answer:
                body = answer.read()
        except (OSError, HTTPException) as error:  # half an answer is not an OSError
            if isinstance(error, urllib.error.HTTPError):  # an answer may be cut by a kill, but it is never an error
                self.soak.fault(f"{error.url.rpartition('/')[2] or 'page'}: {error}")
            elif process is self.process and not self.is_ending and not self.soak.stopped.is_set():
                self.soak.fault(f"a server that nobody ended did not answer: {error!r}")
            self.soak.count("requests cut by a kill")
            self.soak.stopped.wait(0.5)
            return
        if b"</html>" not in page:
            self.soak.fault("half a page was answered")
        wire = gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
        after = time.monotonic()
        current = self.current(before, after)
        if wire not in [self.soak.wires[version] for version in current]:
            content = self.soak.wires.index(wire) if wire in self.soak.wires else "a program that the file never contained"
            self.soak.fault(f"wrong answer: {content}, where the file contained {sorted(current)}")
        self.soak.count("programs answered and compared")

    def current(self, before: float, after: float) -> set[int]:
        """The versions that the file may have had between two moments."""
        replaced = list(self.soak.replaced)
        gone = [done for _, done, _ in replaced[1:]] + [after]
        return {version for (begun, _, version), end in zip(replaced, gone, strict=True) if begun <= after and end >= before}

    def size(self) -> tuple[int, int]:
        """File handles and bytes of memory."""
        home = Path(f"/proc/{self.process.pid}")
        resident = next(line for line in (home / "status").read_text().splitlines() if line.startswith("VmRSS"))
        return len(os.listdir(home / "fd")), int(resident.split()[1]) * 1024


def edit(soak: Soak) -> None:
    """Replace the watched file."""
    soak.pause(0.5, 3)
    version = soak.random.randrange(VERSIONS)
    draft = soak.directory / "draft.json"
    shutil.copy(soak.versions[version], draft)
    begun = time.monotonic()
    soak.replaced.append((begun, float("inf"), version))
    os.replace(draft, soak.watched)
    soak.replaced[-1] = (begun, time.monotonic(), version)
    soak.count("replacements of the watched file")


def record(soak: Soak) -> None:
    """Record until killed, then read everything that was reported as written."""
    path = soak.directory / "run.opscope"
    command = [sys.executable, "-c", RECORD, str(path), *map(str, soak.versions)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=soak.environment)
    assert process.stdout is not None
    process.stdout.readline()
    soak.pause(0.5, 4)
    process.kill()
    reported = 1 + len(process.stdout.read().splitlines())
    process.wait()
    recording = open_recording(path)
    if len(recording) < reported - 1:  # the last line may have been written to the pipe in part
        soak.fault(f"{reported} snapshots were reported, the recording has {len(recording)}")
    for number, snapshot in enumerate(recording):
        if not same(snapshot.program, soak.programs[number % VERSIONS]):
            soak.fault(f"snapshot {number} of a killed recording is another program")
    soak.count("recorders killed")
    with soak.lock:
        soak.done["snapshots read again"] += len(recording)


def same(a: Program, b: Program) -> bool:
    return [[(node.id, node.op, node.inputs) for node in graph] for graph in a] == [
        [(node.id, node.op, node.inputs) for node in graph] for graph in b
    ]


class Exports:
    """Exports over one picture, some of them killed. The expected pictures are exported before anything else runs."""

    def __init__(self, soak: Soak) -> None:
        self.soak = soak
        self.target = soak.directory / "picture.svg"
        self.pictures = []
        for path in soak.versions:
            process = soak.opscope("export", path, "-o", self.target, "--force")
            _, message = process.communicate()
            if process.returncode:
                raise SystemExit(message)
            self.pictures.append(self.target.read_bytes())

    def export(self) -> None:
        soak = self.soak
        process = soak.opscope("export", soak.random.choice(soak.versions), "-o", self.target, "--force")
        how = soak.random.choice([None, None, signal.SIGKILL, signal.SIGINT])
        if how:
            time.sleep(soak.random.uniform(0, 2.5))
            process.send_signal(how)
        process.communicate()
        soak.count("exports killed" if process.returncode else "exports finished")
        if how != signal.SIGKILL:
            soak.check_rest(process)
        if process.returncode and how is None:
            soak.fault(f"an export that nobody killed ended with {process.returncode}")
        if self.target.read_bytes() not in self.pictures:
            soak.fault("the picture is not one that an export gives")


def calm(soak: Soak, server: Server, seconds: float) -> None:
    """Ask one server that nobody kills. Its file handles come back, and its memory does not grow."""
    server.ask()  # the address is printed before the event loop opens its handles
    handles, _ = server.size()
    clients = threading.Event()

    def ask() -> None:
        while not clients.is_set() and not soak.stopped.is_set():
            server.ask()

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(soak.clients)]
    for thread in threads:
        thread.start()
    soak.stopped.wait(seconds / 3)
    _, early = server.size()
    soak.stopped.wait(2 * seconds / 3)
    clients.set()
    for thread in threads:
        thread.join()
    deadline = time.monotonic() + 30
    while server.size()[0] > handles + MOST_HANDLES and time.monotonic() < deadline:
        time.sleep(0.2)
    after, late = server.size()
    soak.measured["file handles of the server, idle, before"] = handles
    soak.measured["file handles of the server, idle, after"] = after
    soak.measured["memory of the server, early"] = early
    soak.measured["memory of the server, late"] = late
    if after > handles + MOST_HANDLES:
        soak.fault(f"the server had {handles} file handles before its clients came and {after} after they left")
    if late > early + MOST_GROWTH:
        soak.fault(f"the server grew from {early / 1e6:.0f} to {late / 1e6:.0f} MB")


def run(soak: Soak, minutes: float) -> None:
    exports = Exports(soak)
    server = Server(soak)
    editor = soak.repeat(lambda: edit(soak))
    calm(soak, server, 20 * minutes)
    threads = [soak.repeat(server.ask) for _ in range(soak.clients)]
    threads += [soak.repeat(action) for action in (server.end, lambda: record(soak), exports.export)]
    soak.stopped.wait(40 * minutes)
    soak.stopped.set()
    for thread in [editor, *threads]:
        thread.join()
    server.process.terminate()
    server.process.communicate()
    soak.check_rest(server.process)


def figures(soak: Soak, seconds: float) -> list[Figure]:
    graph = f"{soak.clients} clients"
    counts = [Figure(what, count, graph=graph) for what, count in sorted(soak.done.items())]
    sizes = [
        Figure(what, size / 1e6, "MB", graph) if what.startswith("memory") else Figure(what, size, graph=graph)
        for what, size in soak.measured.items()
    ]
    return [*counts, *sizes, Figure("time", seconds, "s", graph), Figure("faults", len(soak.faults), graph=graph, at_most=0)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=3)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="append the figures to benchmarks/results/soak.jsonl")
    arguments = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        soak = Soak(Path(directory), arguments.seed, arguments.clients)
        run(soak, arguments.minutes)
    seconds = time.monotonic() - started
    print(f"{seconds:.0f} s with {arguments.clients} clients, seed {arguments.seed}")
    for what, count in sorted(soak.done.items()):
        print(f"{count:9,}  {what}")
    for what, size in soak.measured.items():
        print(f"{size / 1e6:7.0f} MB  {what}" if what.startswith("memory") else f"{size:9,}  {what}")
    for sentence, count in Counter(soak.faults).most_common():
        print(f"FAULT {count} times: {sentence}")
    print(f"{len(soak.faults)} faults")
    if arguments.keep:
        keep("soak", figures(soak, seconds))
    return 1 if soak.faults else 0


if __name__ == "__main__":
    sys.exit(main())
