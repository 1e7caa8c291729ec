"""What every instruction of a text of XLA computes, as a number that two texts have in common: for `histories.py`, by a reader of its own.

A parameter of a called computation is what its only caller passes, a result what the computation returns, and a copy what it copies. A
reshape and a bitcast of one shape are the same. Part of the state of a loop is what it starts with: for ever, if the loop gives it back
as it took it; otherwise as a state, and if another part starts with the same, also what it is after one turn, and if that is the same,
which part it is. What a loop gives is told apart by all of these. Layouts and names do not count.

What XLA's simplification takes for the same is the same here: an operation on each element commutes with a reshape and a transpose; the
operands of sums and products have no order; division by a constant is a product with its reciprocal (five digits), a product with the
zeros and ones of a comparison is a selection, and constants are computed.
"""

from __future__ import annotations

import operator
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from copy import copy
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
_UNORDERED = frozenset(("add", "multiply", "maximum", "minimum", "and", "or", "xor"))
_OF_ELEMENTS = _UNORDERED | {
    *("subtract", "divide", "power", "remainder", "select", "compare", "clamp", "negate", "abs", "sign", "convert", "is-finite", "not"),
    *("exponential", "exponential-minus-one", "log", "log-plus-one", "logistic", "tanh", "sine", "cosine", "sqrt", "rsqrt", "cbrt", "erf"),
    *("floor", "ceil"),
}
_ARITHMETIC = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul}

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
        self._atoms: frozenset[str] = frozenset()
        self._once = ""
        """The body of a loop of which only the first turn is asked for."""
        self._all: dict[Key, _Instruction] = {}
        self._parameters: dict[str, dict[int, str]] = defaultdict(dict)
        self._root: dict[str, str] = {}
        self._callers: dict[str, list[Key]] = defaultdict(list)
        self._users: dict[Key, set[Key]] = defaultdict(set)
        self._forget()
        graph = ""
        for line in path.read_text().splitlines():
            if head := _HEAD.match(line):
                graph = head[1]
            elif graph and (found := _LINE.match(line)):
                self._add(graph, found)

    def _forget(self) -> None:
        self._known: dict[tuple[Key, int], int] = {}
        self._numbers: dict[int, float] = {}
        """The values of which every element is the same known number."""
        self._rearranged: dict[int, tuple[tuple[str, ...], int]] = {}
        """How values rearrange others."""
        self._reshaped: set[int] = set()
        self._dims: dict[int, str] = {}
        self._logical: set[int] = set()
        self._firsts: dict[Key, list[tuple[int, int]]] = {}
        """For a loop, the parts of its state at first and after one turn."""
        self._truths: dict[int, int] = {}
        """The truth values behind zeros and ones."""

    def of_what_stayed(self, other: Expressions) -> Expressions:
        """The same instructions, where those that keep their name and opcode in another text are what others are computed from."""
        ops = {name: each.op for (_, name), each in other._all.items() if each.op != "parameter"}
        those = copy(self)
        those._atoms = frozenset(name for (_, name), each in self._all.items() if ops.get(name) == each.op)
        those._forget()
        return those

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
        for name, _ in operands:
            self._users[graph, name].add((graph, found["name"]))

    def of(self, key: Key) -> int:
        value = self._value(key, -1, 0)
        return hash((value, self._all[key].type)) if value in self._numbers else value

    def elements_of(self, key: Key) -> int:
        """The same for all that only give them another order or shape."""
        value = self._value(key, -1, 0)
        while value in self._rearranged:
            value = self._rearranged[value][1]
        return hash((value, self._all[key].type)) if value in self._numbers else value

    def is_computed(self, key: Key) -> bool:
        """Whether a value is not given from outside: of these, many are the same."""
        return self._all[key].op != "parameter"

    def as_kept(self, key: Key) -> int | None:
        """What others take it for, if it keeps its name and opcode in the other text."""
        return hash((key[1], -1)) if key[1] in self._atoms else None

    def number(self, key: Key) -> float | None:
        """What every element of a value is, if that is known."""
        value = self._value(key, -1, 0)
        while value in self._rearranged:
            value = self._rearranged[value][1]
        return self._numbers.get(value)

    def users(self, key: Key) -> set[Key]:
        return self._users[key]

    def _value(self, key: Key, index: int, depth: int) -> int:
        """The number of what an instruction computes, or of one of its results."""
        known = self._known.get((key, index))
        if known is None:
            if depth and key[1] in self._atoms:
                return hash((key[1], index))
            self._known[key, index] = hash((key[1], "in itself"))
            known = self._known[key, index] = self._computed(key, index, depth + 1) if depth < _DEEPEST else hash(key)
            if index < 0 and self._all[key].op not in ("tuple", "while"):
                self._dims.setdefault(known, _dims(self._all[key].type))
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
        if each.op == "while" and index >= 0:
            kept = self._is_kept(each.called[-1], index)
            return self._operand(graph, each.operands[0], index, depth) if kept else hash(("end", self._state(key, index, depth, False)))
        op = "reshape" if each.op == "bitcast" else each.op
        if op == "constant" and (number := _number(each)) is not None:
            return self._same_everywhere(number)
        if op in ("reshape", "transpose", "broadcast"):
            value = self._operand(graph, each.operands[0], -1, depth)
            if value in self._numbers:
                return value
            if op != "broadcast":
                return self._rearrange((op, _dims(each.type), each.settings if op == "transpose" else ""), value, each.op == "reshape")
        if op in _OF_ELEMENTS:
            values = [self._operand(graph, operand, -1, depth) for operand in each.operands]
            return self._each_element(op, each.type.partition("[")[0], each.settings, values, _dims(each.type))
        inside = tuple(self._value((name, self._root[name]), -1, depth) for name in each.called)
        taken = tuple(self._operand(graph, operand, -1, depth) for operand in each.operands)
        return hash((op, each.type if op != "tuple" else "", each.settings if op != "reshape" else "", inside, taken, index))

    def _same_everywhere(self, number: float) -> int:
        value = hash(("everywhere", f"{number:.5g}"))
        self._numbers[value] = number
        return value

    def _rearrange(self, how: tuple[str, ...], value: int, plainly: bool = False) -> int:
        """`plainly`: a reshape, and not a bitcast, which can also be a transpose."""
        while plainly and value in self._reshaped:
            value = self._rearranged[value][1]
        if plainly and self._dims.get(value) == how[1]:
            return value
        rearranged = hash((how, value))
        self._rearranged[rearranged] = how, value
        self._dims[rearranged] = how[1]
        if plainly:
            self._reshaped.add(rearranged)
        return rearranged

    def _each_element(self, op: str, type: str, settings: str, values: list[int], dims: str) -> int:
        """What an operation computes of each element of some values. If all of them are rearranged alike, its result is, too."""
        numbers = [self._numbers.get(value) for value in values]
        if op == "divide" and numbers[1]:
            op, values = "multiply", [values[0], self._same_everywhere(1 / numbers[1])]
            numbers = [numbers[0], self._numbers[values[1]]]
        if op in _ARITHMETIC and None not in numbers:
            return self._same_everywhere(_ARITHMETIC[op](*numbers))
        if op == "convert" and numbers[0] is not None:
            return values[0]
        hows = {self._rearranged[value][0] if value in self._rearranged else () for value in values if value not in self._numbers}
        if len(hows) == 1 and (how := hows.pop()):
            inner = [self._rearranged[value][1] if value in self._rearranged else value for value in values]
            dims = next((self._dims.get(value, "") for value in inner if value not in self._numbers), "")
            plainly = all(value in self._reshaped for value in values if value not in self._numbers)
            return self._rearrange(how, self._each_element(op, type, settings, inner, dims), plainly)
        chosen = [value for value in values if value in self._truths]
        if op == "multiply" and chosen:
            (other,) = [value for value in values if value != chosen[0]] or chosen[:1]
            op, values = "select", [self._truths[chosen[0]], other, self._same_everywhere(0)]
        result = hash((op, type, settings, tuple(sorted(values) if op in _UNORDERED else values)))
        if op == "convert" and values[0] in self._logical:
            self._truths[result] = values[0]
        if type == "pred":
            self._logical.add(result)
        self._dims[result] = dims
        return result

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
        if key[0] == self._once:
            return hash(("start", self._starts(caller, depth)[index]))
        return hash(("state", self._state(caller, index, depth)))

    def _starts(self, loop: Key, depth: int) -> list[int]:
        each = self._all[loop]
        return [hash((self._operand(loop[0], each.operands[0], at, depth), part)) for at, part in enumerate(_parts(each.type))]

    def _state(self, loop: Key, index: int, depth: int, alone: bool = True) -> int:
        """What tells a part of a loop's state from others, if it is not `alone` in how it starts."""
        starts = self._starts(loop, depth)
        if alone and Counter(starts)[starts[index]] == 1:
            return starts[index]
        firsts = self._firsts.get(loop)
        if firsts is None:
            firsts = self._firsts[loop] = list(zip(starts, self._after_one_turn(self._all[loop].called[-1], len(starts)), strict=True))
        return hash((firsts[index], -1 if Counter(firsts)[firsts[index]] == 1 else index))

    def _after_one_turn(self, body: str, count: int) -> list[int]:
        """What every part of a loop's state is after the first turn."""
        once = copy(self)
        once._forget()
        once._once = body
        return [once._value((body, self._root[body]), at, 0) for at in range(count)]


def _parts(type: str) -> Sequence[str]:
    """The types in that of a tuple; no tuples in tuples."""
    return re.findall(r"\w+\[[\d,<=]*\]", type)


def _dims(type: str) -> str:
    return type.partition("[")[2]


def _number(constant: _Instruction) -> float | None:
    try:
        return float(constant.settings.strip())
    except ValueError:
        return None
