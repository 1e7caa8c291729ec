"""What every instruction of a text of XLA computes, as a number that two texts have in common: for `histories.py`, by a reader of its own.

A parameter of a called computation is what its only caller passes, a result what the computation returns, and a copy what it copies. A
reshape and a bitcast of one shape are the same. Part of the state of a loop is what it starts with: for ever, if the loop gives it back
as it took it; otherwise as a state, and if another part starts with the same, also which part it is. Layouts and names do not count.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

_HEAD = re.compile(r"^(?:ENTRY )?%([\w.-]+) .*\{$")
_LINE = re.compile(r"^\s+(ROOT )?%(?P<name>[\w.-]+) = (?P<type>.*?) (?P<op>[a-z][\w-]*)\((?P<rest>.*)$")
_LAYOUT = re.compile(r"\{[\d,:A-Z()]*\}|/\*index=\d+\*/")
_OPERAND = re.compile(r"%([\w.-]+)(?:#(\d+))?")
_CALLED = re.compile(r"(?:calls|to_apply|body|condition|true_computation|false_computation)=%([\w.-]+)|branch_computations=\{([^}]*)\}")
_ASIDE = re.compile(r", (?:metadata|origin|backend_config|frontend_attributes|sharding|control-predecessors)=\{.*$")
_NUMBER = re.compile(r"\d+")
_DEEPEST = 100_000

Key = tuple[str, str]


class _Instruction(NamedTuple):
    op: str
    type: str
    operands: list[tuple[str, int]]
    called: list[str]
    settings: str
    number: int


class Expressions:
    def __init__(self, path: Path) -> None:
        self._all: dict[Key, _Instruction] = {}
        self._parameters: dict[str, dict[int, str]] = defaultdict(dict)
        self._root: dict[str, str] = {}
        self._callers: dict[str, list[Key]] = defaultdict(list)
        self._known: dict[tuple[Key, int], int] = {}
        graph = ""
        for line in path.read_text().splitlines():
            if head := _HEAD.match(line):
                graph = head[1]
            elif graph and (found := _LINE.match(line)):
                self._add(graph, found)

    def _add(self, graph: str, found: re.Match[str]) -> None:
        inside, _, settings = found["rest"].partition(")")
        called = [name.strip(" %") for match in _CALLED.finditer(settings) for name in (match[1] or match[2]).split(",")]
        operands = [(name, int(index) if index else -1) for name, index in _OPERAND.findall(inside)]
        plain = _ASIDE.sub("", _CALLED.sub("", settings))
        number = int(_NUMBER.search(settings)[0]) if found["op"] == "get-tuple-element" else -1  # type: ignore[index]
        if found["op"] == "parameter":
            self._parameters[graph][int(inside)] = found["name"]
        elif found["op"] == "constant":
            plain = inside
        self._all[graph, found["name"]] = _Instruction(found["op"], _LAYOUT.sub("", found["type"]), operands, called, plain, number)
        if found[1]:
            self._root[graph] = found["name"]
        for name in called:
            self._callers[name].append((graph, found["name"]))

    def of(self, key: Key) -> int:
        return self._value(key, -1, 0)

    def _value(self, key: Key, index: int, depth: int) -> int:
        """The number of what an instruction computes, or of one of its results."""
        known = self._known.get((key, index))
        if known is None:
            self._known[key, index] = hash((key[1], "in itself"))
            known = self._known[key, index] = self._computed(key, index, depth + 1) if depth < _DEEPEST else hash(key)
        return known

    def _computed(self, key: Key, index: int, depth: int) -> int:
        graph, each = key[0], self._all[key]
        if each.op in ("copy", "copy-start", "copy-done", "opt-barrier"):
            return self._operand(graph, each.operands[0], index, depth)
        if each.op == "get-tuple-element":
            return self._operand(graph, each.operands[0], each.number, depth)
        if each.op == "tuple" and index >= 0:
            return self._operand(graph, each.operands[index], -1, depth)
        if each.op in ("fusion", "call") and len(self._callers[each.called[0]]) == 1:
            return self._value((each.called[0], self._root[each.called[0]]), index, depth)
        if each.op == "parameter" and len(self._callers[graph]) == 1:
            return self._passed(key, index, depth)
        if each.op == "parameter":
            return hash((key[1] if not self._callers[graph] else self._position(key), each.type, index))
        op = "reshape" if each.op == "bitcast" else each.op
        inside = tuple(self._value((name, self._root[name]), -1, depth) for name in each.called)
        taken = tuple(self._operand(graph, operand, -1, depth) for operand in each.operands)
        return hash((op, each.type if op != "tuple" else "", each.settings if op != "reshape" else "", inside, taken, index))

    def _is_kept(self, body: str, index: int) -> bool:
        """Whether the body of a loop gives back a part of the state as it took it. XLA writes the body after the condition."""
        name, part = (
            self._all[body, self._root[body]].operands[index] if index < len(self._all[body, self._root[body]].operands) else ("", -1)
        )
        if name and self._all[body, name].op == "get-tuple-element":
            (name, _), part = self._all[body, name].operands[0], self._all[body, name].number
        return bool(name) and self._all[body, name].op == "parameter" and part == index

    def _operand(self, graph: str, operand: tuple[str, int], index: int, depth: int) -> int:
        name, part = operand
        return self._value((graph, name), part if part >= 0 else index, depth)

    def _position(self, key: Key) -> int:
        return next(number for number, name in self._parameters[key[0]].items() if name == key[1])

    def _passed(self, key: Key, index: int, depth: int) -> int:
        caller = self._callers[key[0]][0]
        by = self._all[caller]
        if by.op in ("fusion", "call"):
            return self._operand(caller[0], by.operands[self._position(key)], index, depth)
        if by.op != "while" or index < 0:
            return hash((by.op, self._position(key), self._all[key].type, index))
        if self._is_kept(by.called[-1], index):
            return self._operand(caller[0], by.operands[0], index, depth)
        parts = _parts(by.type)
        starts = [hash((self._operand(caller[0], by.operands[0], at, depth), part)) for at, part in enumerate(parts)]
        alone = Counter(starts)[starts[index]] == 1
        return hash(("state", starts[index], -1 if alone else index))


def _parts(type: str) -> Sequence[str]:
    """The types in that of a tuple; no tuples in tuples."""
    return re.findall(r"\w+\[[\d,<=]*\]", type)
