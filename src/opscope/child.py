"""How opscope starts another Python with a module of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

_SECONDS, _BYTES_PER_SECOND = 60, 1e5
_BUSY = 10
"""On a busy machine, time passes without work: it is CPU seconds that are limited, and time ten times as much."""
_OUT_OF_TIME = (-signal.SIGXCPU, -signal.SIGKILL) if hasattr(signal, "SIGXCPU") else ()
_MEMORY, _MEMORY_PER_BYTE = 2 << 30, 200
_MEMORY_PER_CORE = 16 << 20
"""Libraries start a thread for each of a machine's cores, and its stack counts in whole."""
_ADDRESSES = 8 << 30
"""More than memory: libraries reserve addresses for each of a machine's cores."""


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


def read_apart(command: list[str], size: int, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run a reader of a file of `size` bytes, which another project wrote, in a process of its own. What its `limited` stops, and what
    crashes, is a CalledProcessError; `fate` says which of both."""
    return subprocess.run(command, capture_output=True, timeout=_BUSY * _seconds(size), check=True, **options)


def limited(size: int) -> None:
    """Limit the time and memory of this process, which reads a file of `size` bytes."""
    with suppress(ImportError, AttributeError, ValueError, OSError):  # not every system has the limits
        import resource

        most = _MEMORY_PER_BYTE * size
        resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES + most, _ADDRESSES + most))
        memory = _MEMORY + _MEMORY_PER_CORE * (os.cpu_count() or 1) + most
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CPU, (_seconds(size), _seconds(size)))


def fate(error: subprocess.SubprocessError, size: int) -> str:
    """What became of a process that did not end well."""
    too_long = isinstance(error, subprocess.TimeoutExpired) or getattr(error, "returncode", 0) in _OUT_OF_TIME
    return f"took longer than {_seconds(size)} s" if too_long else "crashed"


def _seconds(size: int) -> int:
    return _SECONDS + int(size / _BYTES_PER_SECOND)
