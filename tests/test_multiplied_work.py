"""Small files whose parts are multiplied with each other, and numbers that all have one hash: without its mend, a test here takes
gigabytes or minutes."""

from __future__ import annotations

import io
import json
import pickle
import subprocess
import sys
import time
import tracemalloc
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import opscope
from opscope import OpscopeError, Program
from opscope.analysis.recomputed_parts import recomputed_parts
from opscope.analysis.structure.wiring import Kinds
from opscope.analysis.summary_table import _ORDER, _table
from opscope.analysis.window import convolution_taps, window_size
from opscope.child import child_environment
from opscope.cli.table import table
from opscope.memory.schedule import computed_memory
from opscope.profile.kineto.trace import read_trace
from opscope.program import FORWARD, RECOMPUTED, ProgramBuilder, TensorType
from opscope.readers.aitemplate import _in_order
from opscope.readers.torch_memory.plain_pickle import read_plain_pickle
from opscope.recording.diff import diff
from opscope.recording.match.shared_sets import NONE, SharedSets

MANY = 200_000
PYTHON = [sys.executable, "-P", "-c"]
ONE_HASH = 2**61 - 1
"""Python hashes a number by what remains of it after division by this."""


def chain(op: str, name: str, length: int) -> Program:
    builder = ProgramBuilder("p")
    graph = builder.graph("main")
    graph.node("x", "input", outputs=[TensorType("f32", (4,))], role="input")
    before = "x"
    for number in range(length):
        node = graph.node(f"{name}{number}", op, [(before, 0)], [TensorType("f32", (4,))])
        before = node.id
    graph.outputs = [(before, 0)]
    return builder.build()


def test_a_chain_that_replaced_another_takes_no_square_of_its_length() -> None:
    programs = chain("sine", "a", 1000), chain("cosine", "b", 1000)
    tracemalloc.start()
    try:
        (replaced,) = diff(*programs).replaced
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
    assert [len(replaced.a), len(replaced.b)] == [1000, 1000]


def test_recomputed_nodes_in_deep_modules_take_no_square_of_the_depth() -> None:
    graph = chain("add", "a", 200).main
    deep = tuple(map(str, range(20_000)))
    parts = recomputed_parts(graph, [None, *[(*deep, str(i)) for i in range(200)]], [FORWARD, *[RECOMPUTED] * 200])
    assert parts == [None, *[()] * 200]


def test_what_sets_have_in_common_is_not_asked_of_all_once_one_is_empty() -> None:
    sets = SharedSets()
    one, other = sets.of([1, 2]), sets.of([2, 3])

    def until_empty() -> object:
        yield one
        yield NONE
        raise AssertionError("asked for more")

    assert sets.common(until_empty()) is NONE  # type: ignore[arg-type]
    assert sets.common([one, one]) is one and sets.common([one, other]) is sets.of([2]) and sets.common([]) is NONE


def test_the_memory_of_a_loop_with_a_wide_state_takes_no_square_of_it(tmp_path: Path) -> None:
    width = 20_000
    state, parts_of_it = f"({', '.join(['f32[4]'] * width)})", ", ".join(f"g{i}" for i in range(width))
    parts = "\n".join(f"  g{i} = f32[4] get-tuple-element(s), index={i}" for i in range(width))
    path = tmp_path / "wide.hlo"
    path.write_text(
        f"HloModule m\n\nbody {{\n  s = {state} parameter(0)\n{parts}\n  ROOT r = {state} tuple({parts_of_it})\n}}\n\n"
        f"again {{\n  s = {state} parameter(0)\n  ROOT r = pred[] constant(true)\n}}\n\n"
        f"ENTRY main {{\n  p = {state} parameter(0)\n  ROOT w = {state} while(p), condition=again, body=body\n}}\n"
    )
    assert len(computed_memory(opscope.load(path)).buffers) > width


