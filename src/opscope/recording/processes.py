"""Runs work on all cores, in separate processes.

The processes are plain Python children (`child.py`) that read questions and answer with bytes. Nothing of the caller is forked or imported
again, so this works in a notebook, in a script without a main guard, and next to the threads of any framework.
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

from opscope.child import child_environment, python_command
from opscope.errors import OpscopeError, error_line

_LENGTH = struct.Struct("<Q")


def cores() -> int:
    """How many processes can run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def answers_in_order(module: str, questions: list[str], jobs: int = 0) -> Iterator[bytes | str]:
    """The answers of children that run `module`, in order: bytes, or an error message.

    At most two questions per process are in flight, so that memory does not grow with their number.
    """
    jobs = min(jobs or cores(), len(questions))
    local = threading.local()
    children: list[subprocess.Popen[bytes]] = []

    def ask(question: str) -> bytes | str:
        child = getattr(local, "child", None)
        if child is None:
            child = local.child = _start(module)
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
    return subprocess.Popen(python_command(module), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=child_environment())


def _ask(child: subprocess.Popen[bytes], question: str) -> bytes | str:
    assert child.stdin is not None and child.stdout is not None
    try:
        child.stdin.write(question.encode("utf-8", "surrogateescape") + b"\0")
        child.stdin.flush()
    except BrokenPipeError:
        pass
    head = child.stdout.read(1 + _LENGTH.size)
    if len(head) < 1 + _LENGTH.size:
        return "its process died, perhaps because it ran out of memory"
    data = child.stdout.read(_LENGTH.unpack(head[1:])[0])
    return data if head[:1] == b"+" else data.decode("utf-8", "replace")


def serve(answer: Callable[[str], bytes]) -> None:
    """The loop of a child: reads questions that end with NUL, and writes "+" with the answer or "-" with an error message."""
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    question = b""
    while byte := questions.read(1):
        if byte != b"\0":
            question += byte
            continue
        try:
            sign, data = b"+", answer(question.decode("utf-8", "surrogateescape"))
        except (OpscopeError, OSError) as error:
            sign, data = b"-", str(error).encode("utf-8", "replace")
        except Exception as error:  # Python would print a traceback with the names of the file as they are
            sign, data = b"-", error_line(error).encode("utf-8", "replace")
        answers.write(sign + _LENGTH.pack(len(data)) + data)
        answers.flush()
        question = b""
