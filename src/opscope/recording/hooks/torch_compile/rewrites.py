"""Which nodes a pass created from which, as reported by the compiler while it runs.

Nodes are tracked as objects, because a name can move to another node in the middle of a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import CodeType
from typing import Any, NamedTuple

from opscope.program import Frame, NodeKey
from opscope.recording.model import Origin

Keys = Mapping[Any, NodeKey]
"""The keys of fx nodes in a program."""


class Rule(NamedTuple):
    """What caused a change: the name of a pattern or pass, and its source line."""

    name: str
    where: Frame | None = None


class _Event(NamedTuple):
    old: tuple[Any, ...]
    rule: Rule


class Rewrites:
    """The rewrites since the last snapshot of one graph. Later ones can replace nodes that earlier ones created."""

    def __init__(self) -> None:
        self._events: list[_Event] = []
        self._event_of: dict[Any, int] = {}

    def add(self, old: Iterable[Any], new: Iterable[Any], rule: Rule) -> None:
        self._events.append(_Event(tuple(old), rule))
        for node in new:
            self._event_of.setdefault(node, len(self._events) - 1)

    def has_created(self, node: Any) -> bool:
        return node in self._event_of

    def origins(self, before: Keys, now: Keys) -> Iterator[Origin]:
        """One Origin for each rewrite that created or removed nodes."""
        created: dict[int, list[NodeKey]] = {}
        removed = {key for node, key in before.items() if node not in now}
        for node, key in now.items():
            if node in before:
                if before[node] != key:
                    yield Origin((before[node],), (key,), "identity")
            elif node in self._event_of:
                created.setdefault(self._event_of[node], []).append(key)
            elif key in removed:  # the graph was copied, or the node passed its name on
                yield Origin((key,), (key,), "identity")
        for number, event in enumerate(self._events):
            old = self._roots(event, before)
            new = created.get(number, [])
            gone = [key for node, key in old.items() if node not in now]
            if gone and (new or not any(node in self._event_of for node in event.old)):
                yield Origin(tuple(gone), tuple(new), "rewrite", event.rule.name, event.rule.where)

    def _roots(self, event: _Event, before: Keys) -> dict[Any, NodeKey]:
        """The nodes of the last snapshot that a rewrite goes back to, through nodes that were created and replaced in between."""
        roots: dict[Any, NodeKey] = {}
        waiting, visited = list(event.old), set()
        while waiting:
            node = waiting.pop()
            if node in visited:
                continue
            visited.add(node)
            if node in before:
                roots[node] = before[node]
            elif node in self._event_of:
                waiting.extend(self._events[self._event_of[node]].old)
        return roots


def rule_of_pattern(entry: Any) -> Rule:
    """The name of an entry of Inductor's pattern matcher, and the function that defines it."""
    function = getattr(entry, "handler", None) or _search_function(entry.extra_check)
    name = getattr(entry, "pattern_name", None) or getattr(function, "__name__", None) or type(entry.pattern).__name__
    return Rule(str(name), frame_of(function))


def _search_function(check: Any) -> Any:
    """The function that a pattern was traced from; the check of a replacement is a closure over it."""
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
    """The nodes that are created in a graph inside the block, as fx reports them."""
    created: list[Any] = []
    listening = True

    def on_creation(node: Any) -> None:  # a plain function, because graph modules deep-copy their hooks
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
    """Nodes whose users were moved to another node inside the block, with the name of the last such node."""
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
    except (AssertionError, ValueError):  # the pass replaced the hooks of its module
        pass


def replacements(created: Sequence[Any], replaced: Mapping[Any, str], rewrites: Rewrites, rule: Rule) -> None:
    """Add the replacements of a handwritten pass: those that no pattern has reported."""
    by_name = {node.name: node for node in created if not rewrites.has_created(node)}
    for old, name in replaced.items():
        if name in by_name:
            rewrites.add([old], [by_name[name]], rule)
