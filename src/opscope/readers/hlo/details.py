"""What an HLO instruction carries besides data flow, decoded on demand.

Instructions repeat each other: the 127,000 of a compiled train step have 8,000 different attribute texts. So each text is parsed once
(`Tail`), and instructions with equal text share one `HloDetails`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any, NamedTuple

from opscope.program import NO_DETAILS, Details, Frame, Path, whole_number
from opscope.readers.hlo.attributes import Attribute, decoded, names_computations, read_attributes
from opscope.readers.hlo.frames import FrameTables, frames_of
from opscope.readers.hlo.lexing import unquote, without_comments
from opscope.readers.hlo.scope import NO_SCOPE, Scope, Scopes, parse_op_name

_OP_NAME = re.compile(r'[{ ,]op_name=("(?:[^"\\]++|\\.)*+")')
OP_NAME_START = 'op_name="'
OP_NAME_KEY = "metadata.op_name"
_FIRST_ELEMENT = re.compile(r'op_name="([^"/]*+)')
_INDEX = re.compile(r"[0-9]{1,9}")
_METADATA_SHAPE = (
    r""", metadata=\{(?:op_name="([^"/\\]*+)[^"\\]*+(?:\\.[^"\\]*+)*+")?+"""
    r"""[^"'{}()\[\]/]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"'{}()\[\]/]*+)*+\}"""
)
METADATA = re.compile(_METADATA_SHAPE)
"""Metadata as XLA prints it, with the first element of its op_name."""
METADATA_START = ", metadata={"
_PLAIN_METADATA = re.compile(r""", metadata=\{(?:[a-z_]++=(?:"[^"\\]*+"|[0-9]++)(?: (?!\})|(?=\})))*+\}""")
"""Metadata with nothing but words and numbers in it, which is nearly all of it."""
_PLAIN_MEMBER = re.compile(r"""(?<![a-z_])([a-z_]++)=(?:"([^"\\]*+)"|([0-9]++))""")
_BACKEND_START = ", backend_config="
"""A backend's own settings, which compiled GPU modules have after the metadata, as JSON. They are different for each instruction."""
BEFORE_SHAPE = r"((?:,(?! metadata=\{| backend_config=)[^,\n]*+)*+)"
"""What is before the metadata and a backend's settings."""
TAIL_SHAPE = BEFORE_SHAPE + rf"(?:{_METADATA_SHAPE})?+".replace("[^", r"[^\n")
"""The beginning of a tail, as XLA prints it: what is before the metadata, and the first element of the op_name."""
PAYLOAD_KEYS = {"parameter": "parameter_number", "constant": "value"}

JAX_MODULE = re.compile(r"(?:p?jit|pmap)_")
"""How JAX names modules: the function `step` compiled by jit becomes `jit_step`."""
JITTED = re.compile(r'op_name="((?:p?jit|pmap)\([^"/()]*\))/')
"""An op_name that begins with the compiled function."""


class Context:
    """What all details of a module share: stack frames, the root of its scopes, and who calls which computation.

    The root is the first element of names that are not relative (`jit(step)`, or `jit_step` as modules spell it). It is empty if the
    names are not JAX's.
    """

    def __init__(self, root: str) -> None:
        self.frames = FrameTables()
        self.root = _sanitized(root)
        self.callers: dict[str, tuple[str, HloDetails]] = {}
        self.scopes = Scopes()
        self._is_relative: dict[str, bool] = {}
        self._prefixes: dict[str, Scope] = {}

    def is_relative(self, op_name: str) -> bool:
        """Before inlining, JAX names the contents of a called computation relative to the call."""
        return self.begins_relative(op_name.partition("/")[0])

    def begins_relative(self, first: str) -> bool:
        """Like `is_relative`, for the first element of a name."""
        relative = self._is_relative.get(first)
        if relative is None:
            relative = self._is_relative[first] = bool(self.root) and _sanitized(first) != self.root
        return relative

    def prefix(self, graph: str) -> Scope:
        """The scope of a computation's first call, with the function's name if the call has one: `…/jit(inner)`."""
        chain: list[str] = []
        visited: set[str] = set()
        while graph not in self._prefixes and graph in self.callers and graph not in visited:
            chain.append(graph)
            visited.add(graph)
            caller, call = self.callers[graph]
            if not self.is_relative(call.op_name):
                break
            graph = caller
        for called in reversed(chain):
            caller, call = self.callers[called]
            scope = parse_op_name(call.op_name)
            if self.is_relative(call.op_name):
                scope = scope.below(self._prefixes.get(caller, NO_SCOPE))
            self._prefixes[called] = Scope(scope.path + scope.call, (), scope.transforms)
        return self._prefixes.get(chain[0] if chain else graph, NO_SCOPE)


