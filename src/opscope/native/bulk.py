"""The nodes of a very large document, as columns: whole pieces of text at once, as opscope writes them, one node in each line.

A piece in which any line is different is left to the reader of single nodes, and so is everything after it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NoReturn, TypeAlias, TypeVar

from opscope.program import ROLES, Details, GrowingColumns, Link, Path, TensorType

_PIECE = 1 << 20
"""Characters that are read at once."""
_TEXT = r'"([^"\\\x00-\x1f]*+)"'
_REFS = r"\[((?:\[[^\[\]\\\n]*+\](?:, )?+)*+)\]"
_LINE = re.compile(
    rf'^[ \t]*+\{{"id": {_TEXT}, "op": {_TEXT}, "role": "([a-z]++)", "inputs": {_REFS}, '
    r'"outputs": (\[(?:\{[^{}\n]*+\}(?:, )?+)*+\])([^\n]*)\},\n',
    re.MULTILINE,
)
_REST = frozenset(("attrs", "scope", "calls", "control", "links", "source"))
_ROLES = frozenset(ROLES)
_MOST_OUTPUTS = 1 << 31
_MOST = 1 << 14
"""Texts that are remembered. Nodes that are near each other share most of theirs."""

T = TypeVar("T")

Rest: TypeAlias = tuple[Path, Path, tuple[Link, ...], Details]
"""Calls, control predecessors, links and details."""


class _Decoded(dict[str, T]):
    """What texts mean. Most nodes have the text of another one."""

    def __init__(self, decode: Callable[[str], T]) -> None:
        super().__init__()
        self._decode = decode

    def __missing__(self, text: str) -> T:
        if len(self) >= _MOST:
            self.clear()
        decoded = self[text] = self._decode(text)
        return decoded


class BulkNodes:
    """Reads pieces. `rest` decodes the members of a node that are not in every node, `types` a list of types; both raise ValueError."""

    def __init__(self, rest: Callable[[dict[str, Any]], Rest], types: Callable[[Any], tuple[TensorType, ...]]) -> None:
        self._rest = _Decoded(lambda text: rest(_members(text)))
        self._types = _Decoded(lambda text: types(json.loads(text)))
        self._ops: dict[str, str] = {}

    def read(self, text: str, at: int, columns: GrowingColumns) -> int:
        """Add the nodes from here up to the first piece in which not every line is one; returns the place after them."""
        start = text.rfind("\n", 0, at) + 1
        if not text[start:at].isspace():
            return at
        while (end := text.find("\n", start + _PIECE) + 1) > 0:
            rows = _LINE.findall(text, start, end)
            if len(rows) != text.count("\n", start, end) or not self._take(rows, columns):
                break
            at = start = end
        return at

    def _take(self, rows: Sequence[tuple[str, ...]], columns: GrowingColumns) -> bool:
        """Add these rows, or nothing if one of them is irregular."""
        ids, ops, roles, inputs, outputs, rest = zip(*rows, strict=True)
        first = len(columns.ids)
        if not columns.numbers.keys().isdisjoint(ids):
            return False
        columns.add_ids(ids)
        try:
            refs = json.loads(f"[[{'], ['.join(inputs)}]]")
            flat = list(chain.from_iterable(refs))
            names, indices = zip(*flat, strict=True) if flat else ((), ())
            sources = list(map(columns.numbers.__getitem__, names))
            types = list(map(self._types.__getitem__, outputs))
            calls, control, links, details = zip(*map(self._rest.__getitem__, rest), strict=True)
            is_regular = {*map(type, flat)} <= {list} and {*map(type, indices)} <= {int} and {*roles} <= _ROLES
            is_regular = is_regular and min(indices, default=0) >= -1 and max(indices, default=0) < _MOST_OUTPUTS
        except (KeyError, TypeError, ValueError, RecursionError):
            is_regular = False
        if not is_regular or len(columns.numbers) != len(columns.ids):
            columns.drop_ids(first)
            return False
        columns.extend(map(self._ops.setdefault, ops, ops), sources, map(len, refs), indices, types, roles, details)
        for column, values in ((columns.calls, calls), (columns.control, control), (columns.links, links)):
            if any(values):
                column.update((i, value) for i, value in enumerate(values, first) if value)
        return True


def _members(text: str) -> dict[str, Any]:
    members: dict[str, Any] = _decode(f"{{{text.removeprefix(', ')}}}")
    if not members.keys() <= _REST or (text and not text.startswith(", ")):
        raise ValueError(text)
    return members


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


_decode = json.JSONDecoder(parse_constant=_no_constant).decode
