"""Sets of nodes of which equal ones are one object: that each of a thousand nodes became each of a thousand others takes two thousand
places then, and not a million."""

from __future__ import annotations

from collections.abc import Iterable

Nodes = frozenset[int]
"""A set that `SharedSets` has given."""
NONE: Nodes = frozenset()


class SharedSets:
    """Gives sets, and keeps them. It is asked often for what the same ones have in common."""

    def __init__(self) -> None:
        self._given: dict[Nodes, Nodes] = {NONE: NONE}
        self._common: dict[frozenset[Nodes], Nodes] = {}

    def of(self, nodes: Iterable[int]) -> Nodes:
        """The set of these nodes."""
        wanted = frozenset(nodes)
        return self._given.setdefault(wanted, wanted)

    def common(self, sets: Iterable[Nodes]) -> Nodes:
        """The nodes that are in all of the sets; none if there are no sets. It looks at the sets up to the first without nodes."""
        different: set[Nodes] = set()
        for each in sets:
            if not each:
                return NONE
            different.add(each)
        if len(different) < 2:
            return next(iter(different), NONE)
        key = frozenset(different)
        if key not in self._common:
            self._common[key] = self.of(frozenset.intersection(*different))
        return self._common[key]