def _sanitized(element: str) -> str:
    """One form for `jit(<lambda>)`, `pjit(<lambda>)` and the module name `jit__lambda` that JAX derives from them."""
    return re.sub(r"\W", "_", element).removeprefix("p").rstrip("_")


class HloDetails(Details):
    """Details as text: the attributes that follow the instruction."""

    __slots__ = ()
    _op = _payload = _graph = ""
    _context: Context

    @property
    def tail(self) -> str:
        """The attributes as written in the source, for writing HLO again."""
        raise NotImplementedError

    @property
    def payload(self) -> str:
        """The text in the parentheses of a parameter or constant."""
        return self._payload

    @property
    def op_name(self) -> str:
        tail = self.tail
        at = tail.find(OP_NAME_START)
        if at < 0:
            return ""
        start = at + len(OP_NAME_START)
        name = tail[start : tail.find('"', start)]
        if at and tail[at - 1] in "{ ," and "\\" not in name:
            return name
        match = _OP_NAME.search(tail)
        return unquote(match[1]) if match else ""

    def _members(self) -> Mapping[str, str]:
        """The attributes of the tail."""
        return decoded_tail(self.tail)

    def _scope(self) -> Scope:
        name = self.op_name
        # a parameter's name is its path in the arguments: params['layers'][0]
        is_path = self._op == "parameter" and "(" not in name.partition("/")[0]
        scope = NO_SCOPE if is_path else parse_op_name(name)
        return scope.below(self._context.prefix(self._graph)) if self._graph else scope

    @property
    def attrs(self) -> Mapping[str, Any]:
        return self._attrs(self._scope())

    def _attrs(self, scope: Scope) -> Mapping[str, Any]:
        attrs = self._members()
        if self._op:
            return MappingProxyType({PAYLOAD_KEYS[self._op]: self._payload, **attrs, **scope.attrs})
        return MappingProxyType({**attrs, **scope.attrs})

    def whole(self) -> tuple[Mapping[str, Any], Path, tuple[Frame, ...]]:
        scope = self._scope()
        return self._attrs(scope), scope.path, self.source

    def origin(self) -> tuple[str, str | tuple[str, ...], str, Path, tuple[Frame, ...]]:
        attrs, scope = self._members(), self._scope()
        name = attrs.get(OP_NAME_KEY) or attrs.get("op_name", "")
        return name, attrs.get("metadata.stack_frame_id", ""), scope.direction, scope.path, self.source

    @property
    def settings(self) -> Mapping[str, str]:
        return decoded_once(self._settings_text)

    @property
    def _settings_text(self) -> str:
        return _parts(self.tail)[0]

    def key(self, names: frozenset[str] | None) -> Hashable:
        return self._settings_text

    @property
    def scope(self) -> Path:
        return self._scope().path

    @property
    def source(self) -> tuple[Frame, ...]:
        tail = self.tail
        if "stack_frame_id=" not in tail and "source_file=" not in tail:
            return ()
        return frames_of(decoded_tail(tail), self._context.frames)

    @property
    def columns(self) -> tuple[str, ...]:
        number = whole_number(self._members().get("metadata.stack_frame_id", ""))
        return self._context.frames.columns(number) if number else ()


class TailDetails(HloDetails):
    """Details with a text of their own."""

    __slots__ = ("_context", "_text")

    def __init__(self, context: Context, tail: str) -> None:
        self._context = context
        self._text = tail

    @property
    def tail(self) -> str:
        return self._text


