"""A damaged file gives one sentence or a true graph, never an internal error: in reading, and in everything that follows."""

from __future__ import annotations

import copy
import io
import json
import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import opscope
from opscope import native
from opscope.analysis.enrich import enrich
from opscope.analysis.info import info_of
from opscope.cli import main
from opscope.errors import OpscopeError
from opscope.loading import load_all
from opscope.memory.schedule import computed_memory
from opscope.program import GraphBuilder, KnownDetails, Link, Node, ProgramBuilder, TensorType, wrong_part
from opscope.program.values import dimension, line_number, whole_number
from opscope.recording.store.store import StoreWriter
from opscope.render.wire.program import encode_wire

SAMPLES = Path(__file__).resolve().parent / "samples"
WRONG: tuple[Any, ...] = (None, True, -1, 2**63, 1e308, "\ud800", "", [["x", 0]], {"a": [1]})
"""Values of every type of JSON, each with something special."""
EVERY_NTH = 11
"""Of the places of a document; `benchmarks/fuzz.py` takes the others, too."""


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to everything in a JSON document."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def replaced(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    damaged = copy.deepcopy(document)
    at = damaged
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return damaged


def use(program: opscope.Program) -> None:
    """What commands do with a program, short of drawing it."""
    info_of(program).to_json()
    enriched = enrich(program)
    encode_wire(enriched)
    text = native.dumps(enriched)
    assert native.dumps(native.loads(text)[0]) == text
    writer = StoreWriter()
    writer.add(program, "pass")
    stored = writer.recording()[0].program
    assert [(node.id, node.inputs, node.scope) for graph in stored for node in graph] == [
        (node.id, node.inputs, node.scope) for graph in program for node in graph
    ]


def outcome(path: Path) -> str:
    """ "shown", or the sentence that refuses the file. Any other error fails the test."""
    try:
        for program in load_all(path):
            use(program)
    except OpscopeError as error:
        assert str(error) and "\n" not in str(error)
        return str(error)
    return "shown"


def as_archive(document: Any) -> bytes:
    """A .pt2 file whose program is the document."""
    content = io.BytesIO()
    with zipfile.ZipFile(SAMPLES / "torch" / "block.pt2") as sample, zipfile.ZipFile(content, "w") as archive:
        for name in sample.namelist():
            archive.writestr(name, json.dumps(document) if name.endswith("models/model.json") else sample.read(name))
    return content.getvalue()


def archived() -> Any:
    with zipfile.ZipFile(SAMPLES / "torch" / "block.pt2") as sample:
        (name,) = [name for name in sample.namelist() if name.endswith("models/model.json")]
        return json.loads(sample.read(name))


def small(path: str, *lists: str) -> Any:
    """A sample with at most six entries in each of these lists, to keep the test short."""
    document = json.loads((SAMPLES / path).read_text("utf-8"))
    for place in list(places(document)):
        if place[-1] in lists:
            at = document
            for key in place:
                at = at[key]
            del at[6:]
    return document


FORMATS: dict[str, tuple[str, Callable[[], Any]]] = {
    "native": ("json", lambda: small("native/frames.json")),
    "model_explorer": ("json", lambda: small("model_explorer/every_field.json")),
    "hidet": ("json", lambda: small("hidet/fused_attention.json", "nodes")),
    "aitemplate": ("json", lambda: small("aitemplate/linear_layernorm.json", "Operators")),
    "torch": ("pt2", archived),
}


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_any_value_anywhere_gives_a_sentence_or_a_graph(format: str, tmp_path: Path) -> None:
    suffix, sample = FORMATS[format]
    document = sample()
    outcomes = set()
    for number, path in enumerate(places(document)):
        if number % EVERY_NTH:
            continue
        for value in WRONG:
            damaged = replaced(document, path, value)
            file = tmp_path / f"damaged.{suffix}"
            file.write_bytes(as_archive(damaged) if suffix == "pt2" else json.dumps(damaged).encode())
            try:
                outcomes.add(outcome(file))
            except Exception as error:
                raise AssertionError(f"{value!r} at {path}") from error
    assert "shown" in outcomes and len(outcomes) > 1


def _texts(*values: Any) -> Any:
    """What a reader may take for texts."""
    return values


def _attrs(key: Any) -> Any:
    return {key: 2}


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("id", 5), ("op", ["x"]), ("role", "boss"), ("role", []), ("inputs", (("x", 0.5),)), ("inputs", ((1, 0),)), ("calls", (3,)),
        ("control", (None,)), ("links", (Link(*_texts("a", 1)),)), ("details", KnownDetails(_attrs(1))),
        ("details", KnownDetails(scope=_texts(1))),
        ("details", KnownDetails(source=(opscope.Frame("f", 2**40),))), ("details", KnownDetails(source=(opscope.Frame("f", True),))),
    ],
)  # fmt: skip
def test_each_part_of_a_node_is_checked(field: str, wrong: Any) -> None:
    node = Node("a", "op")._replace(**{field: wrong})
    named, problem = wrong_part(node)
    assert problem and named in (field, "attrs", "scope", "source")
    assert wrong_part(Node("a", "op")) == ("", "")


@pytest.mark.parametrize(
    "wrong",
    [
        TensorType(5), TensorType("f32", [2]), TensorType("f32", (True,)), TensorType("f32", (2.5,)), TensorType("f32", (), None),  # type: ignore[arg-type]
        TensorType("f32", (2**61, 3)), TensorType("f999999", (2**60,)), TensorType("f32", (10**400,)), TensorType("f32", (1,) * 1001),
    ],
)  # fmt: skip
def test_each_type_is_checked_whoever_adds_the_node(wrong: TensorType) -> None:
    graph = GraphBuilder("main")
    graph.take([Node("x", "op", (), (TensorType("f32", (2,)),)), Node("y", "op", (), (wrong,))])
    with pytest.raises(opscope.SourceError, match="type of 'y'"):
        graph.build()


