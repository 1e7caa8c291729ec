"""Lines of an own text without what is known of their nodes: the rest is the same for many nodes, and is stored once.

%add.7 = f32[8]{0} add(%mul.3, %x), metadata={op_name="jit(f)/add"}      is, with 1 and 2 as marks,
%10 = f32[8]{0} add(%11, %12), metadata={op_name="20"}                   of add.7, mul.3 and x, and of the attribute "jit(f)/add"
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from opscope.program import Node

NAME_MARK, _VALUE = "\x01", "\x02"
_WORDS = {"": re.compile(r"([\w.$-]+)"), "%": re.compile(r"(%[\w.$-]+)")}
"""By the sign of names: where they have one, other words need not be looked at."""
_QUOTED = re.compile(r'(?<=")[^"\\\n]+(?=")')
_NAMES, _VALUES = re.compile(r"\x01(\d+)"), re.compile(r"\x02(\d+)")


class _End(NamedTuple):
    """What follows the operands of a line: its template, and the words in it that could be names of the node and its operands."""

    template: str
    words: frozenset[str]


class LineTemplates:
    """Makes templates. Nodes share details, which the caller numbers, and lines of such nodes share their ends."""

    def __init__(self) -> None:
        self._values: dict[int, dict[str, str]] = {}
        self._ends: dict[tuple[str, int], str] = {}
        self._printed_ends: dict[tuple[str, int], _End | None] = {}
        self._operands: dict[int, str] = {0: ""}
        """By their number, the marks of operands that differ."""

    @property
    def size(self) -> int:
        """How many details have been learnt."""
        return len(self._values)

    def knows(self, details: int) -> bool:
        return details in self._values

    def learn(self, details: int, attrs: Mapping[str, Any]) -> None:
        """The attributes of some details, before the first line of a node with these details."""
        if details not in self._values:
            self._values[details] = {value: str(place) for place, value in reversed(list(enumerate(text_values(attrs))))}

    def template(self, line: str, node: Node, details: int) -> str:
        """The line, with marks instead of the names of the node and its operands, and of texts that are attributes of the node."""
        if not line or NAME_MARK in line or _VALUE in line:
            return ""
        return self._of_printed(line, node, details) or self._of_any(line, node, details)

    def _of_printed(self, line: str, node: Node, details: int) -> str:
        """The template of a line as XLA prints it: the same as that of `_of_any`, without looking at each word. Empty for other lines."""
        node_id, _, inputs, *_ = node
        start = f"%{node_id} = "
        root = "ROOT " if line.startswith("ROOT ") else ""
        if not line.startswith(start, len(root)):
            return ""
        first = at = len(root) + len(start) - len(" = ")
        names = [name for name, _ in inputs]
        listed = f"(%{', %'.join(names)})" if names else ""
        if names:
            at = line.find(listed, first)
            if at < 0:
                return ""
        middle = line[first:at]
        if "%" in middle or '"' in middle:
            return ""
        key = line[at + len(listed) :], details
        end = self._printed_ends[key] if key in self._printed_ends else self._printed_end(key)
        if end is None or (end.words and not end.words.isdisjoint([node_id, *names])):
            return ""
        return f"{root}%{NAME_MARK}0{middle}{self._marks_of(node_id, names)}{end.template}"

    def _printed_end(self, key: tuple[str, int]) -> _End | None:
        """None if there may be an attribute before a name."""
        text, details = key
        values = self._values.get(details, {})
        at = text.rfind("%")
        name = _WORDS["%"].match(text, at) if at >= 0 else None
        at = name.end() if name else max(at, 0)
        start = text[:at]
        words = frozenset(word[1:] for word in _WORDS["%"].findall(start))
        end = self._printed_ends[key] = None if '"' in start else _End(start + _with_values(text[at:], values), words)
        return end

    def _marks_of(self, node_id: str, names: list[str]) -> str:
        """The list of a node's operands. One that was named before has the mark that it had then."""
        count = len(names)
        if (count > 1 and len({*names}) < count) or node_id in names:
            places = {name: place for place, name in zip(range(count, -1, -1), reversed([node_id, *names]), strict=True)}
            return _list_of(places[name] for name in names)
        marks = self._operands.get(count)
        if marks is None:
            marks = self._operands[count] = _list_of(range(1, count + 1))
        return marks

    def _of_any(self, line: str, node: Node, details: int) -> str:
        values = self._values.get(details, {})
        at = line.rfind("%")
        if at < 0:
            return _with_names(_with_values(line, values), node, "")
        name = _WORDS["%"].match(line, at)
        at = name.end() if name else at
        end = self._ends.get(key := (line[at:], details))
        if end is None:
            end = self._ends[key] = _with_values(line[at:], values)
        start = line[:at]
        return _with_names(_with_values(start, values) if '"' in start else start, node, "%") + end


def _list_of(places: Iterable[int]) -> str:
    return f"({', '.join(f'%{NAME_MARK}{place}' for place in places)})"


def _with_values(text: str, values: Mapping[str, str]) -> str:
    return _QUOTED.sub(lambda text: _VALUE + values[text[0]] if text[0] in values else text[0], text)


def _with_names(text: str, node: Node, sign: str) -> str:
    names = _names(node)
    marks = {sign + name: f"{sign}{NAME_MARK}{place}" for place, name in zip(range(len(names) - 1, -1, -1), reversed(names), strict=True)}
    parts = _WORDS[sign].split(text)
    parts[1::2] = [marks.get(word, word) for word in parts[1::2]]
    return "".join(parts)


def line_of(template: str, node: Node) -> str:
    """The line again."""
    names = _names(node)
    line = _NAMES.sub(lambda number: names[int(number[1])], template)
    return _VALUES.sub(lambda number: text_values(node.attrs)[int(number[1])], line) if _VALUE in line else line


def _names(node: Node) -> list[str]:
    """MLIR's names begin with %; those of HLO do in its text only."""
    return [node.id.removeprefix("%"), *[name.removeprefix("%") for name, _ in node.inputs]]


def text_values(attrs: Mapping[str, Any]) -> list[str]:
    return [value for value in attrs.values() if isinstance(value, str)]
