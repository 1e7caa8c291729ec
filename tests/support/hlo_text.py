"""What HLO text says, found without opscope's reader: the instructions of each computation, and the operands of each instruction."""

from __future__ import annotations

import re

_COMPUTATION = re.compile(r"^(?:ENTRY )?%?([\w.-]+) (?:\([^\n]*)?\{\n(.*?)^\}", re.M | re.S)
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?([\w.-]+) = (.*)$", re.M)
_OPERATION = re.compile(r" ([a-z][\w-]*)\(")
_LITERALS = ("parameter", "constant", "iota")


def instructions(text: str) -> dict[str, dict[str, list[str]]]:
    """For each computation, the names of its instructions with those of their operands."""
    computations = {}
    for name, body in _COMPUTATION.findall(text):
        lines = dict(_INSTRUCTION.findall(body))
        computations[name] = {instruction: [word for word in _operands(line) if word in lines] for instruction, line in lines.items()}
    return computations


def _operands(line: str) -> list[str]:
    """The words between the brackets of an operation."""
    operation = _OPERATION.search(" " + line)
    assert operation, line
    if operation[1] in _LITERALS:
        return []
    start = operation.end() - 1
    depth = 1
    for end in range(start, len(line)):
        depth += {"(": 1, ")": -1}.get(line[end], 0)
        if depth == 0:
            return re.findall(r"[\w.-]+", line[start:end])
    raise AssertionError(f"no closing bracket: {line}")
