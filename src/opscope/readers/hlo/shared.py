"""Details in a very large module, where nearly every instruction has a text of its own: what their texts share is stored and decoded once.

, lhs_contracting_dims={1}, metadata={op_name="jit(f)/layer_3/attention/dot" source_line=7}      consists of
, lhs_contracting_dims={1}, metadata={op_name="                        dot" source_line=7}      which each layer has, and of
                                               jit(f)/layer_3/attention/                         which each operation of a module has
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from operator import add, attrgetter, itemgetter
from types import MappingProxyType
from typing import Any, Self, TypeAlias

from opscope.program import Frame, Path, Resembling
from opscope.readers.hlo.details import (
    BEFORE_SHAPE,
    METADATA,
    METADATA_START,
    MOST_KNOWN,
    OP_NAME_KEY,
    OP_NAME_START,
    PAYLOAD_KEYS,
    Context,
    Flow,
    HloDetails,
    Tails,
    decoded_around,
    decoded_tail,
    plain_payload,
)
from opscope.readers.hlo.frames import frames_of
from opscope.readers.hlo.scope import NO_SCOPE, Scope, is_plain, parse_op_name

_START = METADATA_START + OP_NAME_START
_PLAIN = Flow()
SHARED_SHAPE = (
    rf"(?:{BEFORE_SHAPE}{_START.replace('{', '[{]')}"
    r'((?:[^"/\\\n{]*+/)++)([^"/\\\n{]*+"'
    r"""[^"'{}()\[\]/\n]*+(?:"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"[^"'{}()\[\]/\n]*+)*+\}[^\n]*+)"""
    r"|([^\n]*+))"
)
"""A tail as XLA prints it: what is before its op_name, the op_name up to its last slash, and the rest. Or a tail of another shape."""


def tail_of(before: str, modules: str, after: str) -> str:
    """A tail that is in parts."""
    return f"{before}{_START}{modules}{after}"


class Around:
    """What is around the modules in a tail, decoded when somebody looks at it."""

    __slots__ = ("_members", "_source", "after", "before", "context", "flow", "is_plain_name", "is_special", "name", "settings")

    def __init__(self, context: Context, before: str, after: str, flow: Flow, settings: str | None) -> None:
        self.context = context
        self.before = before
        self.after = after
        self.flow = flow
        self.is_special = flow != _PLAIN
        self.settings = settings
        """The part of the text that decides what an operation computes; None if it is the whole."""
        self.name = after.partition('"')[0]
        """The op_name after the modules."""
        self.is_plain_name = is_plain(self.name)
        self._members: Mapping[str, str] | None = None
        self._source: tuple[Frame, ...] | None = None

    def tail(self, modules: str) -> str:
        return tail_of(self.before, modules, self.after)

    def op_name(self, modules: str) -> str:
        return modules + self.name

    def scope(self, modules: str) -> Scope:
        if not self.is_plain_name or modules == "/":
            return parse_op_name(modules + self.name)
        scope = self.context.scopes.of(modules)
        return parse_op_name(modules + self.name) if scope.call else scope

    def members(self, modules: str) -> Mapping[str, str]:
        """The attributes, with the op_name in its place."""
        members = self._members or self._decode()
        return {**members, OP_NAME_KEY: modules + self.name} if members else decoded_tail(self.tail(modules))

    def _decode(self) -> Mapping[str, str]:
        if self._members is None:
            self._members = decoded_around(self.before + _START, self.after[len(self.name) :]) or {}
        return self._members

    def stack(self) -> str | None:
        """The number of XLA's frames, which may be empty; None if a tail has to be decoded as a whole."""
        members = self._members or self._decode()
        return members.get("metadata.stack_frame_id", "") if members else None

    @property
    def is_common(self) -> bool:
        """Whether tails with other modules have the same attributes, except for the op_name."""
        return bool(self._members or self._decode())

    def source(self, modules: str) -> tuple[Frame, ...]:
        source = self._source
        if source is None:
            text = self.before + self.after
            has_place = "stack_frame_id=" in text or "source_file=" in text
            source = self._source = frames_of(self.members(modules), self.context.frames) if has_place else ()
        return source


_TRANSFORMS, _PATH = attrgetter("transforms"), attrgetter("path")

_Shared: TypeAlias = tuple[str, Around]
"""The modules, and what is around them."""


