"""opscope's own JSON: it reads back equal, the bytes are stable, and errors name the path of the wrong field."""

from __future__ import annotations

import copy
import json
from importlib.resources import files
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from programs import F32, everything, programs

from opscope import native
from opscope.errors import SourceError
from opscope.native.place import place_of
from opscope.native.sparing import SparingParser, Unusual
from opscope.program import KnownDetails, Node, Program, ProgramBuilder

SCHEMA = json.loads(files("opscope").joinpath("schema/opscope-1.schema.json").read_text("utf-8"))


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs())
def test_a_program_reads_back_equal_and_writes_the_same_bytes(program: Program) -> None:
    text = native.dumps(program)
    (again,) = native.loads(text)
    assert again == program
    assert native.dumps(again) == text
    jsonschema.validate(json.loads(text), SCHEMA)


def test_one_node_per_line_so_that_files_can_be_diffed() -> None:
    lines = native.dumps(everything()).split("\n")
    assert sum('"op": ' in line for line in lines) == sum(line.count('"op": ') for line in lines) == 6


def test_the_format_that_other_tools_rely_on() -> None:
    document = json.loads(native.dumps(everything()))
    assert document["format"] == "opscope" and document["version"] == 1
    assert document["name"] == "jit_step" and document["entry"] == "main.7"
    node = document["graphs"][1]["nodes"][3]
    assert node["inputs"] == [["Arg_0.1", 0], ["pair", 1]]
    assert node["outputs"] == [{"dtype": "f32", "shape": [2, 3], "layout": "{1,0}"}]
    assert node["scope"] == ["step", "layer_0: Layer"]
    assert node["calls"] == ["fused_computation.1"] and node["control"] == ["send.1"]
    assert node["links"] == [["backward_of", "pair"], ["same_as", "t", "fused_computation.1"]]
    assert node["source"] == [{"file": "model.py", "line": 12, "function": "forward"}, {"file": "main.py", "line": 3}]
    assert document["graphs"][1]["groupings"] == {"partition": {"add.3": ["partition 0", "cluster q1"]}}


def test_several_programs_in_one_file() -> None:
    both = [everything(), everything()]
    text = native.dumps(both)
    assert native.loads(text) == both
    jsonschema.validate(json.loads(text), SCHEMA)


def test_attributes_that_json_cannot_express_become_text_and_stay_stable() -> None:
    class Opaque:
        def __str__(self) -> str:
            return "torch.float32"

    builder = ProgramBuilder("p")
    loop: list[Any] = []
    loop.append(loop)
    attrs = {"nan": float("nan"), "set": {"b", "a"}, "dtype": Opaque(), "keys": {(1, 2): 3}, "loop": loop, "tuple": (1, 2)}
    attrs["\ud800"] = 1
    builder.graph("g").node("n", "op", attrs=attrs)
    text = native.dumps(builder.build())
    read = native.loads(text.encode("utf-8", "backslashreplace").decode())[0].main["n"].attrs
    assert read["nan"] == "nan" and read["set"] == ["a", "b"] and read["dtype"] == "torch.float32" and read["tuple"] == [1, 2]
    assert read["keys"] == "{(1, 2): 3}" and read["loop"] == "[[...]]" and read["\ud800"] == 1
    assert native.dumps(native.loads(text)[0]) == text


def document() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(native.dumps(everything()))
    return data


