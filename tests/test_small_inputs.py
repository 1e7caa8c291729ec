"""Small files that multiply, are matched for ever, or are nested where nobody looked: without its limit, a test here would take all
memory or not end."""

from __future__ import annotations

import ast
import bz2
import json
import lzma
import pickle
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import opscope
from opscope import OpscopeError, limits
from opscope.analysis.info import info_of
from opscope.analysis.inside import is_module
from opscope.analysis.mesh_axes import axes_of, meshes_of
from opscope.cli import main
from opscope.memory.model import Buffer, Live
from opscope.memory.report import repeats
from opscope.naming import UnusedNames
from opscope.program import ProgramBuilder
from opscope.protobuf.xplane import line_events
from opscope.readers.hlo_proto.literals import literal_text
from opscope.readers.hlo_proto.shardings import sharding_text
from opscope.readers.torch.names import OwnerScopes, attribute_path, calls_of_text, frames_of_text
from opscope.recording.change_groups import change_groups
from opscope.recording.diff import diff
from opscope.recording.dumps.launch_places import Compiled
from opscope.recording.dumps.launch_values import _forward_arguments

SRC = Path(__file__).resolve().parent.parent / "src" / "opscope"
SAMPLES = Path(__file__).resolve().parent / "samples"
MANY = 300_000
MODEL = "archive/models/model.json"


def saved(tmp_path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """The sample of torch.export with a change of its graph module."""
    path = tmp_path / "changed.pt2"
    with zipfile.ZipFile(SAMPLES / "torch" / "block.pt2") as archive, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        document = json.loads(archive.read(MODEL))
        change(document["graph_module"])
        for name in archive.namelist():
            new.writestr(name, json.dumps(document) if name == MODEL else archive.read(name))
    return path


def entry_that_lies(content: bytes, method: int, stated: int) -> bytes:
    """An archive with one entry, whose headers state another size."""
    name = MODEL.encode()
    local = struct.pack("<4s5H3I2H", b"PK\x03\x04", 46, 0, method, 0, 0, 0, len(content), stated, len(name), 0) + name
    central = struct.pack("<4s6H3I", b"PK\x01\x02", 46, 46, 0, method, 0, 0, 0, len(content), stated)
    central += struct.pack("<5H2I", len(name), 0, 0, 0, 0, 0, 0) + name
    at = len(local) + len(content)
    return local + content + central + struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 1, 1, len(central), at, 0)


def bz2_blanks() -> bytes:
    packer = bz2.BZ2Compressor()
    return b"".join(packer.compress(b" " * 1_000_000) for _ in range(30)) + packer.flush()


def lzma_blanks() -> bytes:
    properties = struct.pack("<BI", 93, 1 << 23)
    packer = lzma.LZMACompressor(lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA1, "preset": 6}])
    packed = b"".join(packer.compress(b" " * 1_000_000) for _ in range(30)) + packer.flush()
    return struct.pack("<BBH", 9, 4, len(properties)) + properties + packed


@pytest.mark.parametrize(("method", "blanks"), [(zipfile.ZIP_BZIP2, bz2_blanks), (zipfile.ZIP_LZMA, lzma_blanks)], ids=["bz2", "lzma"])
def test_a_compression_that_cannot_be_stopped_is_refused(tmp_path: Path, method: int, blanks: Callable[[], bytes]) -> None:
    path = tmp_path / "bomb.pt2"
    path.write_bytes(entry_that_lies(blanks(), method, 1000))
    with pytest.raises(OpscopeError, match=r"bomb\.pt2: has archive/models/model\.json in a compression that torch does not write"):
        opscope.load_all(path)


def test_a_name_of_a_million_dots_belongs_to_the_program(tmp_path: Path) -> None:
    def change(module: dict[str, Any]) -> None:
        module["signature"]["input_specs"][0]["parameter"]["parameter_name"] = "a." * 1_000_000

    assert opscope.load(saved(tmp_path, change))["main"]["p_norm_weight"].scope == ()
    owners = OwnerScopes()
    owners.note(calls_of_text("k,,Root;k,a,A;k,a.b,B"))
    assert owners.of("a.b.c.weight") == ("a: A", "b: B")


