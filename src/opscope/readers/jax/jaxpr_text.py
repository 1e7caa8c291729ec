"""The lines of a jaxpr as JAX prints them: `c:f32[8,4] = dot_general[dimension_numbers=… ] a b`.

Each jaxpr is written as if it was printed alone, and an inner one is named instead of written inside its call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_ONE_LINE = 1 << 30


class Written(NamedTuple):
    """What a node is in its jaxpr: an equation or a variable, and the graphs that it calls, by parameter."""

    what: Any
    calls: Mapping[str, str]


class JaxprText:
    """The own text of a jaxpr's program (see `opscope.program.OwnText`), made when it is first asked for."""

    def __init__(self) -> None:
        self._nodes: dict[str, tuple[Any, list[Written | None]]] = {}
        self._lines: dict[str, list[str]] = {}

    def add(self, graph: str, jaxpr: Any, nodes: list[Written | None]) -> None:
        """A graph, and what each of its nodes is; None for a literal, which is written where it is used."""
        self._nodes[graph] = jaxpr, nodes

    def lines(self, graph: str, start: int, stop: int) -> Sequence[str]:
        if graph not in self._lines:
            self._lines[graph] = self._write(graph)
        return self._lines[graph][start:stop]

    def _write(self, graph: str) -> list[str]:
        jaxpr, nodes = self._nodes[graph]
        try:
            printer = _Printer(jaxpr)
            return [" ".join(printer.line(each).split()) if each is not None else "" for each in nodes]
        except Exception:  # how JAX prints is private to it: another version may do it in another way
            return [""] * len(nodes)


class _Printer:
    """Writes the parts of one jaxpr in their order, in which JAX gives its variables their letters."""

    def __init__(self, jaxpr: Any) -> None:
        from jax._src import core

        self._core, self._context, self._settings = core, core.JaxprPpContext(), core.JaxprPpSettings()
        used = {id(atom) for equation in jaxpr.eqns for atom in equation.invars} | {id(atom) for atom in jaxpr.outvars}
        for equation in jaxpr.eqns:
            for var in equation.outvars:
                if id(var) not in used:
                    self._context.var_names[var] = "_"

    def line(self, written: Written) -> str:
        what, calls = written
        if not hasattr(what, "primitive"):
            return f"{self._core.pp_var(what, self._context).format()}:{what.aval.str_short(short_dtypes=True)}"
        text = str(self._core.pp_eqn(what, self._context, self._settings).format(width=_ONE_LINE))
        for key, name in calls.items():
            text = _named(text, key, name)
        return text


def _named(text: str, key: str, names: str) -> str:
    """The line with the names of inner jaxprs instead of the jaxprs: `jaxpr={ lambda ; … }`, `branches=({ lambda … } { lambda … })`."""
    begin = text.find(f"{key}=") + len(key) + 1
    if text[begin : begin + 1] not in ("{", "("):
        return text
    depth = 0
    for at in range(begin, len(text)):
        depth += (text[at] in "{(") - (text[at] in "})")
        if depth == 0:
            return text[:begin] + names + text[at + 1 :]
    return text
