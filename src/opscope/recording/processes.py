"""Work for all cores, in processes of our own.

The processes are plain `python -m MODULE` children that get questions and answer with bytes. So nothing of the caller's is forked or
imported again: it works under a notebook, from a script without a main guard, and beside any framework's threads.
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

_LENGTH = struct.Struct("<Q")


def cores() -> int:
    """How many processes may run at once here."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def answers_in_order(module: str, questions: list[str], jobs: int = 0) -> Iterator[bytes | str]:
    """What children running `module` answer: bytes, or the sentence why not.

    At most two questions per process are on their way or waiting to be taken: memory does not grow with their number.
    """
    jobs = min(jobs or cores(), len(questions))
    own = threading.local()
    children: list[subprocess.Popen[bytes]] = []

    def ask(question: str) -> bytes | str:
        child = getattr(own, "child", None)
        if child is None:
            child = own.child = _start(module)
            children.append(child)
        return _ask(child, question)

    waiting: deque[Future[bytes | str]] = deque()
    pool = ThreadPoolExecutor(max_workers=max(1, jobs))
    try:
        for question in questions:
            if len(waiting) >= 2 * jobs:
                yield waiting.popleft().result()
            waiting.append(pool.submit(ask, question))
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        for child in children:
            assert child.stdin is not None and child.stdout is not None
            child.stdin.close()
            child.stdout.close()
            child.wait()


def _start(module: str) -> subprocess.Popen[bytes]:
    package = str(Path(__file__).resolve().parents[2])
    inherited = os.environ.get("PYTHONPATH")
    environment = {**os.environ, "PYTHONPATH": f"{package}{os.pathsep}{inherited}" if inherited else package}
    return subprocess.Popen([sys.executable, "-m", module], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)


def _ask(child: subprocess.Popen[bytes], question: str) -> bytes | str:
    assert child.stdin is not None and child.stdout is not None
    try:
        child.stdin.write(question.encode("utf-8", "surrogateescape") + b"\0")
        child.stdin.flush()
    except BrokenPipeError:
        pass
    head = child.stdout.read(1 + _LENGTH.size)
    if len(head) < 1 + _LENGTH.size:
        return "the process that worked on it died (out of memory?)"
    data = child.stdout.read(_LENGTH.unpack(head[1:])[0])
    return data if head[:1] == b"+" else data.decode("utf-8", "replace")


def serve(answer: Callable[[str], bytes]) -> None:
    """A child: questions in, ended by NUL; "+" with the answer or "-" with a sentence out."""
    asked, out = sys.stdin.buffer, sys.stdout.buffer
    question = b""
    while byte := asked.read(1):
        if byte != b"\0":
            question += byte
            continue
        try:
            sign, data = b"+", answer(question.decode("utf-8", "surrogateescape"))
        except (OpscopeError, OSError) as error:
            sign, data = b"-", str(error).encode()
        out.write(sign + _LENGTH.pack(len(data)) + data)
        out.flush()
        question = b""