def inner_graph(nodes: list[dict[str, Any]]) -> dict[str, Any]:
    return {"inputs": [], "outputs": [], "nodes": nodes, "tensor_values": {}, "sym_int_values": {}, "sym_bool_values": {}}


def calling(name: str, graph: dict[str, Any]) -> dict[str, Any]:
    argument = {"name": "body", "arg": {"as_graph": {"name": name, "graph": graph}}, "kind": 1}
    return {"target": "torch.ops.higher_order.cond", "inputs": [argument], "outputs": [], "metadata": {}}


def test_a_long_name_around_many_graphs_is_refused(tmp_path: Path) -> None:
    inner = inner_graph([calling(f"t{i}", inner_graph([])) for i in range(1000)])
    path = saved(tmp_path, lambda module: module["graph"]["nodes"].append(calling("n" * 1_000_000, inner)))
    with pytest.raises(OpscopeError, match="graphs inside each other with names of more than 10,000 characters together"):
        opscope.load(path)
    short = saved(tmp_path, lambda module: module["graph"]["nodes"].append(calling("n" * 1000, inner)))
    assert len(list(opscope.load(short))) == 1002


@pytest.mark.frameworks
def test_a_long_name_around_many_bodies_is_refused(tmp_path: Path) -> None:
    helper = pytest.importorskip("onnx.helper")
    inner = [helper.make_node("If", [], [f"o{i}"], name=f"i{i}", then_branch=helper.make_graph([], "q", [], [])) for i in range(1000)]
    outer = helper.make_node("Loop", [], ["y"], name="n" * 1_000_000, body=helper.make_graph(inner, "b", [], []))
    path = tmp_path / "long.onnx"
    path.write_bytes(helper.make_model(helper.make_graph([outer], "g", [], [])).SerializeToString())
    with pytest.raises(OpscopeError, match="names of more than 10,000 characters together"):
        opscope.load(path)


@pytest.mark.frameworks
def test_a_name_around_very_many_bodies_is_refused(tmp_path: Path) -> None:
    """Half a megabyte would become names of a gigabyte."""
    onnx = pytest.importorskip("onnx")
    outer = onnx.helper.make_node("If", [], ["y"], name="n" * 9000)
    bodies = outer.attribute.add(name="bodies", type=onnx.AttributeProto.GRAPHS)
    bodies.graphs.extend([onnx.GraphProto(name="b")] * 8000)
    path = tmp_path / "many.onnx"
    path.write_bytes(onnx.helper.make_model(onnx.helper.make_graph([outer], "g", [], [])).SerializeToString())
    with pytest.raises(OpscopeError, match=r"graphs inside others whose names take more than 64\.0 MB together"):
        opscope.load(path)


@pytest.mark.frameworks
def test_what_bodies_see_of_the_graph_around_them_is_not_copied_for_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    onnx = pytest.importorskip("onnx")
    node = onnx.helper.make_node("If", [], ["y"], name="i")
    bodies = node.attribute.add(name="bodies", type=onnx.AttributeProto.GRAPHS)
    bodies.graphs.extend([onnx.GraphProto(name="b")] * 500)
    graph = onnx.helper.make_graph([node], "g", [], [])
    for number in range(500):
        graph.value_info.add(name=f"v{number}").type.tensor_type.elem_type = 1
    path = tmp_path / "wide.onnx"
    path.write_bytes(onnx.helper.make_model(graph).SerializeToString())
    copied = []

    class Counting(dict[str, Any]):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            copied.append(len(self))

    monkeypatch.setattr("opscope.readers.onnx.dict", Counting, raising=False)
    assert len(list(opscope.load(path))) == 501
    assert sum(copied) < 1000


