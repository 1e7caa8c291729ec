"""Repeated blocks, found by shape alone, on programs that are built here and need no framework."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from conftest import Run
from support.structure_truth import agreement, nameless
from support.wire_reader import read_program

import opscope
from opscope.analysis.enrich import enrich
from opscope.analysis.groupings import MODULE, OP
from opscope.analysis.index_ops import POSITION_AND_MASK
from opscope.analysis.info import info_of
from opscope.analysis.structure import STRUCTURE, add_structure, with_structure
from opscope.analysis.structure.align import align
from opscope.analysis.structure.wiring import Kinds, Wiring
from opscope.program import Path, Program, ProgramBuilder, TensorType
from opscope.render.wire.program import encode_wire

F32 = [TensorType("f32", (4, 8))]
WEIGHT = [TensorType("f32", (8, 8))]


class Sketch:
    """A graph that is written down operation by operation; `scope` is where the next ones are."""

    def __init__(self) -> None:
        self._builder = ProgramBuilder("sketch")
        self._graph = self._builder.graph("main")
        self.scope: Path = ()
        self._count = 0

    def op(self, op: str, *operands: str, role: str = "op", types: list[TensorType] = F32) -> str:
        self._count += 1
        name = f"{op}.{self._count}"
        self._graph.node(name, op, [(operand, 0) for operand in operands], types, role=role, scope=self.scope)  # type: ignore[arg-type]
        return name

    def weight(self) -> str:
        return self.op("parameter", role="parameter", types=WEIGHT)

    def norm(self, x: str) -> str:
        return self.op("multiply", x, self.op("rsqrt", self.op("reduce", x, types=[TensorType("f32", (4,))])))

    def layer(self, x: str) -> tuple[str, str]:
        """A residual layer with a norm in front; returns its result and what a backward half would keep."""
        hidden = self.op("tanh", self.op("dot", self.norm(x), self.weight()))
        return self.op("add", x, self.op("dot", hidden, self.weight())), hidden

    def program(self, *outputs: str) -> Program:
        self._graph.outputs.extend((name, 0) for name in outputs)
        return self._builder.build()


def chain(layers: int = 6) -> Program:
    """The sum before the first layer looks like the one that ends each, and the norm after the last like the one that begins each."""
    sketch = Sketch()
    x = sketch.op("add", sketch.op("parameter", role="input"), sketch.op("parameter", role="input"))
    for i in range(layers):
        sketch.scope = (f"layer_{i}",)
        x, _ = sketch.layer(x)
    sketch.scope = ()
    return sketch.program(sketch.op("dot", sketch.norm(x), sketch.weight()))


def training(layers: int = 6) -> Program:
    """Forward, a loss, backward in reverse order from what forward keeps, and one Adam update for each weight gradient."""
    sketch = Sketch()
    x = sketch.op("parameter", role="input")
    kept = []
    for i in range(layers):
        sketch.scope = (f"layer_{i}",)
        x, hidden = sketch.layer(x)
        kept.append(hidden)
    sketch.scope = ()
    gradient = sketch.op("exponential", sketch.op("negate", x))
    results = []
    for i in reversed(range(layers)):
        sketch.scope = (f"layer_{i}",)
        slope = sketch.op("subtract", sketch.op("multiply", gradient, kept[i]), kept[i])
        gradient = sketch.op("add", gradient, sketch.op("power", slope, kept[i]))
        sketch.scope = ()
        moment = sketch.op("add", sketch.op("multiply", slope, slope), sketch.op("parameter", role="parameter"))
        root = sketch.op("multiply", sketch.op("sqrt", moment), moment)
        results.append(sketch.op("multiply", sketch.op("divide", sketch.op("multiply", slope, moment), root), moment))
    return sketch.program(gradient, *results)


def u_shape(repeats: int = 3) -> Program:
    """Equal blocks before and after something else: two families, not one that runs through what is between."""
    sketch = Sketch()
    x = sketch.op("parameter", role="input")
    for side, end in (("down", "sine"), ("up", "cosine")):
        for i in range(repeats):
            sketch.scope = (side, f"{i}")
            x, _ = sketch.layer(x)
        sketch.scope = ()
        x = sketch.op(end, x)
    return sketch.program(x)


def experts(layers: int = 4, each: int = 5) -> Program:
    """Blocks inside blocks."""
    sketch = Sketch()
    x = sketch.op("parameter", role="input")
    for i in range(layers):
        total = x
        sketch.scope = (f"layer_{i}",)
        routed = sketch.norm(x)
        for e in range(each):
            sketch.scope = (f"layer_{i}", f"expert_{e}")
            hidden = sketch.op("logistic", sketch.op("dot", routed, sketch.weight()))
            total = sketch.op("add", total, sketch.op("dot", hidden, sketch.weight()))
        sketch.scope = (f"layer_{i}",)
        x = sketch.op("cosine", sketch.norm(total))
    return sketch.program(x)


def blocks(program: Program) -> dict[str, int]:
    """The outermost blocks without their numbers, with how many there are."""
    paths = add_structure(program).main.groupings.get(STRUCTURE, {})
    names = {path[0] for path in paths.values()}
    titles = [re.sub(r" \d+$", "", name) for name in names]
    return {title: titles.count(title) for title in sorted(set(titles))}


@pytest.mark.parametrize("program", [chain, training, u_shape, experts])
def test_blocks_are_the_modules_that_the_names_tell(program: Callable[[], Program]) -> None:
    truth = agreement(program())
    assert (truth.missing, truth.wrong, truth.share) == (0, 0, 1), truth
    assert truth.right >= 0.95 * truth.nodes


def test_families_have_as_many_blocks_as_there_are_repeats() -> None:
    assert blocks(chain(24)) == {"mlp": 24}
    assert blocks(u_shape()) == {"mlp A": 3, "mlp B": 3}
    assert blocks(training()) == {"mlp": 6, "adam update": 6}


def test_blocks_contain_blocks() -> None:
    paths = add_structure(nameless(experts())).main.groupings[STRUCTURE]
    inner = {path for path in paths.values() if len(path) == 2}
    assert len({path[0] for path in inner}) == 4
    assert {len({path for path in inner if path[0] == outer}) for outer, _ in inner} == {5}


def test_a_layer_that_differs_is_not_one_of_them() -> None:
    """Exact: another operation, type or wiring in one layer, and it is not called equal."""
    program = chain(8)
    main = program.main
    odd = next(node for node in main if node.op == "tanh" and node.scope == ("layer_4",))
    nodes = tuple(node._replace(op="sine") if node is odd else node for node in main)
    changed = replace(program, graphs={"main": replace(main, nodes=nodes)})
    paths = add_structure(nameless(changed)).main.groupings[STRUCTURE]
    by_block: dict[str, list[str]] = {}
    for node in nameless(changed).main:
        if node.id in paths:
            by_block.setdefault(paths[node.id][0], []).append(node.op)
    families: dict[str, list[list[str]]] = {}
    for name, ops in by_block.items():
        families.setdefault(re.sub(r" \d+$", "", name), []).append(ops)
    assert all(len(set(map(tuple, of_each))) == 1 for of_each in families.values())
    assert not any("sine" in ops for of_each in families.values() for ops in of_each)


def test_a_program_with_names_is_left_alone() -> None:
    program = chain()
    assert with_structure(program) is program


def test_nothing_repeats_in_a_chain_of_different_operations() -> None:
    sketch = Sketch()
    x = sketch.op("parameter", role="input")
    for op in ("sine", "cosine", "tanh", "exponential", "negate", "abs", "floor", "ceil", "sign", "logistic", "cbrt", "sqrt"):
        x = sketch.op(op, x)
    assert blocks(sketch.program(x)) == {}


def test_a_hub_and_a_wide_level_do_not_stop_the_search() -> None:
    """One value with thousands of users, each of which has its own small chain: one family, and not a step per pair of users."""
    sketch = Sketch()
    x = sketch.op("parameter", role="input")
    ends = [sketch.op("tanh", sketch.op("add", sketch.op("sine", x), sketch.op("parameter", role="parameter"))) for _ in range(3000)]
    assert list(blocks(sketch.program(*ends)).values()) == [3000]


@pytest.mark.slow
def test_what_lies_after_both_of_two_blocks_is_in_neither() -> None:
    """Three chains, each connected with the end of the one before it: the last begins after the second block. It was a row without nodes,
    which the search for blocks cannot go on with (two HLO modules of Llama ended there)."""
    builder = ProgramBuilder("m")
    graph = builder.graph("main")
    for name, inputs in (("a0", ""), ("a1", "a0"), ("b0", ""), ("b1", "a0"), ("b2", "b1"), ("c0", ""), ("c1", "b2"), ("c2", "c1")):
        graph.node(name, "op", [(inputs, 0)] if inputs else [], [TensorType("f32", (4,))])
    for name, inputs in (("d0", ""), ("d1", "c2"), ("d2", "d1"), ("e0", ""), ("e1", "d2"), ("e2", "e1")):
        graph.node(name, "op", [(inputs, 0)] if inputs else [], [TensorType("f32", (4,))])
    program = builder.build()
    place = program.main.position
    orbits = [[place[name] for name in names.split()] for names in ("a0 a1", "b0 b1 b2", "c0 c1 c2", "d0 d1 d2", "e0 e1 e2")]
    rows = align(Wiring(program.main, Kinds(program)), orbits, 2)
    assert rows and all(max(row) >= 0 for row in rows)


def test_the_default_grouping_of_a_program_without_names_is_its_structure(run: Run, tmp_path: object) -> None:
    plain = nameless(chain(12))
    wire = read_program(encode_wire(enrich(plain)))
    assert next(iter(wire.groupings)) == STRUCTURE and OP in wire.groupings
    info = info_of(plain)
    assert info.blocks is not None and [(block.title, block.repeats) for block in info.blocks] == [("mlp", 12)]
    assert info_of(chain(12)).blocks is None
    source = f"{tmp_path}/plain.json"
    opscope.save(plain, source)
    assert "mlp ×12" in run("info", source).stdout


def test_positions_and_masks_of_a_module_are_one_group() -> None:
    """Everything that follows from integers and constants alone, and nothing that a weight or an activation goes into."""
    integers, booleans = [TensorType("int64", (4,))], [TensorType("bool", (4, 4))]
    builder = ProgramBuilder("masked")
    builder.attrs["modules"] = {"": "Model"}
    graph = builder.graph("main")
    graph.node("ids", "placeholder", outputs=integers, role="input")
    graph.node("table", "placeholder", outputs=WEIGHT, role="parameter")
    graph.node("arange", "aten.arange.default", outputs=integers, scope=("model",))
    last = "arange"
    for name in ("unsqueeze", "slice", "add"):
        last = graph.node(name, f"aten.{name}.Tensor", [(last, 0), ("ids", 0)], integers, scope=("model",)).id
    graph.node("le", "aten.le.Tensor", [(last, 0), ("arange", 0)], booleans, scope=("model",))
    graph.node("mask", "aten.where.self", [("le", 0), ("arange", 0)], [TensorType("float32", (4, 4))], scope=("model",))
    graph.node("embed", "aten.embedding.default", [("table", 0), ("ids", 0)], F32, scope=("model",))
    graph.node("attend", "aten.add.Tensor", [("embed", 0), ("mask", 0)], F32, scope=("model",))
    graph.outputs.append(("attend", 0))
    program = builder.build()
    wire = read_program(encode_wire(program))
    paths = dict(zip((node["id"] for node in wire.nodes), wire.groupings[MODULE], strict=True))
    aside = {name for name, path in paths.items() if path == ("model", POSITION_AND_MASK)}
    assert aside == {"arange", "unsqueeze", "slice", "add", "le", "mask"}
    assert paths["embed"] == paths["attend"] == ("model",)
