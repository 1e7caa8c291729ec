"""What the details of nodes say, decoded once each: nodes share details (most of a compiled module does), and decoding is the expensive
part. Of details that differ in one text (`Details.varies`), only the first are decoded."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from opscope.program import Details, Frame, Graph, NodeColumns, Path, details_of


class Kind(NamedTuple):
    """Attributes and source frames of details that differ in one text at most."""

    attrs: Mapping[str, Any]
    """Those of the first details of this kind."""
    source: tuple[Frame, ...]
    varying: str = ""
    """The attribute that differs, if any does."""


class Listener(Protocol):
    """Who needs each of the details, in the order of their numbers."""

    def add(self, attrs: Mapping[str, Any], source: tuple[Frame, ...]) -> None:
        """Details with these attributes and frames."""

    def add_like(self, kind: int, attrs: Mapping[str, Any], source: tuple[Frame, ...], name: str, text: str) -> None:
        """Details of this kind, all of which have these attributes and frames, except that this attribute has this text."""


class Descriptions:
    """Numbers details in order of first use."""

    def __init__(self, listener: Listener | None = None) -> None:
        self.kinds: list[Kind] = []
        self.kind_of = array("i")
        """By the number of details, that of their kind."""
        self.scopes: list[Path] = []
        """By the number of details."""
        self._listener = listener
        self._numbers: dict[int, int] = {}
        self._kept: list[Sequence[Details]] = []
        """What has a number, so that no other details get its identity."""
        self._commons: dict[Hashable, int] = {}
        """By what details have in common that differ in one text, their kind."""
        self._of_columns: dict[int, tuple[NodeColumns, array[int]]] = {}
        """What was found for large graphs, by their identity: everything that encodes a program asks again."""

    def of(self, graph: Graph) -> array[int]:
        """The number of each node's details."""
        nodes = graph.nodes
        if not isinstance(nodes, NodeColumns):
            return self._of(details_of(nodes))
        known = self._of_columns.get(id(nodes))
        if known is None:
            known = self._of_columns[id(nodes)] = nodes, self._of(nodes.details)
        return known[1]

    def forget_graphs(self) -> None:
        """Forget what was found for graphs that nobody asks for again."""
        self._of_columns.clear()

    def _of(self, details: Sequence[Details]) -> array[int]:
        known, keys = self._numbers, list(map(id, details))
        try:
            return array("i", map(known.__getitem__, keys))
        except KeyError:
            distinct = dict(zip(keys, details, strict=True))
        new = {key: each for key, each in distinct.items() if key not in known} if known else distinct
        known.update(zip(new, range(len(known), len(known) + len(new)), strict=True))
        self._add(list(new.values()))
        return array("i", map(known.__getitem__, keys))

    def _add(self, details: Sequence[Details]) -> None:
        self._kept.append(details)
        resembling = _Resembling(details, self._listener is not None)
        scopes, texts, attribute = resembling.scopes, resembling.texts, resembling.attribute
        known, kind_of, kinds, listener = self._commons, self.kind_of, self.kinds, self._listener
        for i, common in enumerate(resembling.commons):
            kind = None if common is None else known.get(common)
            if kind is None:
                kind = len(kinds)
                attrs, scopes[i], source = details[i].whole()
                kinds.append(Kind(attrs, source, "" if common is None else attribute))
                if common is not None:
                    known[common] = kind
                if listener is not None:
                    listener.add(attrs, source)
            elif listener is not None:
                attrs, source, _ = kinds[kind]
                listener.add_like(kind, attrs, source, attribute, texts[i])
            kind_of.append(kind)
        self.scopes += scopes


class _Resembling:
    """What many details, of several classes, have in common with others of their class (`Resembling`)."""

    def __init__(self, details: Sequence[Details], with_texts: bool) -> None:
        self.commons: list[Hashable] = [None] * len(details)
        self.scopes: list[Path] = [()] * len(details)
        self.texts: list[str] = [""] * len(details) if with_texts else []
        self.attribute = ""
        classes: list[type[Details]] = list(map(type, details))
        for each in dict.fromkeys(classes):
            places = [i for i, other in enumerate(classes) if other is each]
            found = each.resembling([details[i] for i in places])
            if found is None:
                continue
            self.attribute = found.attribute
            _put(self.commons, places, found.commons)
            _put(self.scopes, places, found.scopes)
            if with_texts:
                _put(self.texts, places, found.texts)


def _put(column: list[Any], places: Iterable[int], values: Iterable[Any]) -> None:
    for i, value in zip(places, values, strict=True):
        column[i] = value
