"""Which nodes a pass made out of which, told by the compiler while it happens.

Nodes are followed as objects: a name may be given to another node in the middle of a pass, an object never is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import CodeType
from typing import Any, NamedTuple

from opscope.program import Frame, NodeKey
from opscope.recording.model import Origin

Keys = Mapping[Any, NodeKey]
"""From fx nodes to where they stand in a program."""


class Rule(NamedTuple):
    """What made a change: the name of a pattern or pass, and where it is written."""

    name: str
    where: Frame | None = None


class _Event(NamedTuple):
    old: tuple[Any, ...]
    rule: Rule


class Rewrites:
    """Everything rewritten since the last snapshot of one graph. Later rewrites may take what earlier ones made."""

    def __init__(self) -> None:
        self._events: list[_Event] = []
        self._made_by: dict[Any, int] = {}

    def add(self, old: Iterable[Any], new: Iterable[Any], rule: Rule) -> None:
        self._events.append(_Event(tuple(old), rule))
        for node in new:
            self._made_by.setdefault(node, len(self._events) - 1)

    def has_made(self, node: Any) -> bool:
        return node in self._made_by

    def origins(self, before: Keys, now: Keys) -> Iterator[Origin]:
        """One Origin for each rewrite that something came out of, or that took something away."""
        made: dict[int, list[NodeKey]] = {}
        left = {key for node, key in before.items() if node not in now}
        for node, key in now.items():
            if node in before:
                if before[node] != key:
                    yield Origin((before[node],), (key,), "identity")
            elif node in self._made_by:
                made.setdefault(self._made_by[node], []).append(key)
            elif key in left:  # the graph was copied, or the node handed its name on
                yield Origin((key,), (key,), "identity")
        for number, event in enumerate(self._events):
            old = self._roots(event, before)
            new = made.get(number, [])
            gone = [key for node, key in old.items() if node not in now]
            if gone and (new or not any(node in self._made_by for node in event.old)):
                yield Origin(tuple(gone), tuple(new), "rewrite", event.rule.name, event.rule.where)

    def _roots(self, event: _Event, before: Keys) -> dict[Any, NodeKey]:
        """The nodes of the last snapshot that a rewrite goes back to, through what was made and taken in between."""
        found: dict[Any, NodeKey] = {}
        waiting, seen = list(event.old), set()
        while waiting:
            node = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            if node in before:
                found[node] = before[node]
            elif node in self._made_by:
                waiting.extend(self._events[self._made_by[node]].old)
        return found


def rule_of_pattern(entry: Any) -> Rule:
    """The name of an entry of Inductor's pattern matcher, and the function that it was written as."""
    function = getattr(entry, "handler", None) or _search_function(entry.extra_check)
    name = getattr(entry, "pattern_name", None) or getattr(function, "__name__", None) or type(entry.pattern).__name__
    return Rule(str(name), frame_of(function))


def _search_function(check: Any) -> Any:
    """Replacements are checked by a closure over the function that their pattern was traced from."""
    names = getattr(getattr(check, "__code__", None), "co_freevars", ())
    cells = dict(zip(names, getattr(check, "__closure__", None) or (), strict=False))
    return cells["search_fn"].cell_contents if "search_fn" in cells else None


def frame_of(function: Any) -> Frame | None:
    while not hasattr(function, "__code__") and hasattr(function, "func"):
        function = function.func
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        return None
    return Frame(code.co_filename, code.co_firstlineno, getattr(code, "co_qualname", code.co_name))


@contextmanager
def nodes_created(module: Any) -> Iterator[list[Any]]:
    """The nodes that come into a graph inside the block, as fx tells them."""
    created: list[Any] = []
    listening = True

    def on_creation(node: Any) -> None:  # a plain function: graph modules copy it with themselves
        if listening:
            created.append(node)

    module._register_create_node_hook(on_creation)
    try:
        yield created
    finally:
        listening = False
        _unregister(module._unregister_create_node_hook, on_creation)


@contextmanager
def nodes_replaced(module: Any) -> Iterator[dict[Any, str]]:
    """Nodes whose users were handed over inside the block, with the name of the node that took the last of them."""
    replaced: dict[Any, str] = {}
    listening = True

    def on_replacement(old: Any, new: str, user: Any) -> None:
        if listening:
            replaced[old] = new

    module._register_replace_node_hook(on_replacement)
    try:
        yield replaced
    finally:
        listening = False
        _unregister(module._unregister_replace_node_hook, on_replacement)


def _unregister(unregister: Callable[[Any], None], hook: Any) -> None:
    try:
        unregister(hook)
    except (AssertionError, ValueError):  # the pass gave its module a new set of hooks
        pass


def replacements(created: Sequence[Any], replaced: Mapping[Any, str], rewrites: Rewrites, rule: Rule) -> None:
    """What a pass that is written by hand replaced by nodes of its own: those that no pattern has told about."""
    by_name = {node.name: node for node in created if not rewrites.has_made(node)}
    for old, name in replaced.items():
        if name in by_name:
            rewrites.add([old], [by_name[name]], rule)
