"""How opscope starts another Python with a module of its own."""

from __future__ import annotations

import os
import sys
from pathlib import Path


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