NODE = ("graphs", 1, "nodes", 3)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ((*NODE, "inputs", 1, 0), 7, "graphs[1].nodes[3].inputs[1][0]: must be the id of a node (text), not a number"),
        ((*NODE, "inputs", 1, 0), "nobody", "graphs[1].nodes[3].inputs[1]: input 'nobody' of 'add.3' is not a node"),
        ((*NODE, "inputs", 1, 1), 2, "graphs[1].nodes[3].inputs[1]: 'add.3' uses output 2 of 'pair'"),
        ((*NODE, "calls"), ["x"], "graphs[1].nodes[3].calls[0]: 'add.3' in graph 'main.7' calls 'x'"),
        ((*NODE, "control", 0), "x", "graphs[1].nodes[3].control[0]: control predecessor 'x' of 'add.3' is not a node"),
        ((*NODE, "links", 1, 2), "x", "graphs[1].nodes[3].links[1]: link 'same_as' of 'add.3' leads to x/"),
        ((*NODE, "role"), "user", "graphs[1].nodes[3].role: must be one of op, parameter"),
        ((*NODE, "outputs", 0, "shape", 1), 1.5, "graphs[1].nodes[3].outputs[0].shape[1]: must be a number or text"),
        ((*NODE, "source", 0, "line"), "12", "graphs[1].nodes[3].source[0].line: must be a whole number, not text"),
        ((*NODE, "input"), [], 'graphs[1].nodes[3]: has an unknown field "input"; did you mean "inputs"?'),
        ((*NODE, "\nput"), [], 'graphs[1].nodes[3]: has an unknown field "\\nput"; did you mean "inputs"?'),
        (("graphs", 1, "nodes", 2, "id"), "pair", "graphs[1].nodes[2].id: duplicate id 'pair'"),
        (("graphs", 1, "nodes", 2, "id"), None, "graphs[1].nodes[2].id: is missing"),
        (("graphs", 1, "name"), "fused_computation.1", "graphs[1].name: duplicate graph"),
        (("graphs", 1, "outputs", 0, 0), "x", "graphs[1].outputs[0]: output 'x' #0 of graph 'main.7' is not a value"),
        (("graphs", 1, "groupings", "partition", "x"), [], "graphs[1].groupings.partition: grouping 'partition' contains 'x'"),
        (("entry",), "main", "entry: entry 'main' is not a graph of the program; there are: fused_computation.1, main.7"),
        (("graphs",), [], "graphs: contains no graph"),
        (("version",), 2, "version: 2 is from a newer opscope; this one reads up to 1. Upgrade opscope"),
        (("format",), "netron", 'format: must be "opscope"'),
        (("programs",), [], 'name: is not allowed next to "programs"'),
    ],
)
def test_the_first_error_is_named_by_its_path(path: tuple[Any, ...], value: Any, message: str) -> None:
    wrong = document()
    *outer, last = path
    at: Any = wrong
    for key in outer:
        at = at[key]
    at[last] = value
    with pytest.raises(SourceError) as caught:
        native.decode(wrong)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"format": "opscope",\n "version" 1}', "line 2, column 12: not JSON: expecting ':' delimiter"),
        ('{"format": "opscope", "version": NaN}', "not JSON: NaN is not a JSON value; write it as text"),
        ("[" * 100_000, "not an opscope program: the JSON is nested too deeply"),
        ("[]", 'line 1, column 1: format: must be "opscope"; this is another kind of JSON'),
    ],
)
def test_text_that_is_not_a_program_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        native.loads(text)
    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)


def test_a_wrong_field_has_a_line_and_a_column() -> None:
    """Editors jump to LINE:COL; in a large file, nothing else helps."""
    lines = native.dumps(everything()).split("\n")
    at = next(i for i, line in enumerate(lines) if '"id": "add.3"' in line)
    lines[at] = lines[at].replace('["pair", 1]', '["nobody", 1]')
    with pytest.raises(SourceError) as caught:
        native.loads("\n".join(lines))
    assert (caught.value.line, caught.value.column) == (at + 1, lines[at].index('["nobody", 1]') + 1)
    assert caught.value.path == "graphs[1].nodes[3].inputs[1]"


SOME_PATHS = ["graphs[0].nodes[1].inputs[0]", "graphs[0].nodes[3].inputs[1][0]", "", "[0][0]", "a.b[0]", "groupings.a.b"]


@given(st.text('ab.[]0{}: \n"\\', max_size=12), st.sampled_from(SOME_PATHS))
def test_looking_for_a_place_never_fails(extra: str, path: str) -> None:
    text = json.dumps({"graphs": [{"nodes": [1, {"inputs": [extra]}], extra: {}}], "a": {"b": [extra]}}, indent=1)
    line, column = place_of(text, path)
    assert 1 <= line <= text.count("\n") + 1 and column >= 1


ODD_VALUES = [None, True, 0, -2, 1.5, 2.0, "", "x", [], {}, [["x"]], [1], {"x": 1}, ["x", 0, 1]]