def test_an_index_that_no_wire_can_carry_is_refused() -> None:
    builder = ProgramBuilder("p")
    graph = builder.graph("main")
    graph.node("x", "op")
    graph.node("y", "op", [("x", 2**40)])
    with pytest.raises(opscope.SourceError, match="'y' uses output 1099511627776 of 'x'"):
        builder.build()


def test_numbers_from_text_have_bounds() -> None:
    assert [whole_number(value) for value in ("12", "-3", 7, "²", "9" * 5000, 2**80, True, None, 1.5, "")] == [12, -3, 7] + [None] * 7
    assert dimension("128") == 128 and dimension("-1") == "-1" and dimension("9" * 30) == "9" * 30
    assert line_number("17") == 17 and line_number("9" * 5000) == line_number("-4") == line_number("x") == 0


@pytest.mark.parametrize("wrong", [5, [[1]], {"a": 2}, "x", None, 1e308])
def test_attributes_that_opscope_interprets_may_be_anything(wrong: Any, tmp_path: Path) -> None:
    """They come from files, too."""
    names = (
        "model_explorer", "modules", "notes", "summary", "kind", "opscope.direction", "parameter_number", "index", "num_consts", "length",
        "cond_nconsts", "backend_config", "custom_call_target", "dim_labels", "window", "padding", "output_mask", "equation", "kernel_size",
        "metadata.op_name", "metadata.stack_frame_id", "alpha", "direction", "label", "value", "trainable", "lhs_contracting_dims",
    )  # fmt: skip
    builder = ProgramBuilder("p")
    builder.attrs.update(dict.fromkeys(names, wrong))
    graph = builder.graph("main")
    graph.attrs.update(dict.fromkeys(names, wrong))
    f32 = TensorType("f32", (4, 4, 4, 4))
    before = "x"
    graph.node("x", "parameter", outputs=[f32], role="parameter", attrs=dict.fromkeys(names, wrong))
    ops = ("dot", "convolution", "aten.convolution_backward.default", "einsum", "custom-call", "while", "scan", "scf.for", "fusion", "add")
    for op in (*ops, "compare", "aten.max_pool2d.default", "reduce-window"):
        graph.node(op, op, [(before, 0), ("x", 0), ("x", 0)], [f32], attrs=dict.fromkeys(names, wrong), scope=("a", "b"))
        before = op
    program = builder.build()
    use(program)
    computed_memory(program)
    for name in ("x.json", "x.netron", "me.json"):
        opscope.save(program, tmp_path / name, format="model-explorer" if name == "me.json" else None)


def test_half_of_a_surrogate_pair_goes_through_every_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.json").write_text(
        json.dumps(
            {
                "format": "opscope",
                "version": 1,
                "name": "\ud800",
                "entry": "main",
                "graphs": [{"name": "main", "nodes": [{"id": "\ud800", "op": "\udfff"}]}],
            }
        )
    )
    for name in ("x.json", "x.netron", "x.dot", "x.svg", "x.html"):
        assert main(["export", "a.json", "-o", name]) == 0, name
    assert main(["info", "a.json"]) == 0 and main(["export", "a.json", "-o", "me.json", "--to", "model-explorer"]) == 0
    assert json.loads(Path("x.json").read_text("utf-8"))["graphs"][0]["nodes"][0]["id"] == "\ud800"
    assert json.loads(Path("me.json").read_text("utf-8"))["graphs"][0]["nodes"][0]["id"] == "\ud800"


def test_an_encrypted_archive_and_one_with_a_wrong_name_are_refused(tmp_path: Path) -> None:
    content = (SAMPLES / "torch" / "block.pt2").read_bytes()
    encrypted = bytearray(content)
    for signature, flags in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        at = encrypted.find(signature)
        while at >= 0:
            encrypted[at + flags] |= 1
            at = encrypted.find(signature, at + 4)
    misnamed = bytearray(content)
    at = misnamed.find(b"PK\x01\x02")
    misnamed[at + 9] |= 8  # names are UTF-8
    misnamed[at + 46] = 0xFF
    misplaced = bytearray(content)
    at = misplaced.rfind(b"PK\x05\x06")
    misplaced[at + 16 : at + 20] = b"\xff\xff\xff\x7f"  # where the list of entries begins
    for name, damaged in (("encrypted", encrypted), ("misnamed", misnamed), ("misplaced", misplaced)):
        (tmp_path / f"{name}.pt2").write_bytes(damaged)
        assert outcome(tmp_path / f"{name}.pt2") != "shown", name


def test_files_that_once_ended_in_an_internal_error(tmp_path: Path) -> None:
    """The files that found the defects are beside the repository; the tests above cover what is wrong with them."""
    faults = Path(__file__).resolve().parents[2] / "shared" / "hostile" / "faults"
    if not faults.is_dir():
        pytest.skip("the files beside the repository (../shared/hostile) are not here")
    for path in sorted(faults.iterdir()):
        outcome(path)
    assert len(os.listdir(faults)) >= 28


@pytest.mark.frameworks
def test_the_name_of_an_onnx_model_that_is_not_text_is_refused(tmp_path: Path) -> None:
    """protobuf returns it as bytes, which no page can have as a title."""
    helper = pytest.importorskip("onnx").helper
    model = helper.make_model(helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "titled", [], []))
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString().replace(b"titled", b"title\xc5"))
    with pytest.raises(OpscopeError, match="a name is not text"):
        opscope.load(path)
