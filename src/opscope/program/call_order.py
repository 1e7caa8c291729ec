"""The one order over calls: what is called comes before what calls it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

Graph = TypeVar("Graph", bound=Hashable)


def callees_first(starts: Iterable[Graph], callees: Callable[[Graph], Iterable[Graph]]) -> list[Graph]:
    """What can be reached from `starts`, each after everything that it calls.

    A circle of calls is cut where it closes, so `starts` begin with what nobody calls. Read backwards, callers come before what they
    call, and callees in the order in which they are first called.
    """
    order: list[Graph] = []
    entered: set[Graph] = set()
    for start in starts:
        stack = [(start, False)]
        while stack:
            graph, leaving = stack.pop()
            if leaving:
                order.append(graph)
            elif graph not in entered:
                entered.add(graph)
                stack.append((graph, True))
                stack += [(called, False) for called in dict.fromkeys(callees(graph)) if called not in entered]
    return order