class SharedDetails(HloDetails, tuple[str, Around]):  # type: ignore[misc]
    """The modules of an instruction, and what is around them; a tuple, because those are made quickest."""

    __slots__ = ()

    @property
    def _context(self) -> Context:  # type: ignore[override]
        return self[1].context

    @property
    def tail(self) -> str:
        return self[1].tail(self[0])

    @property
    def op_name(self) -> str:
        return self[1].op_name(self[0])

    def _members(self) -> Mapping[str, str]:
        return self[1].members(self[0])

    def _scope(self) -> Scope:
        return self[1].scope(self[0])

    def origin(self) -> tuple[str, str | tuple[str, ...], str, Path, tuple[Frame, ...]]:
        modules, around = self[0], self[1]
        stack = around.stack()
        if stack is None:
            return super().origin()
        scope = self._scope()
        return around.op_name(modules), stack, scope.direction, scope.path, around.source(modules)

    @property
    def _settings_text(self) -> str:
        settings = self[1].settings
        return self.tail if settings is None else settings

    @property
    def source(self) -> tuple[Frame, ...]:
        return self[1].source(self[0])

    @classmethod
    def resembling(cls, details: Sequence[Self]) -> Resembling | None:
        modules, arounds = list(map(itemgetter(0), details)), list(map(itemgetter(1), details))
        scope_of = {each: arounds[0].context.scopes.of(each) for each in dict.fromkeys(modules)}
        scopes = list(map(scope_of.__getitem__, modules))
        odd = {around for around in set(arounds) if not around.is_plain_name}
        calls = {each for each, scope in scope_of.items() if each == "/" or scope.call}
        if odd or calls:
            scopes = [
                around.scope(each) if around in odd or each in calls else scope
                for each, around, scope in zip(modules, arounds, scopes, strict=True)
            ]
        commons: list[Hashable] = list(zip(arounds, map(_TRANSFORMS, scopes), strict=True))
        alone = {around for around in set(arounds) if not around.is_common}
        if alone:
            commons = [None if around in alone else common for around, common in zip(arounds, commons, strict=True)]
        texts = map(add, modules, map(attrgetter("name"), arounds))
        return Resembling(commons, list(map(_PATH, scopes)), OP_NAME_KEY, texts)


class SharedPlacedDetails(SharedDetails):
    """The same for parameters and constants, with the operation and its payload."""

    __slots__ = ()

    @property
    def _op(self) -> str:  # type: ignore[override]
        return self[2]  # type: ignore[misc,no-any-return]

    @property
    def _payload(self) -> str:  # type: ignore[override]
        return self[3]  # type: ignore[misc,no-any-return]

    def _scope(self) -> Scope:
        modules = self[0]
        # as in `HloDetails`: a parameter's name is its path in the arguments
        return NO_SCOPE if self._op == "parameter" and "(" not in modules.partition("/")[0] else self[1].scope(modules)

    def whole(self) -> tuple[Mapping[str, Any], Path, tuple[Frame, ...]]:
        """In one step: a large module has hundreds of thousands of parameters, and each has its own payload."""
        modules, around, op, payload = self  # type: ignore[misc]
        scope = self._scope()
        members = around.members(modules)
        return MappingProxyType({PAYLOAD_KEYS[op]: payload, **members, **scope.attrs}), scope.path, around.source(modules)

    @classmethod
    def resembling(cls, details: Sequence[Self]) -> None:
        """Each has its own payload."""
        return


class _Arounds(dict[tuple[str, str], Around | None]):
    """By what is before and after the modules. None if the tail has to be read as a whole."""

    def __init__(self, tails: Tails) -> None:
        super().__init__()
        self._tails = tails

    def __missing__(self, key: tuple[str, str]) -> Around | None:
        before, after = key
        metadata = METADATA.match(_START + after)
        around = None
        if metadata and after and OP_NAME_START not in before:
            rest = after[metadata.end() - len(_START) :]
            flow = self._tails.flow_before(before, rest)
            if flow is not None:
                around = Around(self._tails.context, before, after, flow, None if rest or METADATA_START in after else before)
        self[key] = around
        return around


class _Modules(dict[str, str | None]):
    """By the text of modules, the one object that all have. None if it is relative to the call of its computation."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context

    def __missing__(self, text: str) -> str | None:
        modules = self[text] = text if text and not self._context.begins_relative(text.partition("/")[0]) else None
        return modules


_new: Callable[[_Shared], SharedDetails] = partial(tuple.__new__, SharedDetails)
_Key: TypeAlias = tuple[str | None, Around | None]


class SharedTails:
    """Tails of a very large module, in parts by `SHARED_SHAPE`. Those that are read as a whole are left to `Tails`."""

    def __init__(self, tails: Tails) -> None:
        self._arounds = _Arounds(tails)
        self._modules = _Modules(tails.context)
        self._known: dict[_Key | tuple[str | None, Around | None, str, str], SharedDetails] = {}

    def spare_memory(self) -> None:
        """Forget what there is too much of to come again."""
        for known in (self._arounds, self._known):
            if len(known) > MOST_KNOWN:
                known.clear()

    def parts(self, starts: Iterable[str], modules: Iterable[str], ends: Iterable[str]) -> list[_Key]:
        """The parts of many tails. One of them is None if a tail is to be read as a whole."""
        arounds = map(self._arounds.__getitem__, zip(starts, ends, strict=True))
        return list(zip(map(self._modules.__getitem__, modules), arounds, strict=True))

    def details(self, parts: Sequence[_Key]) -> list[SharedDetails]:
        """The details of tails, which those with the same parts share."""
        known = self._known
        new = [key for key in parts if key not in known]
        known.update(zip(new, map(_new, new), strict=True))  # type: ignore[arg-type]
        return list(map(known.__getitem__, parts))

    def with_payload(self, parts: _Key, op: str, payload: str) -> SharedDetails:
        """The details of a parameter or constant. Raises KeyError if its payload does not end in its line."""
        key = (*parts, op, payload)
        details = self._known.get(key)
        if details is None:
            details = self._known[key] = tuple.__new__(SharedPlacedDetails, (*parts, op, plain_payload(payload)))
        return details
