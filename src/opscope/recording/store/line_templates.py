"""Lines of an own text without what is known of their nodes: the rest is the same for many nodes, and is stored once.

%add.7 = f32[8]{0} add(%mul.3, %x), metadata={op_name="jit(f)/add"}      is, with 1 and 2 as marks,
%10 = f32[8]{0} add(%11, %12), metadata={op_name="20"}                   of add.7, mul.3 and x, and of the attribute "jit(f)/add"
"""

from __future__ import annotations

import re

from opscope.program import Node

_NAME, _VALUE = "\x01", "\x02"
_WORD = re.compile(r"[\w.$-]+")
_QUOTED = re.compile(r'(?<=")[^"\\\n]+(?=")')
_NAMES, _VALUES = re.compile(r"\x01(\d+)"), re.compile(r"\x02(\d+)")


def template_of(line: str, node: Node) -> str:
    """The line, with marks instead of the names of the node and its operands, and of texts that are attributes of the node."""
    if not line or _NAME in line or _VALUE in line:
        return ""
    names, values = (_first_places(texts) for texts in (_names(node), _values(node)))
    line = _QUOTED.sub(lambda text: _VALUE + values[text[0]] if text[0] in values else text[0], line)
    return _WORD.sub(lambda word: _NAME + names[word[0]] if word[0] in names else word[0], line)


def line_of(template: str, node: Node) -> str:
    """The line again."""
    names = _names(node)
    line = _NAMES.sub(lambda number: names[int(number[1])], template)
    return _VALUES.sub(lambda number: _values(node)[int(number[1])], line) if _VALUE in line else line


def _names(node: Node) -> list[str]:
    """MLIR's names begin with %; those of HLO do in its text only."""
    return [name.removeprefix("%") for name in (node.id, *(name for name, _ in node.inputs))]


def _values(node: Node) -> list[str]:
    return [value for value in node.attrs.values() if isinstance(value, str)]


def _first_places(texts: list[str]) -> dict[str, str]:
    return {text: str(place) for place, text in reversed(list(enumerate(texts)))}
