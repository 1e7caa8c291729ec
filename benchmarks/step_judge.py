"""Judges what a history says that one pass did to nodes, by the texts before and after it: for `histories.py`.

Everything that a step says must have evidence: each node before must have become one of those after it, and each node after must come from
one of those before. Of a fusion or a call, its results must; what else is in it is no evidence for it. The evidence:

- the instruction kept its name and opcode, or the compiler's clone has it (`add.5` → `add.5.clone`);
- XLA moved its label (`original_value`);
- both compute the same (`expressions.py`), from the program's inputs or from instructions that kept their names, and not a constant;
- both have one origin in the user's program: opcode, op_name, lines and number of elements (or, if the opcode is another, the rest). Of
  several nodes with this origin that are gone, those count that were computed from what the new one is computed from;
- an instruction that kept its name took one as an operand where it takes the other now, and one is gone and the other new, or nothing else
  about its operands differs;
- both are the same line of a computation that one instruction called before and calls now;
- one is the reciprocal of the other, or both are one value in another order or shape;
- what is new was only made for what a node became, or what is gone was folded into what its user became, which takes what it took.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, lru_cache

from expressions import Expressions
from texts import Instruction, Key, Text

_NUMBERED = re.compile(r"\.\d+$")
_CLONE = re.compile(r"(\.\d+)?\.clone(\.\d+)?")

_Values = set[tuple[int, int]]
"""Numbers of what a node computes: from the program's inputs (0), from what kept its name (1)."""


