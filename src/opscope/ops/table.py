"""The table of operations: opscope's own rows, and those that other packages add with their readers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache, lru_cache

from opscope.ops.facts import AUTOGRAD_KINDS, CATEGORIES, CUT, Dialect, Facts, Rows
from opscope.ops.names import OpName, parse_name
from opscope.ops.rows import COMMON
from opscope.ops.rows.dialects import DIALECTS
from opscope.ops.rows.patterns import category_like, quantization_like
from opscope.plugin import outside_rows
from opscope.program import Role

_OF_ROLE: dict[Role, str] = {
    "parameter": "parameter",
    "input": "parameter",
    "buffer": "parameter",
    "constant": "constant",
    "output": "output",
    "gradient": "parameter",
    "saved": "data",
}
_NUMBER = {name: number for number, name in enumerate(CATEGORIES)}


class OpTable:
    """Facts by name. A dialect's own rows take precedence over common rows; facts for a name without a row are guessed."""

    def __init__(self, common: Rows, dialects: Iterable[Dialect]) -> None:
        self._common = _by_name(common)
        self._dialects: dict[str, Dialect] = {}
        for dialect in dialects:  # the first one wins: a plug-in adds names and changes none
            for prefix in dialect.prefixes.split():
                self._dialects.setdefault(prefix, dialect)
            if not dialect.prefixes:
                self._common = _by_name(dialect.rows) | self._common
        self._special = {prefix: _by_name(dialect.rows) for prefix, dialect in self._dialects.items()}
        self._views = {prefix: frozenset(map(_key, dialect.views.split())) for prefix, dialect in self._dialects.items()}

    def name(self, op: str) -> OpName:
        return parse_name(op, self._dialects)

    def facts(self, op: str) -> Facts:
        if op.startswith(CUT):
            return Facts(free=True)
        name = self.name(op)
        rows = self._special.get(name.dialect, {})
        facts = rows.get(_key(f"{name.plain}.{name.overload}")) or rows.get(_key(name.plain)) or self._common.get(_key(name.plain))
        if facts is None:
            # hidet calls a fused operator after the one that it is built around.
            core = self._common.get(_key(name.plain.removeprefix("fused_")))
            facts = Facts(core.category if core else category_like(name.plain))
        if name.is_backward:
            return Facts(facts.category)
        if _key(name.plain) in self._views.get(name.dialect, ()):
            facts = replace(facts, view=True)
        return facts if facts.quantization else replace(facts, quantization=quantization_like(name.plain))


def _key(name: str) -> str:
    """The name without word boundaries, on which compilers do not agree: `allreduce`, `all_reduce`."""
    return name.replace("_", "")


def _by_name(rows: Rows) -> dict[str, Facts]:
    return {_key(name): facts for names, facts in rows for name in names.split()}


@cache
def table() -> OpTable:
    """opscope's dialects, then those of readers from other packages."""
    outside = [dialect for row in outside_rows("opscope.readers") for dialect in row.dialects]
    return OpTable(COMMON, (*DIALECTS, *outside))


@lru_cache(maxsize=4096)
def facts_of(op: str) -> Facts:
    """The facts about an operation."""
    return table().facts(op)


@lru_cache(maxsize=4096)
def name_of(op: str) -> OpName:
    return table().name(op)


@lru_cache(maxsize=4096)
def plain_name(op: str) -> str:
    """One form for all compilers: "aten.add_.Tensor", "aten::add", "AddBackward0" and "stablehlo.add" are all "add"."""
    return name_of(op).plain


def category_of(op: str, role: Role = "op", kind: str = "") -> int:
    """The number of an operation's category in CATEGORIES. `kind` is the kind of a node of an autograd graph."""
    return _NUMBER[AUTOGRAD_KINDS.get(kind) or _OF_ROLE.get(role) or facts_of(op).category]