def places(value: Any) -> list[tuple[Any, ...]]:
    """Every path of a JSON value, iteratively."""
    paths: list[tuple[Any, ...]] = []
    waiting: list[tuple[tuple[Any, ...], Any]] = [((), value)]
    while waiting:
        path, at = waiting.pop()
        paths.append(path)
        items = at.items() if isinstance(at, dict) else enumerate(at) if isinstance(at, list) else ()
        waiting.extend(((*path, key), inner) for key, inner in items)
    return paths


PLACES = [path for path in places(document()) if path]
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(st.sampled_from(PLACES), st.sampled_from([*ODD_VALUES, "delete", "rename"]))
def test_schema_and_reader_agree_on_what_is_well_formed(path: tuple[Any, ...], value: Any) -> None:
    """The schema cannot check references; on everything else the two must agree."""
    mutated = copy.deepcopy(document())
    *outer, last = path
    at: Any = mutated
    for key in outer:
        at = at[key]
    if value == "delete":
        del at[last]
    elif value == "rename" and isinstance(at, dict):
        at["unheard-of"] = at.pop(last)
    else:
        at[last] = value
    by_schema = VALIDATOR.is_valid(mutated)
    try:
        native.decode(mutated)
        by_reader = True
    except SourceError as error:
        by_reader = any(sentence in str(error) for sentence in ABOUT_REFERENCES)
    assert by_reader == by_schema


ABOUT_REFERENCES = ("is not a node", "is not a value", "is not a metric", "duplicate", "uses output", "is not a graph of the program")


@pytest.mark.slow
def test_a_hundred_thousand_nodes_are_read_back_with_shared_parts() -> None:
    """Repeated types, scopes and operation names are in memory only once."""
    builder = ProgramBuilder("big")
    graph = builder.graph("g")
    for i in range(100_000):
        details = KnownDetails({"i": i}, ("layer", str(i // 1000)))
        graph.add(Node(f"n{i}", "add", ((f"n{max(0, i - 1)}", 0),), (F32,), details=details))
    program = builder.build()
    (again,) = native.loads(native.dumps(program))
    assert again == program
    first, last = again.main.nodes[0], again.main.nodes[-1]
    assert first.op is last.op and first.outputs[0] is last.outputs[0] and again.main.nodes[-2].scope is last.scope


def _parsed(text: str) -> Any:
    """A document in which each node is replaced by its id."""

    def no_constant(name: str) -> None:
        raise ValueError(name)

    return SparingParser(text, lambda raw: raw["id"], no_constant).document()


def test_nodes_are_made_while_the_text_is_parsed() -> None:
    text = native.dumps(everything())
    document = json.loads(text)
    for graph in document["graphs"]:
        graph["nodes"] = [node["id"] for node in graph["nodes"]]
    assert _parsed(text) == _parsed(text.replace("\n", "\r\n \t")) == document
    programs = {"format": "opscope", "version": 1, "programs": [{"graphs": []}, {}, {"graphs": [{"nodes": [{"id": "a"}, {"id": "b"}]}]}]}
    assert _parsed(json.dumps(programs))["programs"] == [{"graphs": []}, {}, {"graphs": [{"nodes": ["a", "b"]}]}]
    assert _parsed('{"graphs": [{"nodes": [{"id": "a"}], "nodes": []}]}') == {"graphs": [{"nodes": []}]}


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{", '{"a"', '{"a":', '{"a": 1', '{"a": 1,', '{"a": 1,}', '{"a": 1} x', '{"a" 1}', "{1: 2}", '{"graphs": 1}',
        '{"graphs": [',
        '{"graphs": [{"nodes": [{"id": "a"}', '{"graphs": [{"nodes": [{"id": "a"},]}]}', '{"graphs": [{"nodes": {}}]}',
        '{"a": NaN}', '{"\n": 1}',
        '{"a": ' + "[" * 100_000,
    ],
)  # fmt: skip
def test_what_is_unusual_is_left_to_the_parser_that_reads_all_at_once(text: str) -> None:
    with pytest.raises(Unusual):
        _parsed(text)
    with pytest.raises(SourceError):
        native.loads(text)
