"""The order of calls: callees before callers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

Graph = TypeVar("Graph", bound=Hashable)


def callees_first(starts: Iterable[Graph], callees: Callable[[Graph], Iterable[Graph]]) -> list[Graph]:
    """Everything that can be reached from `starts`, each after everything that it calls.

    A cycle of calls is cut where it closes, so `starts` should begin with what nothing calls. In reverse, callers come before callees,
    and callees in the order in which they are first called.
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
