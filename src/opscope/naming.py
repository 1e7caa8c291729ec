"""Which of several modules a name means, the same for every command."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from opscope.errors import OpscopeError

_MOST_LISTED = 12


def find_module(name: str, names: Sequence[str]) -> int:
    """The number of the module: the one of that name, or the only one whose name ends with it (XLA writes `module_0042.jit_step`)."""
    if name in names:
        return names.index(name)
    ending = [i for i, each in enumerate(names) if each.endswith(f".{name}")]
    if len(ending) == 1:
        return ending[0]
    if ending:
        raise OpscopeError(f"{len(ending)} modules are named {name!r}; choose one: {listed([names[i] for i in ending])}")
    close = [each for each in names if name in each] or get_close_matches(name, names, 3, 0.5)
    said = f"did you mean {listed(close)}?" if close and len(names) > _MOST_LISTED else f"there are: {listed(names)}"
    raise OpscopeError(f"no module named {name!r}; {said}")


def listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_LISTED]) + (", …" if len(names) > _MOST_LISTED else "")