class Judge:
    """Two texts, before and after one pass."""

    def __init__(self, before: Text, after: Text) -> None:
        self.before, self.after = before, after
        self._values = (
            (before.expressions, after.expressions),
            (before.expressions.of_what_stayed(after.expressions), after.expressions.of_what_stayed(before.expressions)),
        )
        self.values_before, self.values_after = cache(self._values_before), cache(self._values_after)
        self.took, self.takes = cache(self._took), cache(self._takes)
        self._names_before = {(key[1], now.op) for key, now in before.of.items()}
        self._names_after = {(key[1], now.op) for key, now in after.of.items()}

    def verdict(self, kind: str, old: Sequence[Key], new: Sequence[Key]) -> str:
        """ "right", "incomplete", "wrong" or "for the eye"."""
        if kind == "added":
            return self._of_added(new)
        if kind == "removed":
            return self._of_removed(old)
        evidence = _Evidence(self, old, new)
        if kind == "undecided":
            return "right" if evidence.ties else "for the eye"
        untied_new = [key for key in new if not evidence.has_origin(key)]
        untied_old = [key for key in old if not evidence.has_outcome(key)]
        if not untied_new and not untied_old:
            return "right"
        inside_old, inside_new = self.before.inside(old), self.after.inside(new)
        elsewhere = [self.before.labelled.get(self.after.of[key].label, set()) for key in untied_new if self.after.of[key].label]
        moved = [self.after.labelled.get(self.before.of[key].label, set()) for key in untied_old if self.before.of[key].label]
        if any(each and not each & inside_old for each in elsewhere) or any(each and not each & inside_new for each in moved):
            return "wrong"
        return "for the eye"

    def _of_added(self, new: Sequence[Key]) -> str:
        if any(self.before.labelled.get(self.after.of[key].label) for key in new if self.after.of[key].label):
            return "incomplete"
        gone = {source for key in self.before.of if self.is_gone(key) and (source := self.before.source(key))}
        return "for the eye" if any(self.after.source(key) in gone for key in new) else "right"

    def _of_removed(self, old: Sequence[Key]) -> str:
        if any(self.after.labelled.get(self.before.of[key].label) for key in old if self.before.of[key].label):
            return "incomplete"
        fresh = {source for key in self.after.of if self.is_new(key) and (source := self.after.source(key))}
        return "for the eye" if any(self.before.source(key) in fresh for key in old) else "right"

    def is_gone(self, key: Key) -> bool:
        return (key[1], self.before.of[key].op) not in self._names_after

    def is_new(self, key: Key) -> bool:
        return (key[1], self.after.of[key].op) not in self._names_before

    def _values_before(self, key: Key) -> _Values:
        return _values(key, [one for one, _ in self._values])

    def _values_after(self, key: Key) -> _Values:
        return _values(key, [other for _, other in self._values])

    def _took(self, key: Key) -> frozenset[object]:
        """What a node before took, by name and by value, also through what only rearranges."""
        return self._operands(self.before, key, self.values_before)

    def _takes(self, key: Key) -> frozenset[object]:
        return self._operands(self.after, key, self.values_after)

    def _operands(self, text: Text, key: Key, values: Callable[[Key], _Values]) -> frozenset[object]:
        all_of_them = {each for operand in text.operands(key) for each in text.behind(operand)}
        names = {(each[1], text.of[each].op) for each in all_of_them if text.of[each].op != "constant"}
        return frozenset(names | {value for each in all_of_them if text.expressions.number(each) is None for value in values(each)})

    def is_tied(self, old: Key, new: Key, others: set[Key]) -> bool:
        """Whether there is evidence that one became the other; `others` are the nodes that the step names with the first."""
        was, now = self.before.of[old], self.after.of[new]
        return (
            _is_name_kept(old, was, new, now)
            or bool(was.label and was.label == now.label)
            or not self.values_before(old).isdisjoint(self.values_after(new))
            or _is_same_constant(was, now)
            or old in self.slots.get(new, ())
            or self.is_copied_with_its_graph(old, new)
            or self.is_reciprocal(old, new)
            or self.is_same_rearranged(old, new)
            or self.is_of_one_origin(old, new, others)
        )

    def is_same_rearranged(self, old: Key, new: Key) -> bool:
        """Whether both are one value in another order or shape, or repeated: the operands of a product of vectors."""
        if not self.is_gone(old) or not self.is_new(new):
            return False
        one, other = self.before.stem(old), self.after.stem(new)
        return one != old and other != new and (one[1], self.before.of[one].op) == (other[1], self.after.of[other].op)

    def is_reciprocal(self, old: Key, new: Key) -> bool:
        number, other = self.before.expressions.number(old), self.after.expressions.number(new)
        if number is None or other is None or self.before.of[old].type != self.after.of[new].type:
            return False
        return math.isclose(number * other, 1, rel_tol=1e-5)

    @cached_property
    def _graphs(self) -> set[tuple[str, str]]:
        """Graphs that the same instruction calls, by name, before and after."""
        kept = {(key[1], now.op): now.calls for key, now in self.before.of.items() if now.calls}
        found = {
            pair
            for key, now in self.after.of.items()
            if len(calls := kept.get((key[1], now.op), ())) == len(now.calls)
            for pair in zip(calls, now.calls, strict=True)
        }
        waiting = list(found)
        while waiting:
            graph, other = waiting.pop()
            lines = zip(self.before.members[graph], self.after.members[other], strict=False)
            fresh = {pair for old, new in lines for pair in zip(self.before.of[old].calls, self.after.of[new].calls, strict=False)} - found
            found |= fresh
            waiting += fresh
        return found

    def is_copied_with_its_graph(self, old: Key, new: Key) -> bool:
        """Whether both are the same line of a graph that one instruction called before and calls now."""
        if (old[0], new[0]) not in self._graphs:
            return False
        lines, others = self.before.members[old[0]], self.after.members[new[0]]
        return len(lines) == len(others) and lines.index(old) == others.index(new) and self.before.of[old].op == self.after.of[new].op

    def is_of_one_origin(self, old: Key, new: Key, others: set[Key]) -> bool:
        """Whether both come from one place of the user's program, and no other node that is gone has the better claim."""
        if not self.is_gone(old):
            return False
        source, other = self.before.source(old), self.after.source(new)
        if not source or source[1:] != other[1:]:
            return False
        rivals = [
            key
            for key in self.before.by_place[source[1:]]
            if key not in others and (source[0] != other[0] or self.before.of[key].op == source[0]) and self.is_gone(key)
        ]
        if not rivals:
            return True
        from_what = self.after.near(new)
        overlap = len(self.before.near(old) & from_what)
        return overlap > max(len(self.before.near(key) & from_what) for key in rivals)

    @cached_property
    def slots(self) -> dict[Key, set[Key]]:
        """For nodes, what is gone and was taken in their place; for what was there before, only if the user takes the rest as it did."""
        kept = {(key[1], now.op): key for key, now in self.before.of.items()}
        found: dict[Key, set[Key]] = defaultdict(set)
        for key, now in self.after.of.items():
            user = kept.get((key[1], now.op))
            if user is None or now.op in ("parameter", "constant"):
                continue
            takes, took = (list(text.operands(each)) for text, each in ((self.after, key), (self.before, user)))
            if len(takes) != len(took):
                continue
            differ = [(old, new) for old, new in zip(took, takes, strict=True) if old[1] != new[1]]
            for old, new in differ:
                gone = {each for each in self.before.behind(old) if self.is_gone(each)}
                for each in self.after.behind(new):
                    if self.is_new(each) or len(differ) == 1:
                        found[each] |= gone
        return found