@pytest.mark.parametrize(
    "shared",
    [{"segments": [{"total_size": 1, "address": 0, "blocks": [{"size": 1}] * 3000}] * 3000, "device_traces": [[{"action": "oom"}]]},
     {"segments": [], "device_traces": [[{"action": "alloc", "addr": 1, "size": 1, "frames": []}] * 3000] * 3000}],
    ids=["blocks", "events"],
)  # fmt: skip
def test_lists_that_a_pickle_shares_are_not_multiplied(tmp_path: Path, shared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve kilobytes can mean nine million blocks, or events."""
    path = tmp_path / "shared.pickle"
    path.write_bytes(pickle.dumps(shared, 4))
    assert path.stat().st_size < 20_000
    monkeypatch.setattr("opscope.readers.torch_memory.snapshot._device", lambda *_: pytest.fail("read it all"))
    with pytest.raises(OpscopeError, match="has more blocks and events than bytes"):
        opscope.load(path)


@pytest.mark.parametrize("action", ["alloc", "free_requested"])
def test_a_long_name_of_a_frame_that_events_share_is_not_multiplied(tmp_path: Path, action: str) -> None:
    frames = [{"name": "f" * 200_000, "filename": "a.py", "line": 1}]
    events = [{"action": action, "addr": 512 * number, "size": 1, "frames": frames} for number in range(500)]
    path = tmp_path / "long.pickle"
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [events]}, 4))
    with pytest.raises(OpscopeError, match=r"unpacks to more than 64\.0 MB"):
        opscope.load(path)


@pytest.mark.frameworks
def test_a_long_name_around_many_regions_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("jaxlib")
    regions = '"t.op"() ({ "t.in"() : () -> () }) : () -> ()\n' * 1000
    path = tmp_path / "long.mlir"
    path.write_text(f'module {{ func.func @main() {{\n"t.{"n" * 1_000_000}"() ({{\n{regions}}}) : () -> ()\nreturn }} }}')
    with pytest.raises(OpscopeError, match="names of more than 10,000 characters together"):
        opscope.load(path)


@pytest.mark.frameworks
def test_what_jax_calls_results_may_be_anything(tmp_path: Path) -> None:
    pytest.importorskip("jaxlib")
    path = tmp_path / "x.mlir"
    path.write_text("func.func @main(%x: i32) -> (i32 {jax.result_info = 3 : i32}) { return %x : i32 }")
    assert "results" not in opscope.load(path).attrs


@pytest.mark.frameworks
def test_long_names_of_modules_inside_each_other_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("jaxlib")
    path = tmp_path / "long.mlir"
    path.write_text("".join(f"module @m{'x' * 1000}{i} {{\n" for i in range(20)) + "func.func @f() { return }\n" + "}" * 20)
    with pytest.raises(OpscopeError, match="names of more than 10,000 characters together"):
        opscope.load(path)


@pytest.mark.parametrize(
    ("key", "text"),
    [("custom", "[" * 100_000), ("custom", "1" * 5000), ("from_node", "[1, 2]"), ("from_node", "5"), ("from_node", '{"a": 1}')],
    ids=["deep", "long", "numbers", "number", "object"],
)
def test_metadata_that_is_decoded_later_may_be_anything(tmp_path: Path, key: str, text: str) -> None:
    path = saved(tmp_path, lambda module: [node["metadata"].update({key: text}) for node in module["graph"]["nodes"]])
    nodes = [node for node in opscope.load(path).main if node.role == "op"]
    assert {node.attrs[key] for node in nodes} == {text}
    assert main(["export", str(path), "-o", str(tmp_path / "a.svg")]) == 0


@pytest.mark.parametrize(
    "options", [("--style", "endless.json"), ("--node-data", "endless.json"), ("--colour-by", "time", "--device", "endless.json")]
)
def test_a_device_of_the_system_is_not_read_as_a_file(
    options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("endless.json").symlink_to("/dev/zero")
    assert main(["export", "demo:train_step", "-o", "a.svg", *options]) == 2
    assert "endless.json: " in (said := capsys.readouterr().err) and "is a device; expected a file" in said


GRAPH = 'class GraphModule(torch.nn.Module):\n    def forward(self, x: "f32[4]"):\n'


@pytest.mark.parametrize("index", [2**16, 99_999_999_999])
def test_an_index_in_a_text_is_not_a_number_of_results(tmp_path: Path, index: int) -> None:
    path = tmp_path / "graph.py"
    lines = ("a = torch.f(x)", f'b: "f32[4]" = a[{index}]', "c = torch.g(x)", "d = c[1]", "return (b, d)")
    path.write_text(GRAPH + "".join(f"        {line}\n" for line in lines))
    main_graph = opscope.load(path).main
    assert len(main_graph["a"].outputs) == 0 and len(main_graph["c"].outputs) == 2
    assert main_graph["b"].op == "getitem" and main_graph["b"].attrs["index"] == index


@pytest.mark.slow
def test_an_event_with_many_facts_is_read_once() -> None:
    fact, count = b"\x22\x04\x08\x01\x18\x05", 2_000_000
    event = b"\x10\x01\x08\x01\x18\x01" + fact * count  # the place first, which profilers do not write
    size, number = b"", len(event)
    while number:
        size, number = size + bytes([number & 127 | (128 if number > 127 else 0)]), number >> 7
    (read,) = line_events(b"\x22" + size + event)
    assert (read.metadata, read.offset, read.duration, read.stats) == (1, 1, 1, fact * count)


def fused(tmp_path: Path, text: str) -> Path:
    def replaced(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: replaced(held) for key, held in value.items()}
        if isinstance(value, list):
            return [replaced(held) for held in value]
        return text if isinstance(value, str) and value.startswith("Graph(") else value

    path = tmp_path / "fused.json"
    path.write_text(json.dumps(replaced(json.loads((SAMPLES / "hidet" / "fused_attention.json").read_text("utf-8")))))
    return path


def test_a_fused_graph_is_matched_once(tmp_path: Path) -> None:
    assert opscope.load(fused(tmp_path, f"Graph({'a' * MANY}){{\n}}"))
    with pytest.raises(OpscopeError, match=r"a result in a hidet fused graph has no type|cannot parse this line of a hidet fused graph"):
        opscope.load(fused(tmp_path, f"Graph(x: f[1][c]){{\n{' = a(' * MANY}{')' * MANY}x\n}}"))


def model_explorer(tmp_path: Path, nodes: list[dict[str, Any]]) -> opscope.Program:
    path = tmp_path / "graph.json"
    nodes = [{"label": "op", "namespace": "", "attrs": [], "incomingEdges": [], "outputsMetadata": [], **node} for node in nodes]
    path.write_text(json.dumps({"label": "c", "graphs": [{"id": "g", "nodes": nodes}]}))
    return opscope.load(path)


@pytest.mark.parametrize("text", ["tensor<" + "x" * 100_000 + "!", "tensor<" + "1x" * 100_000 + "!"])
def test_a_shape_of_model_explorer_is_matched_once(tmp_path: Path, text: str) -> None:
    shapes = [{"id": str(i), "attrs": [{"key": "tensor_shape", "value": each}]} for i, each in enumerate((text, "tensor<4x?xf32>"))]
    one, other = model_explorer(tmp_path, [{"id": "a", "outputsMetadata": shapes}]).main["a"].outputs
    assert str(one) == "?" and str(other) == "f32[4, ?]"


def test_the_edges_of_a_wide_node_are_found_at_once(tmp_path: Path) -> None:
    count = 60_000
    edges = [{"sourceNodeId": "a", "sourceNodeOutputId": str(count - 1)}] * count
    nodes = [{"id": "a", "outputsMetadata": [{"id": str(i)} for i in range(count)]}, {"id": "b", "incomingEdges": edges}]
    assert set(model_explorer(tmp_path, nodes).main["b"].inputs) == {("a", count - 1)}


def test_names_and_stacks_of_torch_are_matched_once() -> None:
    assert frames_of_text("\n" * MANY + 'x\n  File "a.py", line 3, in f') == (opscope.Frame("a.py", 3, "f"),)
    assert attribute_path("L['self']._modules['layers']._modules['3'].mlp") == "layers.3.mlp"
    assert len(attribute_path("L['self']" + "[" * MANY)) == MANY


@pytest.mark.parametrize("groups", ["{" + "1" * 200 + "{", "{{0,1},{2,3}}", "{" + "1" * 5000 + "}"])
def test_groups_of_devices_are_matched_once(groups: str) -> None:
    builder = ProgramBuilder("p")
    builder.attrs.update({"frontend_attributes": "#sdy.mesh<[" * MANY, "num_partitions": "4"})
    builder.graph("main").node("a", "all-reduce", attrs={"replica_groups": groups, "use_global_device_ids": "true"})
    program = builder.build()
    assert axes_of(program.main["a"], meshes_of(program)) == ""


@pytest.mark.parametrize("name", ["1" * MANY + "x", "_1" * MANY + "x", "conv2.1", "conv2.31"])
def test_names_of_buffers_are_matched_once(name: str) -> None:
    rows = [Live(Buffer(each, 4, "saved", 0, 1)) for each in (name, "conv2.7")]
    assert len(repeats(rows)) == (1 if name.startswith("conv") else 2)


def test_the_axes_of_a_mesh_are_named_once() -> None:
    sharding = {"mesh": {"axes": [{"name": "x"}] * MANY}, "dim_shardings": [{"axes": [{"mesh_axis_index": 1}]}] * MANY}
    assert sharding_text({"named_sharding": sharding}).count("{'x', ?}") == MANY


@pytest.mark.parametrize("sizes", [[10**12, 0], [0, 10**12, 10**12], [10**12, 10**12, 0, 1]])
def test_a_constant_without_elements_has_no_rows_without_end(sizes: list[int]) -> None:
    f32 = {"element_type": 11, "dimensions": sizes}
    assert literal_text(b"\xa0\x06\x01", f32) == "{...}"
    assert literal_text(b"\xa0\x06\x01", {**f32, "dimensions": [2, 0]}) == "{ {}, {} }"


def test_modules_inside_each_other_take_no_square_of_their_depth() -> None:
    """Each module around an operation is told apart by its whole path: a million of them took 19 GB."""
    path = tuple(f"s{depth}" for depth in range(5000))
    programs = []
    for op in ("add", "multiply"):
        builder = ProgramBuilder("p")
        graph = builder.graph("main")
        graph.node("x", "input", role="input")
        graph.node(op, op, [("x", 0)], scope=path if op == "add" else (*path, "new"))
        programs.append(builder.build())
    changes = diff(*programs)
    tracemalloc.start()
    try:
        assert change_groups(changes) and not is_module(programs[0], "nosuch")
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_a_number_in_the_name_of_a_parameter_is_not_a_number_of_parameters() -> None:
    builder = ProgramBuilder("p")
    builder.graph("main").node("primals_999999999", "input", role="input")
    assert _forward_arguments(Compiled(None, builder.build(), {}, None, {}, False)) == []


def test_equal_names_are_counted_on() -> None:
    unused = UnusedNames()
    names = [unused.of("add") for _ in range(60_000)]
    assert names[:3] == ["add", "add#2", "add#3"] and len(set(names)) == 60_000
    assert unused.of("mul", {"mul", "mul#2"}) == "mul#3"


def compiled(tmp_path: Path, operation: str, head: str = "") -> Path:
    path = tmp_path / "step.hlo"
    path.write_text(f"HloModule m{head}\n\nENTRY main {{\n  p = f32[4] parameter(0)\n  ROOT r = f32[4] {operation}\n}}\n")
    return path


TABLE = "\n\nFileLocations\n1 {" + "a" * MANY + "}\n\nStackFrames\n1 {file_location_id=1 " + "_" * MANY + "}"


@pytest.mark.parametrize(
    ("operation", "head"),
    [
        (f"constant(/*{'a/*' * MANY})", ""),
        (f'constant(/*a*/"b", {"/*" * MANY})', ""),
        (f'negate(p), metadata={{op_name="a" {"_" * MANY}}}', ""),
        ("negate(p), metadata={stack_frame_id=1}", TABLE),
        (f"custom-call(p), output_to_operand_aliasing={{{{{' ' * MANY}}}}}", ""),
        (f'custom-call(p), custom_call_target="__cublas$gemm", backend_config={{"a":{"[" * MANY}{"]" * MANY}}}', ""),
        (f"dot(p, p), lhs_contracting_dims={{{'0,' * MANY}0}}, rhs_contracting_dims={{0}}", ""),
    ],
    ids=["comments", "comments and text", "metadata", "frames", "aliases", "settings", "dimensions"],
)
def test_attributes_of_hlo_are_matched_once(tmp_path: Path, operation: str, head: str) -> None:
    path = str(compiled(tmp_path, operation, head))
    assert main(["memory", path]) == 0
    assert main(["info", path]) == 0
    assert main(["export", path, "-o", str(tmp_path / "a.json")]) == 0


def test_loops_that_state_more_runs_than_any_machine_does_are_of_unknown_cost(tmp_path: Path) -> None:
    inner = [f"while(q), condition=cond, body=body{i + 1}" for i in range(400)] + ["add(q, q)"]
    runs = f'backend_config={{"known_trip_count":{{"n":"{10**17}"}}}}'
    loops = [f"body{i} {{\n  q = f32[4] parameter(0)\n  ROOT w = f32[4] {each}, {runs}\n}}\n\n" for i, each in enumerate(inner)]
    path = tmp_path / "loops.hlo"
    first = compiled(tmp_path, "while(p), condition=cond, body=body0").read_text()
    condition = "cond {\n  c = f32[4] parameter(0)\n  ROOT t = pred[] constant(true)\n}\n\n"
    path.write_text(first.replace("ENTRY", condition + "".join(loops) + "ENTRY"))
    total = info_of(opscope.load(path))
    assert total.to_json()["unknown_flops"] > 0 and total.to_json()["flops"] < 1 << 128
    assert main(["export", str(path), "-o", str(tmp_path / "a.json")]) == 0


OWN_DATA = {
    "analysis/derivatives.py", "child.py", "cli/side_by_side.py", "render/draw/host.py", "render/draw/picture.py", "render/history.py",
    "render/panel_picture.py", "render/saved.py", "render/search_passes.py", "render/wire/program.py",
}  # fmt: skip
"""Modules that decode only what opscope has written itself a moment before, or what comes with it."""


def catches_deep_nesting(tree: ast.AST) -> bool:
    """Whether every `json.loads` in a module is inside of `try` with a handler of RecursionError, or of `blamed_on_source`."""
    guarded: set[int] = set()
    for node in ast.walk(tree):
        handlers = [ast.unparse(each.type) for each in node.handlers if each.type] if isinstance(node, ast.Try) else []
        blamed = isinstance(node, ast.With) and any("blamed_on_source" in ast.unparse(item) for item in node.items)
        if blamed or any("RecursionError" in each for each in handlers):
            guarded.update(id(inner) for each in getattr(node, "body", ()) for inner in ast.walk(each))
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "json.loads" and "files(" not in ast.unparse(node)
    ]
    return all(id(call) in guarded for call in calls)


GUARDED_BY_CALLERS = {
    "analysis/library_calls.py", "readers/hidet/attributes.py", "readers/mlir.py", "readers/torch/pt2_graph.py",
    "readers/torch/result_names.py", "recording/store/pages.py", "recording/store/values.py", "native/bulk.py", "readers/etdump.py",
    "serve/app.py", "serve/home.py",
}  # fmt: skip
"""Modules whose callers report what is raised as damage of the source; test_damaged.py and the fuzzer look at these."""


def test_deep_nesting_of_json_is_expected_everywhere() -> None:
    modules = {str(path.relative_to(SRC)): ast.parse(path.read_text("utf-8")) for path in SRC.rglob("*.py")}
    assert [name for name, tree in modules.items() if not catches_deep_nesting(tree)] and modules.keys() > OWN_DATA
    assert {name for name, tree in modules.items() if not catches_deep_nesting(tree)} <= OWN_DATA | GUARDED_BY_CALLERS


@pytest.mark.parametrize(
    ("name", "content", "option"),
    [
        ("cell.csv", f"node,ms\n{'a' * 200_000},1\n", "--profile"),
        ("header.csv", f"node,ms,{'a' * 200_000}\na,1\n", "--profile"),
        ("ort.json", '[{"cat":"Session","x":' + "[" * 100_000, "--profile"),
        ("device.json", "[" * 100_000, "--device"),
        ("rate.json", '{"bandwidth": ' + "9" * 4000 + "}", "--device"),
        ("dump.etdp", b"\0\0\0\0ED00" + b"\xff" * 1000, "--profile"),
    ],
)
def test_files_beside_a_program_are_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: str | bytes, option: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert main(["cost", str(SAMPLES / "hlo" / "written.hlo"), option, str(path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert len(line) < 400 and name in line


def test_a_limit_of_many_digits_is_not_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.VARIABLE, "9" * 5000)
    with pytest.raises(OpscopeError, match=r"must be a number of bytes, such as 8000000000, not '9{59}…'"):
        limits.most_bytes(1)
