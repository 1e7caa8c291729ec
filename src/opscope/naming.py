"""Names that users type: which module or part they mean, and what they probably meant if nothing has that name."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import NamedTuple, ParamSpec, TypeVar

from opscope.errors import OpscopeError

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_MOST_LISTED = 12
_MOST_COMPARED = 20_000
"""Comparing a name with a hundred thousand others takes seconds."""
_MOST_SUGGESTED = 3
_SHORTEST_PART = 3
"""Shorter parts occur in too many names."""


class UnusedNames:
    """Names that are unique: `add`, `add#2`, `add#3`. What was counted once is not counted again: all nodes may have one name."""

    def __init__(self, separator: str = "#", second: int = 2) -> None:
        self.used: set[str] = set()
        self._separator = separator
        self._second = second
        self._next: dict[str, int] = {}

    def of(self, name: str, others: Container[str] = ()) -> str:
        """The name, or the next that is neither used nor one of the others."""
        new, number = name, self._next.get(name, self._second)
        while new in self.used or new in others:
            new, number = f"{name}{self._separator}{number}", number + 1
        self._next[name] = number
        self.used.add(new)
        return new


class Part(NamedTuple):
    """What to take of a source: a stage of the model that a `module:callable` names, and one of its modules."""

    stage: str | None = None
    inside: str | None = None


WHOLE_SOURCE = Part()


def find_module(name: str, names: Sequence[str]) -> int:
    """The index of the module with this name, or of the only one whose name ends with it (XLA writes `module_0042.jit_step`)."""
    if name in names:
        return names.index(name)
    ending = [i for i, candidate in enumerate(names) if candidate.endswith(f".{name}")]
    if len(ending) == 1:
        return ending[0]
    if ending:
        raise OpscopeError(f"{len(ending)} modules are named {name!r}; choose one: {listed([names[i] for i in ending])}")
    few = len(names) <= _MOST_LISTED
    raise OpscopeError(f"no module named {name!r}" + (f"; there are: {listed(names)}" if few else suggest(name, names)))


def closest(name: str, names: Iterable[str]) -> list[str]:
    """The few names that were probably meant: those that contain the name or are contained in it, then those that differ from it only in
    their number (dot.10 for dot.9999), then similar ones."""
    from difflib import get_close_matches

    candidates = list(names)
    key = name.lower()
    alike = (candidate for candidate in candidates if _contains(candidate.lower(), key) or _contains(key, candidate.lower()))
    close = list(islice(alike, _MOST_SUGGESTED))
    if len(close) < _MOST_SUGGESTED:
        close += get_close_matches(name, _of_stem(_stem(key), candidates)[:_MOST_COMPARED], _MOST_SUGGESTED, cutoff=0)
        close += get_close_matches(name, candidates[:_MOST_COMPARED], _MOST_SUGGESTED)
    return list(dict.fromkeys(close))[:_MOST_SUGGESTED]


def _stem(name: str) -> str:
    """`dot` of `dot.10`; empty for a name without a number."""
    stem, _, number = name.rpartition(".")
    return stem if number.isdigit() else ""


def _of_stem(stem: str, names: Sequence[str]) -> list[str]:
    """The names with this stem, or else those that contain it: a graph without a `dot.10` may have a `dot_general.10`."""
    if not stem:
        return []
    return [name for name in names if _stem(name.lower()) == stem] or [name for name in names if _contains(name.lower(), stem)]


def _contains(text: str, part: str) -> bool:
    return len(part) >= _SHORTEST_PART and part in text


def suggest(name: str, names: Iterable[str], otherwise: str | None = None, spelled: Callable[[str], str] = repr) -> str:
    """The end of a one-line error about an unknown name: "; did you mean 'dot.10' or 'dot.11'?".

    If no name is close, it is `otherwise`, or by default the first few names.
    """
    candidates = list(names)
    close = closest(name, candidates)
    if close:
        return f"; did you mean {' or '.join(map(spelled, close))}?"
    return f"; there are: {listed(candidates)}" if otherwise is None else otherwise


def suggest_file(path: Path) -> str:
    """The end of an error about a missing file, with the closest names in its directory; empty if there are none."""
    try:
        names = sorted(file.name for file in path.parent.iterdir())
    except OSError:
        return ""
    return suggest(path.name, names, otherwise="")


def listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_LISTED]) + (", …" if len(names) > _MOST_LISTED else "")


def refuse_unknown(function: str, keywords: Iterable[str], names: Sequence[str]) -> None:
    """Raise an error for an unknown keyword argument, with the one that was probably meant."""
    for name in keywords:
        if name not in names:
            raise TypeError(f"{function} has no option {name!r}{suggest(name, names)}")


def checks_keywords(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Make a public function report a misspelled keyword with the nearest name."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @wraps(function)
    def checked(*args: Parameters.args, **keywords: Parameters.kwargs) -> Result:
        refuse_unknown(f"{function.__name__}()", keywords, names)
        return function(*args, **keywords)

    return checked
