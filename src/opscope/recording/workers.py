"""Reading many HLO texts at once, in processes of our own.

The processes are plain `python -m` children that get file names and answer with packed programs. So nothing of the caller's is
forked or imported again: it works under a notebook, from a script without a main guard, and beside any framework's threads.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from opscope.errors import OpscopeError
from opscope.recording.packed import Packed, pack, unpack

_SMALL = 3 << 20
"""Below this many bytes starting processes costs more than it saves."""
_LENGTH = struct.Struct("<Q")


def packed_in_order(paths: list[Path], progress: Callable[[float], None] | None, jobs: int = 0) -> Iterator[Packed | str]:
    """Each file as a packed program, or the sentence why it could not be read; in the order of the files."""
    sizes = [path.stat().st_size for path in paths]
    total = sum(sizes) or 1
    done = 0
    results = _alone(paths) if jobs == 1 or total < _SMALL else _together(paths, jobs or os.cpu_count() or 1)
    for size, result in zip(sizes, results, strict=True):
        done += size
        if progress:
            progress(done / total)
        yield result


def read_packed(path: Path) -> bytes:
    from opscope.readers.hlo import parse_hlo
    from opscope.readers.source import Source

    programs = parse_hlo(Source(path).read_text())
    if len(programs) != 1:
        raise OpscopeError(f"{len(programs)} modules in it instead of one")
    return pack(programs[0])


def _alone(paths: list[Path]) -> Iterator[Packed | str]:
    for path in paths:
        try:
            yield unpack(read_packed(path))
        except (OpscopeError, OSError) as error:
            yield str(error)


def _together(paths: list[Path], jobs: int) -> Iterator[Packed | str]:
    """At most two files per process are on their way or waiting to be taken: memory does not grow with the folder."""
    own = threading.local()
    children: list[subprocess.Popen[bytes]] = []

    def read(path: Path) -> Packed | str:
        child = getattr(own, "child", None)
        if child is None:
            child = own.child = _start()
            children.append(child)
        return _ask(child, path)

    waiting: deque[Future[Packed | str]] = deque()
    pool = ThreadPoolExecutor(max_workers=min(jobs, len(paths)))
    try:
        for path in paths:
            if len(waiting) >= 2 * jobs:
                yield waiting.popleft().result()
            waiting.append(pool.submit(read, path))
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        for child in children:
            assert child.stdin is not None and child.stdout is not None
            child.stdin.close()
            child.stdout.close()
            child.wait()


def _start() -> subprocess.Popen[bytes]:
    package = str(Path(__file__).resolve().parents[2])
    inherited = os.environ.get("PYTHONPATH")
    environment = {**os.environ, "PYTHONPATH": f"{package}{os.pathsep}{inherited}" if inherited else package}
    command = [sys.executable, "-m", "opscope.recording.workers"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)


def _ask(child: subprocess.Popen[bytes], path: Path) -> Packed | str:
    assert child.stdin is not None and child.stdout is not None
    try:
        child.stdin.write(str(path.resolve()).encode("utf-8", "surrogateescape") + b"\0")
        child.stdin.flush()
    except BrokenPipeError:
        pass
    head = child.stdout.read(1 + _LENGTH.size)
    if len(head) < 1 + _LENGTH.size:
        return "the process that read it died (out of memory?)"
    data = child.stdout.read(_LENGTH.unpack(head[1:])[0])
    return unpack(data) if head[:1] == b"+" else data.decode("utf-8", "replace")


def _serve() -> None:
    """A child: file names in, ended by NUL; "+" with a packed program or "-" with a sentence out."""
    asked, out = sys.stdin.buffer, sys.stdout.buffer
    name = b""
    while byte := asked.read(1):
        if byte != b"\0":
            name += byte
            continue
        try:
            sign, data = b"+", read_packed(Path(name.decode("utf-8", "surrogateescape")))
        except (OpscopeError, OSError) as error:
            sign, data = b"-", str(error).encode()
        out.write(sign + _LENGTH.pack(len(data)) + data)
        out.flush()
        name = b""


if __name__ == "__main__":
    _serve()
