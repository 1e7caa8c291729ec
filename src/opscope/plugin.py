"""A module that a row of data stands for: readers and writers are listed, and refused with what to install, without being imported.

Packages outside bring rows of their own through entry points.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from types import ModuleType
from typing import Any, TypeAlias

Progress: TypeAlias = Callable[[float], None]
"""Called now and then with the part that is done, 0…1."""


@dataclass(frozen=True)
class Plugin:
    """What is known of a reader or writer before its module is loaded."""

    name: str
    module: str
    what: str
    suffixes: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    """Modules that must be installed before it can work."""
    extra: str = ""
    """The extra of opscope that installs them."""

    def load(self) -> ModuleType:
        return import_module(self.module)

    @property
    def missing(self) -> list[str]:
        """What it needs and is not installed."""
        return [name for name in self.needs if find_spec(name) is None]

    @property
    def install_hint(self) -> str:
        return f"pip install 'opscope[{self.extra}]'" if self.extra else f"pip install {' '.join(self.missing)}"


@cache
def outside_rows(group: str) -> tuple[Any, ...]:
    """Rows that other packages register in a group of entry points, each as one row or several."""
    rows: list[Any] = []
    for entry in entry_points(group=group):
        try:
            loaded = entry.load()
        except Exception as error:  # a broken plug-in must not take the others down
            print(f"opscope: plug-in {entry.name} could not be loaded: {error}", file=sys.stderr)
            continue
        rows.extend(loaded if isinstance(loaded, (list, tuple)) else [loaded])
    return tuple(rows)
