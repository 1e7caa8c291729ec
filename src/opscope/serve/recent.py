"""The files that this user opened last, so that the home page can offer them again.

The list is in the user's state directory, and nobody else can read it. `OPSCOPE_STATE` names another directory; `off` keeps no list.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from opscope.serve.private_state import read_private, write_private

MOST = 20


def recent_paths() -> list[Path]:
    """What was opened, the latest first, as far as it still exists."""
    return [path for path in _listed() if path.exists()]


def remember(path: Path) -> None:
    """Put a file or directory at the beginning of the list."""
    target = _file()
    if target is None:
        return
    path = Path(os.path.abspath(path))
    paths = [path, *(each for each in _listed() if each != path)]
    write_private(target, json.dumps({"opened": [str(each) for each in paths[:MOST]]}))


def forget_all() -> None:
    target = _file()
    if target is not None:
        target.unlink(missing_ok=True)


def _listed() -> list[Path]:
    target = _file()
    try:
        opened = json.loads(read_private(target))["opened"] if target else []
    except (ValueError, KeyError, TypeError, RecursionError):
        return []
    texts = [each for each in opened if isinstance(each, str)] if isinstance(opened, list) else []
    return [Path(text) for text in texts if "\0" not in text and os.path.isabs(text)][:MOST]


def _file() -> Path | None:
    setting = os.environ.get("OPSCOPE_STATE", "")
    if setting == "off":
        return None
    try:
        return Path(setting or _user_state() / "opscope", "recent.json")
    except RuntimeError:  # no home directory
        return None


def _user_state() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    home = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_STATE_HOME")
    return Path(home) if home else Path.home() / ".local" / "state"
