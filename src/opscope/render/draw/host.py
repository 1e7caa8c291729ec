"""V8 inside this process, running the drawing core (`web/src/core`): no browser, no Node.js.

Every picture gets its own isolate (a few milliseconds), so threads never share one, and it is closed when the picture is done, because
an open isolate can hang the interpreter at exit. V8 does not survive a fork: a child of a process that has already used it has a fresh
interpreter do the work. So does a process whose address space is limited: V8 reserves more than such limits allow, and aborts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from opscope.child import child_environment, python_command
from opscope.errors import OpscopeError
from opscope.naming import suggest
from opscope.plugin import Progress, dependency
from opscope.terminal import say

Step: TypeAlias = tuple[str, Any]
"""A step of `web/src/core/api.ts` and its argument (any JSON value)."""

MEMORY_LIMIT = 1_400_000_000
"""Bytes of V8's heap. A picture that needs more is refused; without the limit, V8 would abort the process at about 1.5 GB."""

_BUNDLE = Path(__file__).parents[2] / "static" / "core.js"
_first_user: int | None = None
_starting = threading.Lock()


def run(wire: bytes, steps: Sequence[Step], progress: Progress | None = None) -> list[str]:
    """Pass the bytes to V8 and run the steps one by one, reporting progress before each. Returns the answers in order."""
    if _first_user not in (None, os.getpid()) or _limits_address_space():
        return _run_elsewhere(wire, steps)
    return _run_here(wire, steps, progress)


def _run_here(wire: bytes, steps: Sequence[Step], progress: Progress | None = None) -> list[str]:
    answers = []
    with _Isolate() as isolate:
        isolate.fill(wire)
        for number, (name, argument) in enumerate(steps):
            if progress:
                progress(number / len(steps))
            answers.append(isolate.call(name, argument))
    return answers


class _Isolate:
    """One V8 with the core loaded."""

    def __init__(self) -> None:
        global _first_user
        racer = dependency("py_mini_racer", "mini-racer", "pictures")
        bundle = _bundle()
        with _starting:
            _first_user = os.getpid()
            self._v8 = racer.MiniRacer()
        self._out_of_memory = racer.JSOOMException
        try:
            self._v8.set_hard_memory_limit(MEMORY_LIMIT)
            self._v8.eval(bundle)
        except BaseException:
            self._v8.close()
            raise

    def __enter__(self) -> _Isolate:
        return self

    def __exit__(self, *_: object) -> None:
        self._v8.close()

    def fill(self, wire: bytes) -> None:
        room: memoryview = self._v8.eval(f"opscopeCore.allocate({len(wire)})")
        room[:] = wire
        room.release()

    def call(self, step: str, argument: Any) -> str:
        try:
            answer: str = self._v8.call("opscopeCore.call", step, json.dumps(argument))
        except self._out_of_memory:
            raise OpscopeError(
                "the picture does not fit in memory; show less of the program: a depth of 1, one graph, or the neighbourhood of a node"
            ) from None
        if answer.startswith("*"):
            return "".join([self._v8.call("opscopeCore.nextPiece") for _ in range(int(answer[1:]))])
        if answer.startswith("-"):
            raise OpscopeError(answer[1:])
        if answer.startswith("?"):
            mistake = json.loads(answer[1:])
            raise OpscopeError(mistake["message"] + suggest(mistake["unknown"], mistake["choices"]))
        return answer[1:]


@lru_cache(maxsize=1)
def _bundle() -> str:
    try:
        return _BUNDLE.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise OpscopeError("the drawing core is not built; in a checkout, run: cd web && npm ci && node build.mjs") from None


def _run_elsewhere(wire: bytes, steps: Sequence[Step]) -> list[str]:
    """Run the steps in a fresh interpreter, because V8 would not run in this process."""
    request = json.dumps({"size": len(wire), "steps": steps}).encode() + b"\n" + wire
    command = python_command("opscope.render.draw.host")
    done = subprocess.run(command, input=request, capture_output=True, env=child_environment(), check=False)
    if done.returncode < 0 and _limits_address_space():
        raise OpscopeError("the drawing core does not start under the limit on virtual memory; lift it: ulimit -v unlimited")
    if done.returncode != 0:
        reason = done.stderr.decode(errors="replace").strip().splitlines()
        raise OpscopeError(reason[-1] if reason else f"the drawing process ended with status {done.returncode}")
    answers: list[str] = json.loads(done.stdout)
    return answers


def _limits_address_space() -> bool:
    """Whether `ulimit -v` is set."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return False
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def _serve_one() -> int:
    """Entry point of the fresh interpreter: one request from stdin, its answers to stdout."""
    request = json.loads(sys.stdin.buffer.readline())
    wire = sys.stdin.buffer.read(request["size"])
    try:
        answers = _run_here(wire, [(name, argument) for name, argument in request["steps"]])
    except OpscopeError as error:
        say(str(error), err=True)
        return 1
    sys.stdout.buffer.write(json.dumps(answers).encode())
    return 0


if __name__ == "__main__":
    sys.exit(_serve_one())
