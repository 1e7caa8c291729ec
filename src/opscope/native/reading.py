"""The reader. It checks the rules of the schema by hand: someone with one wrong field in 50,000 nodes needs its path, and a general
schema validator takes minutes where this takes a second."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from opscope.errors import OpscopeError, SourceError
from opscope.gc_pause import without_collecting
from opscope.naming import suggest
from opscope.native.bulk import BulkNodes, Rest
from opscope.native.format import (
    DOCUMENT_FIELDS,
    FORMAT,
    FRAME_FIELDS,
    GRAPH_FIELDS,
    METRIC_FIELDS,
    NODE_FIELDS,
    PROGRAM_FIELDS,
    TYPE_FIELDS,
    VERSION,
)
from opscope.native.place import place_of
from opscope.native.sparing import SparingParser, Unusual
from opscope.program import (
    LARGE,
    MOST_LINES,
    NO_DETAILS,
    ROLES,
    Details,
    Frame,
    GraphBuilder,
    GrowingColumns,
    KnownDetails,
    Link,
    Metric,
    Node,
    Path,
    Program,
    ProgramBuilder,
    Role,
    TensorType,
    TextDetails,
    ValueRef,
)

_MOST_TYPES = 1 << 14
"""Lists of types that are remembered; the nodes of a program share few."""
_KNOWN: dict[tuple[str, ...], frozenset[str]] = {
    fields: frozenset(fields)
    for fields in (DOCUMENT_FIELDS, FRAME_FIELDS, GRAPH_FIELDS, METRIC_FIELDS, NODE_FIELDS, PROGRAM_FIELDS, TYPE_FIELDS)
}


def loads(text: str) -> list[Program]:
    """The programs of a document. A SourceError names the path, line and column of the first wrong field."""
    with without_collecting():
        try:
            return decode(_parse_sparingly(text))
        except (Unusual, _FieldError, SourceError):
            document = _parse(text)  # once more, in the order in which errors are reported
        try:
            return decode(document)
        except SourceError as error:
            line, column = place_of(text, error.path)
            raise SourceError(error.message, line=line, column=column, path=error.path) from None


def _parse_sparingly(text: str) -> Any:
    """The document with its nodes decoded. The tables of what they share are gone when the program is built."""
    shared = _Shared()
    bulk = None
    if len(text) > LARGE:
        bulk = BulkNodes(lambda raw: _decode_rest(raw, shared), lambda raw: _decode_types(raw, shared), shared.text_details)
    return SparingParser(text, lambda raw: _decode_node(raw, shared), _no_constant, bulk).document()


def _parse(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise SourceError(f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}", line=error.lineno, column=error.colno) from None
    except RecursionError:
        raise SourceError("not an opscope program: the JSON is nested too deeply") from None
    except ValueError as error:
        raise SourceError(f"not JSON: {error}") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value; write it as text")


def decode(document: Any) -> list[Program]:
    """The programs of a parsed document. A SourceError names the path of the first wrong field: `graphs[0].nodes[3].inputs[1][0]`."""
    try:
        return _decode_document(document)
    except _FieldError as wrong:
        raise SourceError(f"{wrong.path}: {wrong.message}" if wrong.path else wrong.message, path=wrong.path) from None


class _FieldError(ValueError):
    """A wrong field, with its path relative to the object being decoded. Each outer level prepends its part."""

    def __init__(self, path: str, message: str) -> None:
        self.path = path
        self.message = message

    def inside(self, outer: str) -> _FieldError:
        joined = outer + self.path if not self.path or self.path.startswith("[") else f"{outer}.{self.path}"
        return _FieldError(joined, self.message)


def _decode_document(document: Any) -> list[Program]:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise _FieldError("format", f'must be "{FORMAT}"; this is another kind of JSON')
    version = _whole(document.get("version"), "version")
    if version > VERSION:
        raise _FieldError("version", f"{version} is from a newer opscope; this one reads up to {VERSION}. Upgrade opscope to open it")
    if version < 1:
        raise _FieldError("version", f"must be {VERSION}")
    _check_fields(document, DOCUMENT_FIELDS)
    if "programs" not in document:
        return [_decode_program(document)]
    for field in PROGRAM_FIELDS:
        if field in document:
            raise _FieldError(field, 'is not allowed next to "programs"; put it into each program')
    programs = []
    for i, raw in enumerate(_list(document["programs"], "programs")):
        try:
            _check_fields(_object(raw, ""), PROGRAM_FIELDS)
            programs.append(_decode_program(raw))
        except _FieldError as wrong:
            raise wrong.inside(f"programs[{i}]") from None
    if not programs:
        raise _FieldError("programs", "must contain at least one program")
    return programs


def _decode_program(raw: dict[str, Any]) -> Program:
    builder = ProgramBuilder(_text(raw.get("name", ""), "name"), _name(raw.get("entry"), "entry"))
    builder.attrs = _object(raw.get("attrs", {}), "attrs")
    for name, definition in _object(raw.get("metrics", {}), "metrics").items():
        builder.metric(_decode_metric(name, definition))
    shared = _Shared()
    try:
        for g, raw_graph in enumerate(_list(raw.get("graphs"), "graphs")):
            try:
                _decode_graph(builder, raw_graph, shared)
            except _FieldError as wrong:
                raise wrong.inside(f"graphs[{g}]") from None
        return builder.build()
    except SourceError as error:
        raise _FieldError(error.path, error.message) from None


def _decode_metric(name: str, raw: Any) -> Metric:
    at = f"metrics.{name}"
    _check_fields(_object(raw, at), METRIC_FIELDS, at)
    texts = {field: _text(value, f"{at}.{field}") for field, value in raw.items()}
    try:
        return Metric(name, **texts)  # type: ignore[arg-type]  # it checks the origin
    except OpscopeError as error:
        raise _FieldError(at, str(error)) from None


def _decode_graph(program: ProgramBuilder, raw: Any, shared: _Shared) -> None:
    _check_fields(_object(raw, ""), GRAPH_FIELDS)
    graph = program.graph(_name(raw.get("name"), "name"))
    graph.attrs = _object(raw.get("attrs", {}), "attrs")
    if isinstance(raw.get("nodes"), GrowingColumns):
        graph.columns = raw["nodes"]
    else:
        _decode_nodes(graph, raw.get("nodes"), shared)
    graph.outputs = list(_decode_refs(raw.get("outputs", []), "outputs", shared))
    _decode_groupings(graph, raw.get("groupings", {}))
    for metric, column in _object(raw.get("metrics", {}), "metrics").items():
        graph.metrics[metric] = _object(column, f"metrics.{metric}")


def _decode_nodes(graph: GraphBuilder, raw: Any, shared: _Shared) -> None:
    for i, raw_node in enumerate(_list(raw, "nodes")):
        try:
            graph.add(raw_node if type(raw_node) is Node else _decode_node(raw_node, shared))
        except _FieldError as wrong:
            raise wrong.inside(f"nodes[{i}]") from None


def _decode_groupings(graph: GraphBuilder, raw: Any) -> None:
    for grouping, paths in _object(raw, "groupings").items():
        at = f"groupings.{grouping}"
        graph.groupings[grouping] = {node_id: _decode_texts(path, f"{at}.{node_id}") for node_id, path in _object(paths, at).items()}


class _Shared:
    """Texts, scopes and types that many nodes share, so that each is in memory once."""

    def __init__(self) -> None:
        self.text: dict[str, str] = {}
        self.types: dict[str, tuple[TensorType, ...]] = {}
        """By their text, which differs where JSON does: 1, 1.0 and true are equal in Python."""
        self.type: dict[TensorType, TensorType] = {}
        self.path: dict[Path, Path] = {}
        self.frame: dict[Frame, Frame] = {}
        self._keys: dict[Path, Path] = {}
        self._texts: dict[tuple[Any, ...], TextDetails] = {}

    def known_details(self, attrs: dict[str, Any], scope: Path, source: tuple[Frame, ...]) -> Details:
        """Details of which nodes with equal ones share one object, if their attributes are texts."""
        values = tuple(attrs.values())
        if not {*map(type, values)} <= {str}:
            return KnownDetails(attrs, scope, source)
        return self.text_details(tuple(attrs), values, scope, source)

    def text_details(self, keys: Path, values: Path, scope: Path, source: tuple[Frame, ...] = ()) -> Details:
        if not keys and not scope and not source:
            return NO_DETAILS
        scope = self.path.setdefault(scope, scope)
        key = (keys, values, scope, source)
        details = self._texts.get(key)
        if details is None:
            keys = self._keys.setdefault(keys, keys)
            details = self._texts[key] = TextDetails(keys, values, scope, source)
        return details


def _decode_node(raw: Any, shared: _Shared) -> Node:
    if type(raw) is not dict:
        raise _FieldError("", f"must be an object, not {_kind(raw)}")
    get = raw.get
    _check_fields(raw, NODE_FIELDS)
    role: Role = "op"
    inputs: tuple[ValueRef, ...] = ()
    outputs: tuple[TensorType, ...] = ()
    calls: Path = ()
    control: Path = ()
    links: tuple[Link, ...] = ()
    details = NO_DETAILS
    text = shared.text.setdefault
    id = _text(get("id"), "id")
    op = _text(get("op"), "op")
    if "role" in raw:
        role = raw["role"]
        if role not in ROLES:
            raise _FieldError("role", f"must be one of {', '.join(ROLES)}")
    if "inputs" in raw:
        inputs = _decode_refs(raw["inputs"], "inputs", shared)
    if "outputs" in raw:
        outputs = _decode_types(raw["outputs"], shared)
    if "calls" in raw:
        calls = _decode_texts(raw["calls"], "calls")
    if "control" in raw:
        control = _decode_texts(raw["control"], "control")
    if "links" in raw:
        links = tuple([_decode_link(link, f"links[{k}]") for k, link in enumerate(_list(raw["links"], "links"))])
    if "attrs" in raw or "scope" in raw or "source" in raw:
        attrs = _object(get("attrs", {}), "attrs")
        scope = _decode_texts(get("scope", []), "scope")
        frames = [_decode_frame(frame, f"source[{k}]", shared) for k, frame in enumerate(_list(get("source", []), "source"))]
        if attrs or scope or frames:
            details = shared.known_details(attrs, shared.path.setdefault(scope, scope), tuple(frames))
    return Node(text(id, id), text(op, op), inputs, outputs, role, calls, control, links, details)


def _decode_rest(raw: dict[str, Any], shared: _Shared) -> Rest:
    _, _, _, _, _, calls, control, links, details = _decode_node({"id": "", "op": "", **raw}, shared)
    return calls, control, links, details


def _decode_refs(raw: Any, at: str, shared: _Shared) -> tuple[ValueRef, ...]:
    refs = []
    text = shared.text
    for k, ref in enumerate(_list(raw, at)):
        if type(ref) is not list or len(ref) != 2:
            raise _FieldError(f"{at}[{k}]", "must be a pair [node id, output index]")
        name, index = ref
        if type(name) is not str:
            raise _FieldError(f"{at}[{k}][0]", f"must be the id of a node (text), not {_kind(name)}")
        if type(index) is not int:
            index = _whole(index, f"{at}[{k}][1]")
        if index < -1:
            raise _FieldError(f"{at}[{k}][1]", "must be an output index, or -1 for all outputs together")
        refs.append((text.setdefault(name, name), index))
    return tuple(refs)


def _decode_types(raw: Any, shared: _Shared) -> tuple[TensorType, ...]:
    text = repr(raw)
    decoded = shared.types.get(text)
    if decoded is None:
        decoded = _each_type(raw, shared)
        if len(shared.types) < _MOST_TYPES:
            shared.types[text] = decoded
    return decoded


def _each_type(raw: Any, shared: _Shared) -> tuple[TensorType, ...]:
    types = []
    try:
        for each in _list(raw, ""):
            types.append(_decode_type(each, shared))
    except _FieldError as wrong:
        raise wrong.inside(f"outputs[{len(types)}]" if type(raw) is list else "outputs") from None
    return tuple(types)


def _decode_type(raw: Any, shared: _Shared) -> TensorType:
    raw = _object(raw, "")
    dtype = _text(raw.get("dtype"), "dtype")
    dims = _list(raw.get("shape", []), "shape")
    for i, dim in enumerate(dims):
        if type(dim) is not int and type(dim) is not str:
            dims = [*dims[:i], _whole(dim, f"shape[{i}]", "a number or text"), *dims[i + 1 :]]
    layout = _text(raw.get("layout", ""), "layout")
    _check_fields(raw, TYPE_FIELDS)
    tensor_type = TensorType(dtype, tuple(dims), layout)
    return shared.type.setdefault(tensor_type, tensor_type)


def _decode_link(raw: Any, at: str) -> Link:
    parts = _decode_texts(raw, at)
    if len(parts) not in (2, 3):
        raise _FieldError(at, "must be [kind, node id] or [kind, node id, graph name]")
    return Link(*parts)


def _decode_frame(raw: Any, at: str, shared: _Shared) -> Frame:
    _check_fields(_object(raw, at), FRAME_FIELDS, at)
    file = _text(raw.get("file"), f"{at}.file")
    line = _whole(raw.get("line", 0), f"{at}.line")
    if not 0 <= line <= MOST_LINES:
        raise _FieldError(f"{at}.line", "must be the number of a line, or 0 if it is unknown")
    frame = Frame(file, line, _text(raw.get("function", ""), f"{at}.function"))
    return shared.frame.setdefault(frame, frame)


def _decode_texts(raw: Any, at: str) -> tuple[str, ...]:
    for k, text in enumerate(_list(raw, at)):
        if type(text) is not str:
            raise _FieldError(f"{at}[{k}]", f"must be text, not {_kind(text)}")
    return tuple(raw)


def _check_fields(raw: dict[str, Any], fields: tuple[str, ...], at: str = "") -> None:
    if raw.keys() <= _KNOWN[fields]:
        return
    for key in raw:
        if key not in fields:
            otherwise = f"; expected {', '.join(fields)}; put other facts into attrs"
            raise _FieldError(at, f"has an unknown field {json.dumps(key)}" + suggest(key, fields, otherwise, spelled=json.dumps))


def _text(value: Any, at: str) -> str:
    if type(value) is not str:
        raise _FieldError(at, "is missing" if value is None else f"must be text, not {_kind(value)}")
    return value


def _name(value: Any, at: str) -> str:
    if not _text(value, at):
        raise _FieldError(at, "must not be empty")
    return str(value)


def _whole(value: Any, at: str, what: str = "a whole number") -> int:
    """An int. JSON has only one kind of number, so 1.0 counts as 1."""
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    raise _FieldError(at, "is missing" if value is None else f"must be {what}, not {_kind(value)}")


def _list(value: Any, at: str) -> list[Any]:
    if type(value) is not list:
        raise _FieldError(at, "is missing" if value is None else f"must be a list, not {_kind(value)}")
    return value


def _object(value: Any, at: str) -> dict[str, Any]:
    if type(value) is not dict:
        raise _FieldError(at, "is missing" if value is None else f"must be an object, not {_kind(value)}")
    return value


def _kind(value: Any) -> str:
    names = {str: "text", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return names.get(type(value), "null")