class _Evidence:
    """Which nodes of a step have evidence."""

    def __init__(self, judge: Judge, old: Sequence[Key], new: Sequence[Key]) -> None:
        self._judge = judge
        self._old, self._new = judge.before.inside(old), judge.after.inside(new)
        near = {each for key in new for each in (*judge.after.expressions.users(key), *judge.after.operands(key))}
        self._new |= {each for each in near if each in judge.after.of and judge.is_new(each)}  # a part of what was made together
        self.ties = set(self._found())
        self._add_made_for()
        self._add_folded()

    def _add_made_for(self) -> None:
        """What is new and only taken by what a node became was made for that: the reciprocal of a divisor."""
        judge = self._judge
        for new in sorted(self._new, key=lambda key: judge.after.at[key], reverse=True):  # users are after what they take
            users = judge.after.expressions.users(new) if judge.is_new(new) else set()
            if users and all(judge.is_new(user) for user in users):
                self.ties |= {
                    (old, new)
                    for old in self._old
                    if all(judge.is_tied(old, user, self._old) or (old, user) in self.ties for user in users)
                }

    def _add_folded(self) -> None:
        """What is gone is part of what its user became, if that takes what the node took: it was folded into it."""
        judge, before = self._judge, self._judge.before
        for old in sorted(self._old, key=lambda key: before.at[key], reverse=True):
            users = before.expressions.users(old) if judge.is_gone(old) else set()
            into = {new for user, new in self.ties if user in users}
            took = judge.took(old) if into else frozenset()
            self.ties |= {(old, new) for new in into if not took.isdisjoint(judge.takes(new))}

    def has_origin(self, key: Key) -> bool:
        roots = self._judge.after.roots(key)
        return any(new in roots for _, new in self.ties)

    def has_outcome(self, key: Key) -> bool:
        roots = self._judge.before.roots(key)
        return any(old in roots for old, _ in self.ties)

    def _found(self) -> Iterator[tuple[Key, Key]]:
        for old in self._old:
            for new in self._new:
                if self._judge.is_tied(old, new, self._old):
                    yield old, new


def _values(key: Key, expressions: list[Expressions]) -> _Values:
    computed = {(at, one.elements_of(key)) for at, one in enumerate(expressions) if one.is_computed(key)}
    return computed | {(at, kept) for at, one in enumerate(expressions) if (kept := one.as_kept(key)) is not None}


def _is_name_kept(old: Key, was: Instruction, new: Key, now: Instruction) -> bool:
    if was.op != now.op or not new[1].startswith(old[1]):
        return False
    rest = new[1][len(old[1]) :]  # "add.5" is not a clone of "add", "add.5.1" is one of "add.5"
    return not rest or bool(_CLONE.fullmatch(rest) or (_NUMBERED.search(old[1]) and _NUMBERED.fullmatch(rest)))


def _is_same_constant(was: Instruction, now: Instruction) -> bool:
    return was.op == now.op == "constant" and (was.literal, was.type) == (now.literal, now.type)


@lru_cache(maxsize=256)
def judge_of(before: Text, after: Text) -> Judge:
    return Judge(before, after)
