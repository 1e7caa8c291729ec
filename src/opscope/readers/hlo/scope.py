"""What JAX writes into `op_name`: the path of named scopes, and the transformations that the code went through.

`jit(step)/transpose(jvp(layer_0))/attention/dot_general` is the primitive dot_general in scope step / layer_0 / attention, of the
backward half. The rules:

- the last element is the primitive, not a group;
- `jit(f)` is the group f; a `jit(main)` below another group is JAX plumbing and is dropped;
- other wrappers (`jvp(…)`, `transpose(…)`, `vmap(…)` …) are transformations: they are recorded, and what they wrap stays in the path;
- `body` and `cond` below `while`, `closed_call`, `checkpoint`, `rematted_computation` and the like are plumbing: they are dropped, and
  recorded if they are transformations. `while`, `cond` and `branch_1_fun` stay, because they identify loops and branches;
- differentiating a checkpoint names the scope twice, `transpose(jvp(layer))/jvp(layer)/checkpoint`, in a scan `layer/layer/checkpoint`:
  it counts once;
- of merged names `a;b`, the first counts;
- of the names of combined collectives, `a/(b/c:b/d)`, what all have in common counts: a/b. One that combines the loss with gradients runs
  when the gradients are there, so it belongs to the backward half.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from opscope.program import BACKWARD, DIRECTION_ATTR, FORWARD, RECOMPUTED, TRANSFORMS_ATTR, Path

_PIECES = re.compile(r"[^/()\[\];]++|[/()\[\];]")
_REMATTED = "rematted_computation"
_REMAT_2 = "remat2"
_CHECKPOINTS = frozenset(["remat", _REMAT_2, "checkpoint"])
_NUMBER = re.compile(r"[0-9]+")
_MARK = "0"
"""Instead of the number in a name."""
_BARE_TRANSFORMS = _CHECKPOINTS | {_REMATTED}
_TRANSFORMS = _BARE_TRANSFORMS | frozenset(
    ["jvp", "vjp", "transpose", "linearize", "vmap", "pmap", "xmap", "shard_map", "custom_jvp", "custom_vjp"]
)
_CALLS = frozenset(["jit", "pjit", "xla_call", "core_call", "named_call"])
_ANY = "primitive"
_EQUINOX = "eqx.nn."
"""Layers of Equinox open a scope with their class, which the name of a module's call already has: `layers.0: Linear/eqx.nn.Linear`."""
_PLUMBING = frozenset(["closed_call", "core_closed_call", "core_call", "xla_call", "pjit"]) | frozenset(
    ["custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr"]
)


class Scope(NamedTuple):
    """A parsed op_name. `call` is the group that the last element opens for its callee: `…/jit(inner)` opens inner."""

    path: Path = ()
    call: Path = ()
    transforms: tuple[str, ...] = ()

    @property
    def direction(self) -> str:
        """The part of a training step, where differentiation left its mark; otherwise empty."""
        if _REMATTED in self.transforms:
            return RECOMPUTED
        return BACKWARD if "transpose" in self.transforms else FORWARD if "jvp" in self.transforms else ""

    @property
    def attrs(self) -> Mapping[str, str]:
        """Direction and transforms as node attributes, if there are any."""
        return _annotations(self.transforms)

    def below(self, outer: Scope) -> Scope:
        """This scope, nested in another."""
        if not outer.path and not outer.transforms:
            return self
        return Scope(outer.path + self.path, self.call, tuple(dict.fromkeys(outer.transforms + self.transforms)))


NO_SCOPE = Scope()


@lru_cache(maxsize=4096)
def _annotations(transforms: tuple[str, ...]) -> dict[str, str]:
    annotations = {DIRECTION_ATTR: Scope(transforms=transforms).direction, TRANSFORMS_ATTR: ", ".join(transforms)}
    return {key: text for key, text in annotations.items() if text}


class _Element(NamedTuple):
    """One element of the path: its name, whether it names a jitted function, and whether it was wrapped."""

    name: str = ""
    is_function: bool = False
    is_wrapped: bool = False


def parse_op_name(op_name: str) -> Scope:
    """The scope of an op_name. Unbalanced brackets are accepted: a name is text and never an error.

    Only a call makes the name of the primitive matter. Otherwise the operations of one scope share one entry of the cache, so that
    a million of them do not exceed it.
    """
    prefix, _, primitive = op_name.rpartition("/")
    if prefix and is_plain(primitive):
        scope = _parsed(f"{prefix}/{_ANY}")
        if not scope.call:
            return scope
    return _parsed(op_name)


