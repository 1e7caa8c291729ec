"""The instructions of one text of XLA, for `histories.py`: a reader of its own, which has nothing in common with opscope's."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from expressions import Expressions

Key = tuple[str, str]
_LINE = re.compile(r"^\s+(?P<root>ROOT )?%(?P<name>[\w.-]+) = (?P<type>.*?) (?P<op>[a-z][\w-]*)\((?P<rest>.*)$")
_HEAD = re.compile(r"^(?:ENTRY )?%([\w.-]+) .*\{$")
_ORIGIN = re.compile(r", origin=\{((?:[^{}]|\{[^{}]*\})*)\}")
_OP_NAME = re.compile(r'op_name="((?:[^"\\]|\\.)*)"')
_FRAME = re.compile(r"stack_frame_id=(\d+)")
_SOURCE = re.compile(r'source_file="([^"]*)" source_line=(\d+)')
_CALLS = re.compile(r"(?:calls|to_apply)=%([\w.-]+)")
_OPERAND = re.compile(r"%([\w.-]+(?:#\d+)?)")
_LAYOUT = re.compile(r"\{[\d,:A-Z()]*\}|/\*index=\d+\*/")
_LOCATION = re.compile(r"^(\d+) \{file_name_id=(\d+) function_name_id=\d+ line=(\d+) .*?column=(\d+)")
_FRAMES = re.compile(r"^(\d+) \{file_location_id=(\d+) parent_frame_id=(\d+)\}")
PASSED_ON = frozenset(
    (
        "bitcast",
        "reshape",
        "copy",
        "transpose",
        "convert",
        "get-tuple-element",
        "copy-start",
        "copy-done",
        "tuple",
        "slice",
        "broadcast",
        "concatenate",
    )
)

_REARRANGING = frozenset(("bitcast", "reshape", "copy", "transpose", "convert", "broadcast"))
_FARTHEST = 64


class Instruction(NamedTuple):
    op: str
    type: str
    """Without layouts."""
    op_name: str
    frames: tuple[tuple[int, int, int], ...]
    """The user's lines, innermost first."""
    label: str
    calls: tuple[str, ...]
    operands: tuple[str, ...]
    literal: str
    """Of a constant or parameter, what is between its parentheses."""


