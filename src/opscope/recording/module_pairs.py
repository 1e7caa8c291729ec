"""Which module of one program is which of another, where neither nodes nor names say so: of a model that runs operator by operator, and the
same model compiled.

Compilers fuse and rename, but the products of the forward stay calls of a library, in the order of the model. So the products of both are
aligned, and modules whose products correspond are the same module. A module without products of its own, such as a norm, is part of a
kernel that computes its neighbours too; it counts for the module around it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from opscope.limits import MOST_AROUND
from opscope.ops import CATEGORIES, category_of
from opscope.profile.align import align
from opscope.profile.kineto.program import OUTSIDE
from opscope.profile.schedule import executed_graphs
from opscope.program import BACKWARD, DIRECTION_ATTR, FORWARD, Path, Program

_LEAST_ALIGNED = 0.9
_FEWEST = 3
"""Fewer products could be aligned by chance."""


class ModulePairs:
    """The modules of A that those of B are. A module that has no counterpart is the nearest one around it that has one."""

    def __init__(self, a: Program, b: Program) -> None:
        self._of_b = _paired(a, b)
        self._in_a = set(self._of_b.values())
        self._root = _shared(self._in_a)
        """The model itself, in A."""
        if self._root:
            self._in_a.add(self._root)

    def __bool__(self) -> bool:
        return bool(self._of_b)

    def of_a(self, module: Path) -> Path | None:
        """The module that counts for one of A; None if nothing around it has a counterpart."""
        return next((around for around in _around(module) if around in self._in_a), None)

    def of_b(self, module: Path) -> Path | None:
        """The same for one of B, as a module of A."""
        counterpart = next((self._of_b[around] for around in _around(module) if around in self._of_b), None)
        return counterpart or (self._root if module and module[0] != OUTSIDE else ()) or None


def _shared(modules: Iterable[Path]) -> Path:
    """The module that all of these are in."""
    common: list[str] = []
    for names in zip(*modules, strict=False):
        if len(set(names)) > 1:
            break
        common.append(names[0])
    return tuple(common)


def _around(module: Path) -> Iterator[Path]:
    for depth in range(min(len(module), MOST_AROUND), 0, -1):
        yield module[:depth]


def _paired(a: Program, b: Program) -> Mapping[Path, Path]:
    """By modules of B. Empty if both use the same names, or if their products differ."""
    names_a, names_b = ({node.scope for graph in program for node in graph if node.scope} for program in (a, b))
    products_a, products_b = list(_products(a)), list(_products(b))
    fewest = min(len(products_a), len(products_b))
    if 2 * len(names_a & names_b) >= min(len(names_a), len(names_b)) or fewest < _FEWEST:
        return {}
    places = align([kind for kind, _ in products_b], [kind for kind, _ in products_a])
    pairs = [(products_b[i][1], products_a[place][1]) for i, place in enumerate(places) if place is not None]
    if len(pairs) < _LEAST_ALIGNED * max(len(products_a), len(products_b)):
        return {}
    votes = Counter(pairs)
    paired: dict[Path, Path] = {}
    taken: set[Path] = set()
    for module, counterpart in sorted(votes, key=lambda pair: -votes[pair]):
        if module not in paired and counterpart not in taken:
            paired[module] = counterpart
            taken.add(counterpart)
    return paired


def _products(program: Program) -> Iterator[tuple[str, Path]]:
    """The products of the forward, in order: of what kind, and in which module."""
    backward = {name for graph in program for node in graph if node.op == BACKWARD for name in node.calls}
    for graph in executed_graphs(program):
        if graph.name in backward:
            continue
        for node in graph:
            if node.scope and node.attrs.get(DIRECTION_ATTR, FORWARD) == FORWARD and CATEGORIES[category_of(node.op)] == "matmul":
                yield ("attention" if "attention" in node.op else "convolution" if "conv" in node.op else "product"), node.scope