def test_a_table_of_modules_takes_no_cube_of_their_depth() -> None:
    depth = 3000
    common: dict[str, Any] = {
        **dict.fromkeys(_ORDER),
        "repeat": 0,
        "path": "m",
        "input": [],
        "output": [],
        "kernel": [],
        "params": 2,
        "inside": None,
    }
    rows = [{**common, "depth": number, "label": f"m{number}"} for number in range(depth)]
    table = _table({"model": "m", "rows": rows, "totals": defaultdict(int)})
    column = [each["name"] for each in table.columns].index("parameters inside")
    assert [row[column] for row in table.rows] == list(range(2 * depth, 0, -2))


def test_called_graphs_are_numbered_once() -> None:
    depth = 10_000
    builder = ProgramBuilder("p")
    for number in range(depth):
        builder.graph(f"g{number}").node("a", "call", calls=[f"g{number - 1}"] if number else [])
    program = builder.build()
    kinds = Kinds(program)
    assert len({kinds.of(program[f"g{number}"]["a"]) for number in range(depth)}) == depth


def test_labels_of_a_convolution_are_matched_once() -> None:
    image = TensorType("f32", (1, 8, 8, 3))
    for labels in ("_" * MANY, "a_" * MANY, "a" * MANY + "_"):
        assert convolution_taps(image, image, image, {"dim_labels": labels}) is None
    assert window_size({"window": "a" * MANY}) is None
    assert window_size({"window": "{size=3x3 pad=1_1x1_1}"}) == 9


def test_the_operators_of_a_long_dump_are_ordered_in_one_pass() -> None:
    ops = [{"inputs": [f"t{i}"], "outputs": [f"t{i + 1}"]} for i in range(MANY)]
    assert _in_order(ops, {op["outputs"][0]: op for op in ops}) == ops


def test_numbers_of_one_hash_are_no_keys_of_a_snapshot() -> None:
    numbers = {number * ONE_HASH: 0 for number in range(4)}
    assert read_plain_pickle(pickle.dumps(numbers)) == numbers
    with pytest.raises(OpscopeError, match="a number of more than 64 bits"):
        read_plain_pickle(pickle.dumps({2**72: 0}))


