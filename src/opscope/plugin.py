"""A row of data that stands for a module: readers, writers and dumps are listed, or refused with what to install, without an import."""

from __future__ import annotations

import shlex
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
    """Modules without which it cannot work."""
    package: str = ""
    """What pip installs to bring them: a package, or an extra such as "opscope[jax]"."""

    def load(self) -> ModuleType:
        return import_module(self.module)

    @property
    def missing(self) -> list[str]:
        """What it needs and is not installed."""
        return [name for name in self.needs if find_spec(name) is None]

    @property
    def install_hint(self) -> str:
        """How to install what is missing; nothing where no package has it."""
        return f"pip install {shlex.quote(self.package)}" if self.package else ""

    @property
    def refusal(self) -> str:
        """The sentence that says what is missing, if anything is."""
        hint = f": {self.install_hint}" if self.package else ""
        return f"{self.what} needs {', '.join(self.missing)}{hint}" if self.missing else ""


@cache
def outside_rows(group: str) -> tuple[Any, ...]:
    """Rows that other packages add through an entry-point group: each entry is a row, or several."""
    rows: list[Any] = []
    for entry in entry_points(group=group):
        try:
            loaded = entry.load()
            added = [loaded] if isinstance(loaded, Plugin) else list(loaded)
            if not all(isinstance(row, Plugin) for row in added):
                raise TypeError("it is not a row of a table, such as Reader(…)")
        except Exception as error:  # a broken plug-in must not take the others down
            print(f"opscope: plug-in {entry.name} ({group}) could not be loaded: {error}", file=sys.stderr)
            continue
        rows += added
    return tuple(rows)
