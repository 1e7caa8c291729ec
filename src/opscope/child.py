"""How opscope starts another Python with a module of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from opscope.errors import InternalError, SourceError, internal_error
from opscope.quantities import short_bytes

_SECONDS, _BYTES_PER_SECOND = 60, 1e5
_BUSY = 10
"""On a busy machine, time passes without work: it is CPU seconds that are limited, and time ten times as much."""
_OUT_OF_TIME = (-signal.SIGXCPU, -signal.SIGKILL) if hasattr(signal, "SIGXCPU") else ()
_MEMORY, _MEMORY_PER_BYTE = 2 << 30, 200
_MEMORY_PER_CORE = 16 << 20
"""Libraries start a thread for each of a machine's cores, and its stack counts in whole."""
_ADDRESSES = 8 << 30
"""More than memory: libraries reserve addresses for each of a machine's cores."""
_NO_MEMORY = 12
"""The exit status of a reader whose memory does not suffice."""


def python_command(module: str, *arguments: str) -> list[str]:
    """The command that runs a module.

    Python would put the current directory in front of its path, and a `json.py` of a stranger, unpacked next to the file that is opened,
    would run: `-P` leaves the directory out.
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def child_environment(paths: list[str] | None = None) -> dict[str, str]:
    """The environment in which a child imports this same package, even from a path that only this process has. With `paths`, it imports
    from these and not from where `PYTHONPATH` says. An empty path would mean the current directory, too."""
    if paths is None:
        paths = [str(Path(__file__).resolve().parents[1]), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def read_apart(module: str, size: int, *arguments: str, input: bytes = b"") -> bytes:
    """What a module's `answer_apart` answers, which reads a file of `size` bytes with another project's library. Raises the errors of the
    file and of opscope as they were; what a limit stops, and what crashes, is a SubprocessError, and `fate` says which."""
    command, environment = python_command(module, *arguments), child_environment(sys.path)
    done = subprocess.run(command, input=input, capture_output=True, timeout=_BUSY * _seconds(size), check=True, env=environment)
    sign, answer = done.stdout[:1], done.stdout[1:]
    if sign == b"-":
        raise SourceError(**json.loads(answer))
    if sign == b"?":
        raise InternalError(**json.loads(answer))
    return answer


def answer_apart(read: Callable[[], bytes], size: int) -> None:
    """The other end of `read_apart`: reads within limits, and writes the answer."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # libraries print, too
    _limit(size)
    try:
        answers.write(answered(read))
    except MemoryError:
        os._exit(_NO_MEMORY)
    answers.close()


def answered(read: Callable[[], bytes]) -> bytes:
    """ "+" with what was read, "-" with an error of the file, or "?" with one of opscope."""
    try:
        return b"+" + read()
    except MemoryError:
        raise
    except SourceError as error:
        return b"-" + json.dumps({"message": error.message, "line": error.line, "column": error.column}).encode()
    except Exception as error:
        return b"?" + json.dumps({"what": internal_error(error), "where": traceback.format_exc()}).encode()


def _limit(size: int) -> None:
    """Limit the time and memory of this process, which reads a file of `size` bytes."""
    with suppress(ImportError, AttributeError, ValueError, OSError):  # not every system has the limits
        import resource

        addresses = _ADDRESSES + _MEMORY_PER_BYTE * size
        resource.setrlimit(resource.RLIMIT_AS, (addresses, addresses))
        resource.setrlimit(resource.RLIMIT_DATA, (_memory(size), _memory(size)))
        resource.setrlimit(resource.RLIMIT_CPU, (_seconds(size), _seconds(size)))


def fate(error: subprocess.SubprocessError, size: int) -> str:
    """What became of a process that did not end well."""
    status = getattr(error, "returncode", 0)
    if isinstance(error, subprocess.TimeoutExpired) or status in _OUT_OF_TIME:
        return f"took longer than {_seconds(size)} s"
    return f"took more than {short_bytes(_memory(size))} of memory" if status == _NO_MEMORY else "crashed"


def _memory(size: int) -> int:
    return _MEMORY + _MEMORY_PER_CORE * (os.cpu_count() or 1) + _MEMORY_PER_BYTE * size


def _seconds(size: int) -> int:
    return _SECONDS + int(size / _BYTES_PER_SECOND)
