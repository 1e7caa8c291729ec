"""What JAX writes into `op_name`: the path of named scopes, and the transformations that the code went through.

`jit(step)/transpose(jvp(layer_0))/attention/dot_general` is the primitive dot_general in scope step / layer_0 / attention, of the
backward direction. The rules:

- the last element is the primitive, not a group;
- `jit(f)` is the group f; a `jit(main)` below another group is JAX's own plumbing and dropped;
- other wrappers (`jvp(…)`, `transpose(…)`, `vmap(…)` …) are transformations: recorded, and what they wrap stays in the path;
- `body` and `cond` below `while`, `closed_call`, `checkpoint`, `rematted_computation` and the like are plumbing: dropped, and where
  they are transformations recorded. `while`, `cond` and `branch_1_fun` stay: they tell loops and branches apart;
- of merged names `a;b` the first counts.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from opscope.program import Path

_PIECES = re.compile(r"[^/()\[\];]++|[/()\[\];]")
_BARE_TRANSFORMS = frozenset(["remat", "remat2", "checkpoint", "rematted_computation"])
_TRANSFORMS = _BARE_TRANSFORMS | frozenset(
    ["jvp", "vjp", "transpose", "linearize", "vmap", "pmap", "xmap", "shard_map", "custom_jvp", "custom_vjp"]
)
_CALLS = frozenset(["jit", "pjit", "xla_call", "core_call", "named_call"])
_PLUMBING = frozenset(["closed_call", "core_closed_call", "core_call", "xla_call", "pjit"]) | frozenset(
    ["custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr"]
)


class Scope(NamedTuple):
    """An op_name taken apart. `call` is the group that the last element opens for what it calls: `…/jit(inner)` gives inner."""

    path: Path = ()
    call: Path = ()
    transforms: tuple[str, ...] = ()

    @property
    def direction(self) -> str:
        """forward or backward where differentiation left its mark, else nothing."""
        return "backward" if "transpose" in self.transforms else "forward" if "jvp" in self.transforms else ""

    @property
    def attrs(self) -> dict[str, str]:
        """What goes into a node's attributes: direction and transforms, where there are any."""
        found = {"direction": self.direction, "transforms": ", ".join(self.transforms)}
        return {key: text for key, text in found.items() if text}


@lru_cache(maxsize=1 << 16)
def parse_op_name(op_name: str) -> Scope:
    """The scope of an op_name. Unbalanced brackets are taken as they come: names are text, and never an error."""
    transforms: dict[str, None] = {}
    elements = _elements(op_name, transforms)
    groups: list[str] = []
    before = ""
    for named, name in elements[:-1]:
        if name in _BARE_TRANSFORMS:
            transforms[name] = None
        elif name and name not in _PLUMBING and not _is_noise(name, named, before, bool(groups)):
            groups.append(name)
        before = name
    call = (elements[-1][1],) if elements and elements[-1][0] and elements[-1][1] else ()
    return Scope(tuple(groups), call, tuple(transforms))


def _is_noise(name: str, named: bool, before: str, is_inner: bool) -> bool:
    """JAX's own `jit(main)` inside the user's function, and the two parts of a loop, which are computations of their own."""
    return (named and is_inner and name == "main") or (before == "while" and name in ("body", "cond"))


def _elements(op_name: str, transforms: dict[str, None]) -> list[tuple[bool, str]]:
    """The path's elements from the outside in: (is it the name of a jitted function, name). Notes the transformations on the way.

    A wrapped path `jvp(a/b)` gives two elements, an empty one `jvp()` an element without a name. What stands in brackets is not
    looked into, and what only looks wrapped, because the wrapper is none that we know, stays whole.
    """
    elements: list[tuple[bool, str]] = []
    wrappers: list[str] = []
    pieces: list[str] = []
    foreign = brackets = calls = 0
    is_empty = False

    def emit() -> None:
        name = "".join(pieces)
        head, bracket, parameters = name.partition("[")
        elements.append((calls > 0, head if bracket and "=" in parameters else name))
        pieces.clear()

    for piece in _PIECES.findall(op_name):
        if brackets or piece == "[":
            brackets += (piece == "[") - (piece == "]")
            pieces.append(piece)
        elif foreign:
            foreign += (piece == "(") - (piece == ")")
            pieces.append(piece)
        elif piece == "(":
            wrapper = "".join(pieces)
            if wrapper in _TRANSFORMS or wrapper in _CALLS:
                wrappers.append(wrapper)
                calls += wrapper in _CALLS
                if wrapper in _TRANSFORMS:
                    transforms[wrapper] = None
                pieces.clear()
                is_empty = True
            else:
                foreign = 1
                pieces.append(piece)
        elif piece == ")":
            if pieces or is_empty:
                emit()
            is_empty = False
            if wrappers:
                calls -= wrappers.pop() in _CALLS
        elif piece == "/":
            if pieces:
                emit()
            is_empty = False
        elif piece == ";":
            break
        else:
            pieces.append(piece)
    if pieces:
        emit()
    return elements
