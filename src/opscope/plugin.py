"""A row of data that describes a module, so that readers, writers and dumps can be listed, or refused with an install hint, unimported."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, ClassVar, TypeAlias

from opscope.ellipsis import ellipsize
from opscope.errors import OpscopeError
from opscope.terminal import say

Progress: TypeAlias = Callable[[float], None]
"""Called from time to time with the fraction done, 0 to 1."""


@dataclass(frozen=True)
class Plugin:
    """What is known about a reader or writer before its module is loaded."""

    name: str
    module: str
    what: str
    suffixes: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    """Modules that it needs."""
    package: str = ""
    """What to pip install to get them: a package, or an extra such as "opscope[jax]"."""
    group: ClassVar[str] = ""
    """The entry-point group through which other packages can add rows; empty if they cannot."""

    def load(self) -> ModuleType:
        return import_module(self.module)

    @property
    def missing(self) -> list[str]:
        """Needed modules that are not installed."""
        return [name for name in self.needs if find_spec(name) is None]

    @property
    def install_hint(self) -> str:
        """How to install what is missing; empty if no package has it."""
        return f"pip install {shlex.quote(self.package)}" if self.package else ""

    @property
    def refusal(self) -> str:
        """A message about what is missing; empty if nothing is."""
        hint = f": {self.install_hint}" if self.package else ""
        return f"{self.what} needs {', '.join(self.missing)}{hint}" if self.missing else ""


@cache
def outside_rows(group: str) -> tuple[Any, ...]:
    """Rows that other packages add through an entry-point group; each entry is a row or a list of rows."""
    from importlib.metadata import entry_points

    rows: list[Any] = []
    for entry in entry_points(group=group):
        try:
            loaded = entry.load()
            added = loaded if isinstance(loaded, list | tuple) else [loaded]
            for row in added:
                _check_row(row, group)
        except Exception as error:  # a broken plug-in must not disable the others
            say(f"opscope: plug-in {entry.name} ({group}) could not be loaded: {error}", err=True)
            continue
        rows += added
    return tuple(rows)


def _check_row(row: Any, group: str) -> None:
    """Report a broken row now rather than when something is read."""
    if not isinstance(row, Plugin) or row.group != group:
        text = ellipsize(repr(row), 60)
        raise TypeError(f"{text} is a {type(row).__name__}, but opscope.readers takes Reader(…) and opscope.dumps takes Dump(…)")
    for field in fields(row):
        value, several = getattr(row, field.name), isinstance(field.default, tuple)
        if isinstance(field.default, str | bytes | tuple) and not isinstance(value, type(field.default)):
            hint = f"; write ({value!r},)" if several and isinstance(value, str) else ""
            raise TypeError(f"{field.name} of {row.name!r} is a {type(value).__name__}, not a {type(field.default).__name__}{hint}")


def dependency(module: str, package: str, what: str) -> Any:
    """A module of a package that opscope depends on. If it has been removed, the error names the package."""
    try:
        return import_module(module)
    except ImportError:
        raise OpscopeError(f"{what} need the package {package}, which is installed with opscope: pip install {package}") from None
