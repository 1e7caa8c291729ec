"""The nodes of a very large document, as columns: whole pieces of text at once, as opscope writes them, one node in each line.

A piece in which any line is different is left to the reader of single nodes, and so is everything after it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any, NoReturn, TypeAlias, TypeVar

from opscope.program import ROLES, Details, GrowingColumns, Link, Path, TensorType

_PIECE = 1 << 18
"""Characters that are read at once."""
_TEXT = r'"([^"\\\x00-\x1f]*+)"'
_REFS = r"\[((?:\[[^\[\]\\\n]*+\](?:, )?+)*+)\]"
_LINE = re.compile(
    rf'^[ \t]*+\{{"id": {_TEXT}, "op": {_TEXT}, "role": "([a-z]++)", "inputs": {_REFS}, '
    r'"outputs": (\[(?:\{[^{}\n]*+\}(?:, )?+)*+\])([^\n]*)\},\n',
    re.MULTILINE,
)
_PAIRS = r'(?:"[^"\\\x00-\x1f]*+": "[^"\\\x00-\x1f]*+"(?:, (?=")|(?=\})))*+'
_NAMES = r'(?:"[^"\\\x00-\x1f]*+"(?:, (?=")|(?=\])))*+'
_PLAIN_REST = re.compile(rf'(?:, "attrs": \{{({_PAIRS})\}})?+(?:, "scope": \[({_NAMES})\])?+')
"""Attributes that are all texts, and a scope, as nearly every node has them: what is between quotes need not be parsed as JSON."""
_AFTER_NAME = re.compile(r", (-1|0|[1-9][0-9]{0,9})\](?:, \[)?+")
"""What is between the names of two inputs, or after the last: the index of an output."""
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
    """Reads pieces. `rest` decodes the members of a node that are not in every node, `types` a list of types; both raise ValueError.
    `texts` gives the details with these names and values of attributes, and this scope."""

    def __init__(
        self,
        rest: Callable[[dict[str, Any]], Rest],
        types: Callable[[Any], tuple[TensorType, ...]],
        texts: Callable[[Path, Path, Path], Details],
    ) -> None:
        self._decode_rest = rest
        self._texts = texts
        self._rest = _Decoded(self._rest_of)
        self._scopes = _Decoded(lambda text: tuple(text.split('"')[1::2]))
        self._types = _Decoded(lambda text: types(json.loads(text)))
        self._indices = _Decoded(_index)
        self._ops: dict[str, str] = {}

    def _rest_of(self, text: str) -> Rest:
        plain = _PLAIN_REST.fullmatch(text)
        if plain is None:
            return self._decode_rest(_members(text))
        parts = (plain[1] or "").split('"')
        keys, values = tuple(parts[1::4]), tuple(parts[3::4])
        if len(keys) > 1 and len({*keys}) < len(keys):
            return self._decode_rest(_members(text))
        return (), (), (), self._texts(keys, values, self._scopes[plain[2] or ""])

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
        columns.add_ids(ids)
        try:
            sources, indices, counts = self._inputs(inputs, columns)
            types = list(map(self._types.__getitem__, outputs))
            calls, control, links, details = zip(*map(self._rest.__getitem__, rest), strict=True)
            is_regular = {*roles} <= _ROLES and max(indices, default=0) < _MOST_OUTPUTS
        except (KeyError, TypeError, ValueError, RecursionError):
            is_regular = False
        if not is_regular or len(columns.numbers) != len(columns.ids):
            columns.drop_ids(first)
            return False
        columns.extend(map(self._ops.setdefault, ops, ops), sources, counts, indices, types, roles, details)
        for column, values in ((columns.calls, calls), (columns.control, control), (columns.links, links)):
            if any(values):
                column.update((i, value) for i, value in enumerate(values, first) if value)
        return True

    def _inputs(self, texts: Sequence[str], columns: GrowingColumns) -> tuple[list[int], list[int], list[int]]:
        """The nodes and the outputs that the inputs of these rows are, and how many each row has. Between two quotes is a name, and what
        follows it is the same few texts."""
        counts = list(map(str.count, texts, repeat("[")))
        if [count << 1 for count in counts] != list(map(str.count, texts, repeat('"'))):
            raise ValueError("an input is not a name and an index")
        first, *parts = ", ".join(filter(None, texts)).split('"')
        if parts and first != "[":
            raise ValueError(first)
        return list(map(columns.numbers.__getitem__, parts[::2])), list(map(self._indices.__getitem__, parts[1::2])), counts


def _index(text: str) -> int:
    match = _AFTER_NAME.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return int(match[1])


def _members(text: str) -> dict[str, Any]:
    members: dict[str, Any] = _decode(f"{{{text.removeprefix(', ')}}}")
    if not members.keys() <= _REST or (text and not text.startswith(", ")):
        raise ValueError(text)
    return members


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


_decode = json.JSONDecoder(parse_constant=_no_constant).decode
