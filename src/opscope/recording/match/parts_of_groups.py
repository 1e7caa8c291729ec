"""Nodes that replaced several others together, told apart where each of those has one of its own operation: a dot and the slice before it
became a smaller dot and a smaller slice. The slice did not become the dot, which takes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence

from opscope.recording.match.indexed_program import TAGS
from opscope.recording.match.pairs import Pairs

Group = tuple[Sequence[int], Sequence[int]]
"""Nodes of a that are gone, and the nodes of b in their place."""


def told_apart(pairs: Pairs, groups: Sequence[Group], gone: Container[int]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The groups, those in parts that can be told apart."""
    known = {x for xs, _ in groups for x in xs}
    for xs, ys in sorted(groups, key=lambda group: (group[0][0], -len(group[0]), group[1])):
        parts = _parts(pairs, xs, ys, gone, known) if len(xs) > 1 else {}
        if parts:
            yield from (((x,), tuple(sorted(parts[x]))) for x in sorted(parts))
        else:
            yield tuple(xs), tuple(sorted(ys))


def _parts(pairs: Pairs, xs: Sequence[int], ys: Sequence[int], gone: Container[int], known: Container[int]) -> dict[int, list[int]]:
    """{node of a: what it became}. What has no operation of its own belongs to the same operation of the user's program, or to its only
    user, or to an operand of that which is gone too and does the same. Empty if something cannot be told apart."""
    (op_a, op_b), (name_a, name_b) = pairs.labels.of["op"], pairs.labels.op_name
    times_a, times_b = Counter(op_a[x] for x in xs), Counter(op_b[y] for y in ys)
    by_op = {op_b[y]: y for y in ys}
    came = {by_op[op_a[x]]: x for x in xs if times_a[op_a[x]] == times_b[op_a[x]] == 1 and not pairs.labels.elsewhere(x, by_op[op_a[x]])}
    if len(came) < len(xs):
        return {}
    by_name: dict[int, set[int]] = {}
    for y, x in came.items():
        by_name.setdefault(name_b[y], set()).add(x)
    for y in sorted(ys, reverse=True):
        if y in came:
            continue
        at = by_name.get(name_b[y], set()) if name_b[y] else set()
        if len(at) != 1:
            at = {came.get(edge // TAGS, -1) for edge in pairs.b.users[y]}
            if len(at) != 1 or (x := next(iter(at))) < 0:
                return {}
            taken = {edge // TAGS for edge in pairs.a.operands[x]}
            alike = [i for i in taken if op_a[i] == op_b[y] and name_a[i] == name_b[y] != 0]
            at = {*alike} if len(alike) == 1 and alike[0] in gone and alike[0] not in known else at
        came[y] = next(iter(at))
    parts: dict[int, list[int]] = {}
    for y, x in came.items():
        parts.setdefault(x, []).append(y)
    return parts