class PlacedDetails(TailDetails):
    """Details with more than attributes: the payload of a parameter or constant, or the graph whose calls names are relative to."""

    __slots__ = ("_graph", "_op", "_payload")

    def __init__(self, context: Context, tail: str, op: str = "", payload: str = "", graph: str = "") -> None:
        self._context = context
        self._text = tail
        self._op = op
        self._payload = payload
        self._graph = graph


def decoded_tail(tail: str) -> Mapping[str, str]:
    """The attributes of a tail. The op_name differs from one layer to the next; what is around it is the same in all of them."""
    start = tail.find(OP_NAME_START) + len(OP_NAME_START)
    end = tail.find('"', start)
    if start > len(OP_NAME_START) and end > start:
        name = tail[start:end]
        if "\\" not in name and "{" not in name and (around := decoded_around(tail[:start], tail[end:])):
            return {**around, OP_NAME_KEY: name}
    return decoded_whole(tail)


@lru_cache(maxsize=1 << 14)
def decoded_around(before: str, after: str) -> dict[str, str] | None:
    """The attributes of a tail with an empty op_name; None if that is not the op_name of its metadata, as XLA prints it."""
    settings, metadata = _parts(before + after)
    if len(settings) > len(before) or not _PLAIN_METADATA.fullmatch(metadata):
        return None
    attrs = {**decoded_once(settings), **_members(metadata)}
    return attrs if attrs.get(OP_NAME_KEY) == "" else None


@lru_cache(maxsize=1 << 14)
def decoded_whole(tail: str) -> Mapping[str, str]:
    settings, metadata = _parts(tail)
    if not metadata:
        return decoded_once(settings)
    members = _members(metadata) if _PLAIN_METADATA.fullmatch(metadata) else dict(decoded(metadata))
    return MappingProxyType({**decoded_once(settings), **members})


def _members(metadata: str) -> dict[str, str]:
    return {f"metadata.{key}": text or number for key, text, number in _PLAIN_MEMBER.findall(metadata, len(METADATA_START))}


def _parts(tail: str) -> tuple[str, str]:
    """A tail up to its metadata, and the metadata; everything and nothing if it does not end in metadata as XLA prints it."""
    at = tail.rfind(METADATA_START)
    return (tail[:at], tail[at:]) if at >= 0 and METADATA.fullmatch(tail, at) else (tail, "")


@lru_cache(maxsize=1 << 14)
def decoded_once(text: str) -> Mapping[str, str]:
    return MappingProxyType(dict(decoded(text)))


class Flow(NamedTuple):
    """What an attribute text means for the graph."""

    calls: tuple[str, ...] = ()
    control: tuple[str, ...] = ()
    element: int = -1
    """`index=` of a get-tuple-element, or -1."""

    @classmethod
    def of(cls, text: str, attributes: list[Attribute]) -> Flow:
        calls: list[str] = []
        control: list[str] = []
        element = -1
        for key, start, end in attributes:
            if names_computations(key) and text[start : start + 1] not in ("", '"', "'", "(", "["):
                calls += _names(text[start:end])
            elif key == "control-predecessors":
                control += _names(text[start:end])
            elif key == "index" and _INDEX.fullmatch(text, start, end):
                element = int(text[start:end])
        return cls(tuple(calls), tuple(control), element)


def _names(listed: str) -> list[str]:
    """The names in `%a`, `{%a, %b}` or `{}`."""
    return [name for item in listed.strip("{} ").split(",") if (name := item.strip().lstrip("%"))]


_LAST_CALL = re.compile(r"(.*), (?:calls|to_apply|body|condition)=%?([A-Za-z_][A-Za-z0-9_.-]*+)")


class _Flows(dict[str, Flow]):
    """Flows by their text. Raises KeyError or SourceError for a text that is not exactly a list of attributes on one line."""

    def __missing__(self, text: str) -> Flow:
        last = _LAST_CALL.fullmatch(text)
        if last:  # every fusion has a computation of its own, and what is before its name repeats
            calls, control, element = self[last[1]]
            flow = self[text] = Flow((*calls, last[2]), control, element)
            return flow
        attributes, end = read_attributes(text, 0)
        if end != len(text) or text.endswith("=") or "//" in text or "/*" in text:
            raise KeyError(text)
        flow = self[text] = Flow.of(text, attributes)
        return flow