def test_numbers_of_one_hash_are_no_keys_of_a_trace() -> None:
    launch = {"cat": "cuda_runtime", "ph": "X", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 1, "dur": 1}
    events = [{**launch, "args": {"External id": 1, "correlation": number * ONE_HASH}} for number in range(MANY // 2)]
    trace = read_trace(io.BytesIO(json.dumps({"traceEvents": events}).encode()))
    assert trace.problem == "the trace has damaged events; the times are of what could be read"


def test_numbers_of_one_hash_are_no_keys_of_outputs(tmp_path: Path) -> None:
    ids = [number * ONE_HASH for number in range(MANY // 2)]
    nodes = [
        {"id": "a", "label": "a", "namespace": "", "outputsMetadata": [{"id": each} for each in ids]},
        {"id": "b", "label": "b", "namespace": "", "incomingEdges": [{"sourceNodeId": "a", "sourceNodeOutputId": ids[7]}]},
    ]
    path = tmp_path / "graph.json"
    path.write_text(json.dumps({"label": "x", "graphs": [{"id": "main", "nodes": nodes}]}))
    assert opscope.load(path).main["b"].inputs == (("a", 7),)


def test_a_message_is_not_as_long_as_a_name_in_it() -> None:
    message = str(OpscopeError(f"no node {'x' * MANY}; look at the names"))
    assert len(message) == 4000 and message.startswith("no node xxx") and "…" in message and message.endswith("xxx; look at the names")


def mlir(tmp_path: Path, body: str, before: str = "") -> Path:
    pytest.importorskip("jaxlib")
    path = tmp_path / "x.mlir"
    path.write_text(f"{before}func.func @main(%x: tensor<4xf32>) {{\n{body}\nreturn\n}}\n")
    return path


def nested(depth: int, inside: str) -> str:
    return '"t.region"() ({\n' * depth + inside + "}) : () -> ()\n" * depth


@pytest.mark.frameworks
def test_regions_inside_each_other_are_read_once(tmp_path: Path) -> None:
    depth, count = 800, 12_000
    lines = "\n".join(f"%{i} = stablehlo.add %x, %x : tensor<4xf32>" for i in range(count)) + "\n"
    program = opscope.load(mlir(tmp_path, nested(depth, lines)))
    assert [len(graph) for graph in program] == [2] * depth + [1 + count]


@pytest.mark.frameworks
def test_values_that_many_regions_use_from_outside_are_limited(tmp_path: Path) -> None:
    names = [f"%c{i}" for i in range(500)]
    values = "\n".join(f"{name} = stablehlo.add %x, %x : tensor<4xf32>" for name in names)
    use = f'"t.use"({", ".join(names)}) : ({", ".join(["tensor<4xf32>"] * len(names))}) -> ()\n'
    assert opscope.load(mlir(tmp_path, f"{values}\n{nested(5, use)}")).node_count == 1 + len(names) + 5 * (1 + len(names)) + 1
    with pytest.raises(OpscopeError, match=r"unpacks to more than 64\.0 MB"):
        opscope.load(mlir(tmp_path, f"{values}\n{nested(200, use)}"))


@pytest.mark.frameworks
@pytest.mark.parametrize(
    ("first", "doubled", "used"),
    [("#a0 = [1 : i32]", "#a{0} = [#a{1}, #a{1}]", '"t.op"() {{a = #a{0}}} : () -> ()'),
     ('#a0 = loc("f":1:1)', "#a{0} = loc(callsite(#a{1} at #a{1}))", '"t.op"() : () -> () loc(#a{0})'),
     ("!a0 = tuple<i32>", "!a{0} = tuple<!a{1}, !a{1}>", '"t.op"() : () -> !a{0}')],
    ids=["attributes", "locations", "types"],
)  # fmt: skip
def test_aliases_that_double_each_other_are_limited(tmp_path: Path, first: str, doubled: str, used: str) -> None:
    def doubling(times: int, uses: int) -> Path:
        lines = [first, *(doubled.format(i, i - 1) for i in range(1, times)), ""]
        return mlir(tmp_path, "\n".join([used.format(times - 1)] * uses), "\n".join(lines))

    assert len(opscope.load(doubling(5, 1)).main) == 2
    with pytest.raises(OpscopeError, match=r"unpacks to more than 64\.0 MB"):
        opscope.load(doubling(17, 200))
    with pytest.raises(OpscopeError, match=r"jaxlib's parser took more than .* of memory on it"):
        opscope.load(doubling(60, 1))


def test_a_reader_of_its_own_process_has_a_limit_of_memory() -> None:
    script = "from opscope.child import _limit; _limit(0); bytearray({} << 20)"
    for size, code in ((500, 0), (3000, 1)):
        assert subprocess.run([*PYTHON, script.format(size)], env=child_environment(), capture_output=True, check=False).returncode == code


def test_one_long_cell_does_not_make_every_row_long() -> None:
    rows = [["x" * 10_000, "1"], *[["a", "2"]] * 1000]
    lines = table(rows, "lr")
    assert lines[0] == f"{'x' * 10_000}  1" and sum(map(len, lines)) < 1_000_000


def test_the_memory_of_a_graph_with_many_results_takes_no_square_of_them() -> None:
    count = 15_000
    builder = ProgramBuilder("p")
    graph = builder.graph("main")
    types = [TensorType("f32", (4,))]
    graph.node("x", "parameter", outputs=types, role="parameter")
    for number in range(count):
        graph.node(f"unread{number}", "sine", [("x", 0)], types)
        graph.node(f"read{number}", "sine", [("x", 0)], types)
    graph.node("all", "concatenate", [(f"read{number}", 0) for number in range(count)], types)
    graph.outputs = [("all", 0)] * count
    started = time.process_time()
    assert len(computed_memory(builder.build()).buffers) == 2 * count + 2
    assert time.process_time() - started < 10


def test_a_long_line_of_fx_is_not_repeated_for_each_name_in_it(tmp_path: Path) -> None:
    names = [f'name{number}: "f32[{number}]"' for number in range(3000)]
    path = tmp_path / "graph.py"
    path.write_text(f"class GraphModule(torch.nn.Module):\n    def forward(self, {', '.join(names)}):\n        return (name1,)\n")
    program = opscope.load(path)
    assert program.own_text is not None
    lines = program.own_text.lines("main", 0, len(program.main))
    assert [line.rstrip("): ").rstrip(",") for line in lines[:-1]] == names