class Scopes:
    """The scopes of names without their primitives. Those that differ only in their one number, as layers do, are parsed once: the number
    is in one element, which then differs from all others, whatever it is."""

    def __init__(self) -> None:
        self._known: dict[str, Scope] = {}
        self._forms: dict[str, Scope] = {}

    def of(self, modules: str) -> Scope:
        """The scope of a name that ends in a slash and would go on with any plain primitive."""
        scope = self._known.get(modules)
        if scope is None:
            scope = self._known[modules] = self._new(modules)
        return scope

    def _new(self, modules: str) -> Scope:
        numbers = _NUMBER.findall(modules)
        if len(numbers) != 1 or _REMAT_2 in modules:
            return parse_op_name(modules + _ANY)
        form = _NUMBER.sub(_MARK, modules)
        scope = self._forms.get(form)
        if scope is None:
            scope = self._forms[form] = parse_op_name(form + _ANY)
        if scope.call:
            return parse_op_name(modules + _ANY)
        return Scope(tuple([name.replace(_MARK, numbers[0]) for name in scope.path]), (), scope.transforms)


def is_plain(primitive: str) -> bool:
    """Whether the last element of an op_name does not matter for its scope, unless that ends in a call."""
    return primitive.isidentifier() and primitive not in _CHECKPOINTS


@lru_cache(maxsize=1 << 16)
def _parsed(op_name: str) -> Scope:
    names = _combined(op_name)
    return _common([_parse(name) for name in names]) if len(names) > 1 else _parse(op_name)


def _combined(op_name: str) -> list[str]:
    """The names that XLA's collective combiners joined: `a/(b:c)` is a/b and a/c."""
    prefix, bracket, suffixes = op_name.partition("/(") if not op_name.startswith("(") else ("", "(", op_name[1:])
    if not bracket or not suffixes.endswith(")"):
        return [op_name]
    return [prefix + bracket[:-1] + suffix for suffix in suffixes[:-1].split(":")]


def _common(scopes: list[Scope]) -> Scope:
    """The path that scopes share from the outside in, and the transformations that all of them went through: of those of the backward
    half, if there are any, since gradients are combined with a loss, and with a mean that is only logged."""
    levels = zip(*(scope.path for scope in scopes), strict=False)
    path = tuple(names[0] for names in takewhile(lambda names: len({*names}) == 1, levels))
    latest = [scope for scope in scopes if scope.direction == BACKWARD] or scopes
    if len({scope.direction for scope in latest}) > 1:
        return Scope(path)
    shared = set.intersection(*({*scope.transforms} for scope in latest))
    return Scope(path, (), tuple(each for each in latest[0].transforms if each in shared))


def _parse(op_name: str) -> Scope:
    transforms: dict[str, None] = {}
    elements = _elements(op_name, transforms)
    groups: list[str] = []
    before = _Element()
    for element in elements[:-1]:
        if element.name in _CHECKPOINTS:
            _leave_once(groups)
        if element.name in _BARE_TRANSFORMS:
            transforms[element.name] = None
        elif element.name and not _is_noise(element, before, is_inner=bool(groups)):
            groups.append(element.name)
        before = element
    last = elements[-1] if elements else before
    if last.name in _CHECKPOINTS:
        _leave_once(groups)
    return Scope(tuple(groups), (last.name,) if last.is_function and last.name else (), tuple(transforms))


def _leave_once(groups: list[str]) -> None:
    """Remove the end of a path if it is there twice."""
    for length in range(len(groups) // 2, 0, -1):
        if groups[-length:] == groups[-2 * length : -length]:
            del groups[-length:]
            return


def _is_noise(element: _Element, before: _Element, *, is_inner: bool) -> bool:
    """Whether an element is plumbing, part of a loop, JAX's `jit(main)` inside the user's function, or a scope named twice."""
    return (
        element.name in _PLUMBING
        or (element.name in ("body", "cond") and before.name == "while")
        or (element.name == "main" and element.is_function and is_inner)
        or (element.is_wrapped and element == before)
        or (element.name.startswith(_EQUINOX) and before.name.endswith(f": {element.name.removeprefix(_EQUINOX)}"))
    )


def _elements(op_name: str, transforms: dict[str, None]) -> list[_Element]:
    """The path's elements from the outside in. Adds the transformations to `transforms`.

    A wrapped path `jvp(a/b)` yields two elements, an empty `jvp()` an element without a name. Text in square brackets is not parsed,
    and text in an unknown wrapper stays whole.
    """
    elements: list[_Element] = []
    wrappers: list[str] = []
    pieces: list[str] = []
    foreign = brackets = calls = 0
    is_empty = False

    def emit() -> None:
        name = "".join(pieces)
        head, bracket, parameters = name.partition("[")
        name = head if bracket and "=" in parameters else name  # older JAX: while[cond_nconsts=0]
        elements.append(_Element(name, calls > 0, bool(wrappers)))
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