class Tail(NamedTuple):
    """What follows an instruction's operands: the text, its details, and its meaning for the graph."""

    text: str
    details: Details | None
    """None if the op_name is relative: then each computation needs its own."""
    flow: Flow


_new_tail: Callable[[tuple[str, Details | None, Flow]], Tail] = partial(tuple.__new__, Tail)
"""Without a step in Python: compiled GPU modules have a tail for each instruction."""


MOST_KNOWN = 1 << 15


def plain_payload(payload: str) -> str:
    """The payload of a parameter or constant without comments. Raises KeyError if it does not end where its line does."""
    if payload.isdecimal():
        return payload
    if payload.count("{") != payload.count("}"):
        raise KeyError(payload)
    return without_comments(payload).strip()


class Tails:
    """Tails by their text. A text that is not exactly a list of attributes on one line raises KeyError or SourceError."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.known: dict[str, Tail] = {}
        self._known_with_payload: dict[tuple[str, str, str], Tail] = {}
        self._flows = _Flows()
        self._backends: set[str] = set()
        self._absolute: set[str] = set()
        """First elements of an op_name that are not relative."""

    def spare_memory(self) -> None:
        """Forget tails once there are many: in a very large module, few come again."""
        for known in (self.known, self._known_with_payload):
            if len(known) > MOST_KNOWN:
                known.clear()

    def printed(self, text: str, before: str, first: str, rest: str) -> Tail:
        """The tail of a line, from the text and its parts by `TAIL_SHAPE`. Metadata and a backend's settings are unique and irrelevant to
        the graph; the text before them repeats."""
        flow = self._flows[text if rest and not self._is_backend(rest) else before]
        if first in self._absolute:  # almost always, so this is the hot path
            tail = _new_tail((text, TailDetails(self.context, text), flow))
        else:
            tail = self._tail(text, flow, "", "", first)
        self.known[text] = tail
        return tail

    def with_payload(self, op: str, payload: str, text: str, before: str, first: str, rest: str) -> Tail:
        """The tail of a parameter or constant, which includes its payload."""
        key = op, payload, text
        tail = self._known_with_payload.get(key)
        if tail is None:
            payload = plain_payload(payload)
            flow = self._flows[text if rest and not self._is_backend(rest) else before]
            if first in self._absolute:
                tail = _new_tail((text, self._details(text, op, payload), flow))
            else:
                tail = self._tail(text, flow, op, payload, first)
            self._known_with_payload[key] = tail
        return tail

    def assembled(self, text: str, op: str, payload: str) -> Tail:
        """A tail that the careful reader assembled."""
        return self._tail(text, Flow.of(text, read_attributes(text, 0)[0]), op, payload)

    def flow_before(self, before: str, rest: str) -> Flow | None:
        """What a tail means for the graph, by what is before and after its metadata; None if that depends on all of its text."""
        return None if rest and not self._is_backend(rest) else self._flows[before]

    def _is_backend(self, text: str) -> bool:
        """Whether the text is a backend's settings and nothing else: JSON cannot end in the middle and go on as another attribute."""
        if text not in self._backends:
            try:
                is_object = text.startswith(_BACKEND_START + "{") and json.loads(text[len(_BACKEND_START) :]) is not None
            except (ValueError, RecursionError):
                is_object = False
            if not is_object:
                return False
            self._backends.add(text)
        return True

    def _tail(self, text: str, flow: Flow, op: str, payload: str, first: str = "") -> Tail:
        """`first` is the first element of the op_name, if it is already known."""
        if not text and not op:
            return Tail(text, NO_DETAILS, flow)
        if not first:
            match = _FIRST_ELEMENT.search(text) if OP_NAME_START in text else None
            if match is None:
                return _new_tail((text, self._details(text, op, payload), flow))
            first = match[1]
        if self.context.begins_relative(first):
            return _new_tail((text, None, flow))
        if first:
            self._absolute.add(first)
        return _new_tail((text, self._details(text, op, payload), flow))

    def _details(self, text: str, op: str, payload: str) -> HloDetails:
        return PlacedDetails(self.context, text, op, payload) if op else TailDetails(self.context, text)