class Text:
    """The instructions of one file, by graph and name."""

    def __init__(self, path: Path) -> None:
        self.expressions = Expressions(path)
        self.of: dict[Key, Instruction] = {}
        self.members: dict[str, list[Key]] = defaultdict(list)
        self.root: dict[str, str] = {}
        self.callers: dict[str, list[Key]] = defaultdict(list)
        self.at: dict[Key, int] = {}
        """The order of the instructions in the file."""
        self.labelled: dict[str, set[Key]] = defaultdict(set)
        self._locations: dict[str, tuple[int, int, int]] = {}
        self._frames: dict[str, tuple[str, int]] = {}
        graph = ""
        for line in path.read_text().splitlines():
            if head := _HEAD.match(line):
                graph = head[1]
            elif graph and (found := _LINE.match(line)):
                self._add((graph, found["name"]), found, line)
            elif not graph and (location := _LOCATION.match(line)):
                self._locations[location[1]] = int(location[2]), int(location[3]), int(location[4])
            elif not graph and (frame := _FRAMES.match(line)):
                self._frames[frame[1]] = frame[2], int(frame[3]) - 1  # XLA counts them from 0

    def _add(self, key: Key, found: re.Match[str], line: str) -> None:
        label, op_name = _ORIGIN.search(line), _OP_NAME.search(line)
        inside = found["rest"].partition(")")[0]
        self.members[key[0]].append(key)
        self.at[key] = len(self.at)
        self.of[key] = Instruction(
            found["op"],
            _LAYOUT.sub("", found["type"]),
            op_name[1] if op_name else "",
            self._lines(line),
            label[1] if label else "",
            tuple(_CALLS.findall(line)),
            () if found["op"] in ("parameter", "constant") else tuple(_OPERAND.findall(inside)),
            inside if found["op"] in ("parameter", "constant") else "",
        )
        if label:
            self.labelled[label[1]].add(key)
        if found["root"]:
            self.root[key[0]] = key[1]
        for called in self.of[key].calls:
            self.callers[called].append(key)

    def _lines(self, line: str) -> tuple[tuple[int, int, int], ...]:
        if source := _SOURCE.search(line):
            return ((hash(source[1]), int(source[2]), 0),)
        frame = _FRAME.search(line)
        id, lines = frame[1] if frame else "", []
        while id in self._frames:
            location, parent = self._frames[id]
            lines.append(self._locations[location])
            id = str(parent)
        return tuple(lines)

    def inside(self, keys: Iterable[Key]) -> set[Key]:
        """The nodes, and everything in the graphs that they call."""
        found, waiting = set(keys), list(keys)
        while waiting:
            for called in self.of[waiting.pop()].calls:
                fresh = [key for key in self.members[called] if key not in found]
                found.update(fresh)
                waiting += fresh
        return found

    def roots(self, key: Key) -> set[Key]:
        """What computes the values of a node: of a fusion or call its root, of a tuple in it each part, without what only rearranges."""
        found: set[Key] = set()
        waiting, seen = [key], {key}
        while waiting:
            each = waiting.pop()
            now = self.of[each]
            behind: list[Key] = []
            if now.op in ("fusion", "call") and now.calls and now.calls[0] in self.root:
                behind = [(now.calls[0], self.root[now.calls[0]])]
            elif each != key and now.op in PASSED_ON:
                behind = [(each[0], operand.partition("#")[0]) for operand in now.operands]
            found.add(each)
            for one in behind:
                if one not in seen and one in self.of:
                    seen.add(one)
                    waiting.append(one)
        return found

    def operands(self, key: Key) -> Iterator[Key]:
        """What a node takes; a parameter of a graph with one caller takes what that passes."""
        graph, now = key[0], self.of[key]
        if now.op == "parameter":
            callers = self.callers[graph]
            if len(callers) == 1 and self.of[callers[0]].op in ("fusion", "call"):
                passed = self.of[callers[0]].operands
                if (number := int(now.literal)) < len(passed):
                    yield callers[0][0], passed[number].partition("#")[0]
            return
        for operand in now.operands:
            yield graph, operand.partition("#")[0]

    def behind(self, key: Key) -> set[Key]:
        """A node and what it only rearranges, through calls."""
        found, waiting = {key}, [key]
        while waiting:
            each = waiting.pop()
            behind = list(self.operands(each)) if self.of[each].op in PASSED_ON or self.of[each].op == "parameter" else []
            fresh = [one for one in behind if one in self.of and one not in found]
            found.update(fresh)
            waiting += fresh
        return found

    def stem(self, key: Key) -> Key:
        """The value that a node only rearranges or repeats; of a node that computes something, the node."""
        for _ in range(_FARTHEST):
            now, operands = self.of[key], [each for each in self.operands(key) if each in self.of]
            if len(operands) != 1 or not (now.op in _REARRANGING or now.op == "parameter"):
                break
            key = operands[0]
        return key

    @cached_property
    def by_place(self) -> dict[tuple[object, ...], list[Key]]:
        """Nodes by what the user wrote for them: op_name, lines and number of elements."""
        found: dict[tuple[object, ...], list[Key]] = defaultdict(list)
        for key in self.of:
            if source := self.source(key):
                found[source[1:]].append(key)
        return found

    def source(self, key: Key) -> tuple[object, ...]:
        """Opcode, op_name, lines and number of elements of what the user wrote; () if the text says nothing."""
        now = self.of[key]
        return (now.op, now.op_name, now.frames, _elements(now.type)) if now.op_name else ()

    def near(self, key: Key, depth: int = 3) -> set[object]:
        """What a node is computed from, by name and by source, a few operands deep, through calls."""
        found: set[object] = set()
        reached = {key}
        for _ in range(depth):
            reached = {operand for each in reached for operand in self.operands(each) if operand in self.of}
            for each in reached:
                now = self.of[each]
                if now.op != "constant":
                    found.add(each[1])
                if now.op_name:
                    found.add((now.op, now.op_name, now.frames))
        return found


def _elements(type: str) -> tuple[int, ...]:
    """How many elements each array of a type has: a reshape keeps it, and so does a change of type."""
    counts = []
    for dims in re.findall(r"\[([\d,<=]*)\]", type):
        count = 1
        for dim in filter(None, dims.replace("<=", "").split(",")):
            count *= int(dim)
        counts.append(count)
    return tuple(counts)
