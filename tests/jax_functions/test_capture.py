"""Real JAX on the CPU: every kind of function, at every stage, with its inner graphs, scopes and source lines."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import opscope
from opscope.program import DIRECTION_ATTR, Program

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

STAGES = ("jaxpr", "stablehlo", "hlo", "optimized")


def dense(x, w):
    with jax.named_scope("dense"):
        return jnp.tanh(x @ w)


X, W = jnp.ones((4, 3)), jnp.ones((3, 5))


def ops(program: Program) -> set[str]:
    return {node.op.rpartition(".")[2].replace("-", "_") for graph in program for node in graph}


def scopes(program: Program) -> set[str]:
    return {part for graph in program for node in graph for part in node.scope}


@pytest.mark.parametrize("stage", STAGES)
def test_a_plain_function_at_every_stage(stage: str) -> None:
    program = opscope.capture(dense, X, W, stage=stage)
    assert "tanh" in ops(program)
    assert "dense" in scopes(program)
    assert [len(program.main.parameters), len(program.main.outputs)] == [2, 1]
    assert str(program.main.parameters[1].outputs[0]).endswith("32[3, 5]")
    tanh = next(node for graph in program for node in graph if node.op.endswith("tanh"))
    if stage != "optimized":
        assert any(frame.file.endswith("test_capture.py") for frame in tanh.source)


def test_every_object_that_jax_derives_from_a_function() -> None:
    jitted = jax.jit(dense)
    lowered = jitted.lower(X, W)
    shapes = jax.ShapeDtypeStruct((4, 3), "float32"), jax.ShapeDtypeStruct((3, 5), "float32")
    from jax import export

    objects = [
        opscope.capture(jitted, X, W),
        opscope.capture(dense, *shapes),
        opscope.capture(jax.make_jaxpr(dense)(X, W)),
        opscope.capture(jitted.trace(X, W)),
        opscope.capture(lowered),
        opscope.capture(lowered.compile()),
        opscope.capture(export.export(jitted)(X, W)),
    ]
    for program in objects:
        assert "tanh" in ops(program)
        assert len(program.main.parameters) == 2


def test_static_and_donated_arguments() -> None:
    def scaled(x, mode, n):
        return x * n if mode == "up" else x / n

    program = opscope.capture(scaled, X, "up", 3, static_argnums=(1, 2), donate_argnums=0)
    assert ops(program) >= {"mul"}
    assert [p.attrs.get("donated") for p in program.main.parameters] == [True]
    with pytest.raises(opscope.OpscopeError, match="static_argnums"):
        opscope.capture(scaled, X, "up", 3)


def scan(x, w):
    return jax.lax.scan(lambda c, _: (jnp.tanh(c @ w @ w.T), c.sum()), x, None, length=3)


def branch(x, w):
    return jax.lax.cond(x.sum() > 0, lambda a: (a @ w).sum(), lambda a: a.sum(), x)


def loop(x, w):
    return jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, jnp.tanh(c[1] @ w @ w.T)), (0, x))


def batched(x, w):
    return jax.vmap(lambda row: dense(row[None], w))(x)


@jax.custom_vjp
def clipped(x):
    return jnp.clip(x, 0, 1)


clipped.defvjp(lambda x: (clipped(x), x), lambda x, g: (g * (x > 0),))


def custom(x, w):
    return jax.grad(lambda w: clipped(x @ w).sum())(w)


def remat(x, w):
    return jax.grad(lambda w: jax.checkpoint(dense)(x, w).sum())(w)


def gradient(x, w):
    return jax.value_and_grad(lambda w: dense(x, w).sum())(w)


@pytest.mark.parametrize("function", [scan, branch, loop, batched, custom, remat, gradient], ids=lambda f: f.__name__)
@pytest.mark.parametrize("stage", STAGES)
def test_control_flow_and_transformations_at_every_stage(function: Callable[..., Any], stage: str) -> None:
    """The program is complete: every inner graph is called, and every input of a called graph has its operand."""
    program = opscope.capture(function, X, W, stage=stage)
    called = {name for graph in program for node in graph for name in node.calls}
    assert called <= set(program.graphs)
    assert set(program.graphs) - called <= {program.entry}
    if stage != "optimized":
        assert "dot" in " ".join(ops(program))


@pytest.mark.parametrize(
    ("function", "op", "inner"),
    [(scan, "scan", 1), (branch, "cond", 2), (loop, "while", 2), (remat, "remat2", 1), (custom, "custom_vjp_call", 0)],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_inner_jaxprs_are_called_graphs(function: Callable[..., Any], op: str, inner: int) -> None:
    program = opscope.capture(function, X, W, stage="jaxpr")
    names = [node for graph in program for node in graph if node.op in (op, op.removesuffix("2"))]
    if inner:
        assert names, ops(program)
        assert len(names[0].calls) == inner
        for name in names[0].calls:
            assert len(program[name].outputs) >= 1


def test_outputs_of_a_scan_leave_at_their_own_index() -> None:
    def last(x, w):
        carry, sums = scan(x, w)
        return sums + carry.sum()

    program = opscope.capture(last, X, W, stage="jaxpr")
    indices = {index for node in program.main for name, index in node.inputs if name.startswith("scan")}
    assert indices == {0, 1}


def test_stablehlo_text_and_bytecode_files_open(tmp_path: Path) -> None:
    from jax import export

    exported = export.export(jax.jit(scan))(X, W)
    text, bytecode = tmp_path / "scan.mlir", tmp_path / "scan.bin"
    text.write_text(exported.mlir_module())
    bytecode.write_bytes(exported.mlir_module_serialized)
    first, second = opscope.load(text), opscope.load(bytecode)
    assert isinstance(first, Program) and isinstance(second, Program)
    assert ops(first) >= {"while", "tanh"}
    assert len(first.main.parameters) == 2
    assert {"while", "tanh"} <= ops(second)
    loop = next(node for graph in first for node in graph if node.op == "stablehlo.while")
    assert len(loop.calls) == 2


def test_regions_take_captured_values_as_parameters() -> None:
    """What a region reads from outside is passed by its caller, so no edge crosses a graph boundary."""
    program = opscope.capture(branch, X, W, stage="stablehlo")
    case = next(node for node in program.main if node.op in ("stablehlo.case", "stablehlo.if"))
    captured = [p for name in case.calls for p in program[name].parameters if p.attrs.get("captured")]
    assert captured
    assert len(case.inputs) == 1 + len(captured)


def test_invalid_mlir_is_one_line_with_its_position(tmp_path: Path) -> None:
    path = tmp_path / "broken.mlir"
    path.write_text("module {\n  func.func @main( {\n}\n")
    with pytest.raises(opscope.SourceError, match=r"broken\.mlir:2:\d+: not valid MLIR"):
        opscope.load(path)


def test_damaged_bytecode_is_one_line_and_crashes_no_process(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """jaxlib writes to stderr about such files, and aborts the process if it cannot quote them."""
    from jax import export

    lowered = jax.jit(scan).lower(X, W)
    plain = io.BytesIO()
    lowered.compiler_ir().operation.write_bytecode(plain)
    path = tmp_path / "scan.mlirbc"
    path.write_bytes(plain.getvalue())
    assert {"while", "tanh"} <= ops(opscope.load(path))
    for whole in (export.export(jax.jit(scan))(X, W).mlir_module_serialized, plain.getvalue()):
        path.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(opscope.SourceError, match=r"scan\.mlirbc: is damaged MLIR bytecode"):
            opscope.load(path)
    assert capfd.readouterr().err == ""


def test_flax_linen_modules_are_groups() -> None:
    linen: Any = pytest.importorskip("flax.linen")

    class Model(linen.Module):
        @linen.compact
        def __call__(self, x):
            return linen.Dense(2, name="head")(jnp.tanh(linen.Dense(7, name="body")(x)))

    program = opscope.capture(Model(), X)
    assert {"body", "head"} <= scopes(program)
    paths = " ".join(str(p.attrs.get("path")) for p in program.main.parameters)
    assert "kernel" in paths and "bias" in paths


def test_flax_nnx_modules_are_groups_with_their_classes() -> None:
    nnx: Any = pytest.importorskip("flax.nnx")

    class Model(nnx.Module):
        def __init__(self, rngs):
            self.body = nnx.Linear(3, 7, rngs=rngs)
            self.head = nnx.Linear(7, 2, rngs=rngs)

        def __call__(self, x):
            return self.head(jnp.tanh(self.body(x)))

    call = nnx.Linear.__call__
    program = opscope.capture(Model(nnx.Rngs(0)), X)
    assert {"body: Linear", "head: Linear"} <= scopes(program)
    assert nnx.Linear.__call__ is call, "the class is as it was"


def test_a_function_without_inputs_is_refused_with_how_to_pass_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message is opscope's, for Python and for `module:callable`, and its advice works."""
    (tmp_path / "step_without_inputs.py").write_text(
        "import jax.numpy as jnp\ndef step(x, y):\n    return x @ y\ndef given():\n    return step, jnp.ones((2, 3)), jnp.ones((3, 2))\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        opscope.OpscopeError,
        match=r"^step_without_inputs:step: step needs its inputs; name a function .*, as \(model, \*inputs\)$",
    ):
        opscope.load("step_without_inputs:step")
    assert "dot_general" in ops(opscope.load("step_without_inputs:given"))
    with pytest.raises(opscope.OpscopeError, match=r"^<lambda> needs its inputs: opscope\.capture\(<lambda>, \*inputs\)$"):
        opscope.capture(jax.jit(lambda x: x))


def test_what_is_not_jax_is_refused_with_one_line() -> None:
    with pytest.raises(opscope.OpscopeError, match="cannot capture"):
        opscope.capture(object())
    with pytest.raises(opscope.OpscopeError, match="no stage 'tpu'"):
        opscope.capture(dense, X, W, stage="tpu")
    with pytest.raises(opscope.OpscopeError, match="has an option 'stag'; did you mean 'stage'"):
        opscope.capture(lambda x: x, jnp.ones(2), stag="hlo")


def test_a_function_that_raises_is_refused_with_its_error_and_line() -> None:
    """It was called an internal error of opscope's, to be reported."""

    def broken(x: Any) -> Any:
        raise ValueError(f"no layer for {x.shape}")

    line = broken.__code__.co_firstlineno + 1
    for function in (broken, jax.jit(broken), jax.grad(broken), lambda x: jax.jit(broken)(x)):
        with pytest.raises(opscope.OpscopeError, match=rf"could not trace .*: ValueError: no layer for \(3,\), at test_capture.py:{line}$"):
            opscope.capture(function, jnp.ones(3))


def test_the_classic_example_writes_its_text_and_pictures(tmp_path: Path) -> None:
    import runpy
    import sys

    before = sys.argv
    sys.argv = ["jax_softmax.py", str(tmp_path)]
    try:
        runpy.run_path(str(Path(__file__).parents[2] / "examples" / "jax_softmax.py"), run_name="__main__")
    finally:
        sys.argv = before
    for name in ("softmax_fwd", "softmax_train"):
        assert "HloModule" in (tmp_path / f"{name}.hlo.txt").read_text()
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (tmp_path / f"{name}.svg").read_text()
        assert "<!doctype html>" in (tmp_path / f"{name}.html").read_text()[:200].lower()


def test_a_linen_module_with_state_randomness_and_settings() -> None:
    """Batch norm changes its averages, dropout draws numbers, `train` is not an array: the user need not say any of it."""
    linen: Any = pytest.importorskip("flax.linen")

    class Net(linen.Module):
        @linen.compact
        def __call__(self, x, train):
            x = linen.BatchNorm(use_running_average=not train)(linen.Dense(4)(x))
            return linen.Dropout(0.5, deterministic=not train)(linen.relu(x))

    for args, kwargs in (((X, True), {}), ((X,), {"train": True})):
        program = opscope.capture(Net(), *args, **kwargs)
        assert {"BatchNorm_0", "Dropout_0"} <= scopes(program)
        assert len(program.main.outputs) == 3, "the result, and the two averages that the call changed"
        assert program.main.parameters[-1].id == "x", "inputs have the names that the module gives them"
    assert len(opscope.capture(Net(), X, train=False).main.outputs) == 1
    with pytest.raises(opscope.OpscopeError, match="missing a required argument: 'train'"):
        opscope.capture(Net(), X)


def test_an_nnx_module_returns_the_state_that_it_changed() -> None:
    nnx: Any = pytest.importorskip("flax.nnx")
    norm = nnx.BatchNorm(3, rngs=nnx.Rngs(0))
    assert len(opscope.capture(norm, X).main.outputs) == 3
    assert len(opscope.capture(norm, X, use_running_average=True).main.outputs) == 1
    before = nnx.Linear.__call__
    opscope.capture(nnx.Sequential(nnx.Linear(3, 2, rngs=nnx.Rngs(0))), X)
    assert nnx.Linear.__call__ is before, "looking at a model leaves its classes as they were"


def test_modules_inside_an_nnx_training_step_are_groups_of_both_halves() -> None:
    nnx: Any = pytest.importorskip("flax.nnx")
    step = nnx.jit(lambda model, x: nnx.value_and_grad(lambda model: model(x).sum())(model))
    model = nnx.Sequential(nnx.Linear(3, 2, rngs=nnx.Rngs(0)), jnp.tanh, nnx.Linear(2, 1, rngs=nnx.Rngs(0)))
    for stage in ("jaxpr", "hlo"):
        program = opscope.capture(step, model, X, stage=stage)
        dots = {(node.attrs[DIRECTION_ATTR], node.scope[-1]) for graph in program for node in graph if node.op.startswith("dot")}
        assert dots >= {(half, f"layers.{i}: Linear") for half in ("forward", "backward") for i in (0, 2)}, dots


def test_an_object_at_a_stage_can_go_on_but_not_back() -> None:
    from jax import export

    lowered = jax.jit(dense).lower(X, W)
    exported = export.export(jax.jit(dense))(X, W)
    for stage in STAGES[1:]:
        assert "tanh" in ops(opscope.capture(jax.make_jaxpr(dense)(X, W), stage=stage))
        assert "tanh" in ops(opscope.capture(exported, stage=stage))
    for obj, stage in ((lowered, "jaxpr"), (exported, "jaxpr"), (lowered.compile(), "hlo")):
        with pytest.raises(opscope.OpscopeError, match="past the stage"):
            opscope.capture(obj, stage=stage)
    (size,) = export.symbolic_shape("n")
    symbolic = export.export(jax.jit(jnp.tanh))(jax.ShapeDtypeStruct((size,), "float32"))
    assert opscope.capture(symbolic).main.parameters[0].outputs[0].shape == ("?",)
    with pytest.raises(opscope.OpscopeError, match="symbolic"):
        opscope.capture(symbolic, stage="hlo")
    with pytest.raises(opscope.OpscopeError, match="already jitted"):
        opscope.capture(jax.jit(dense), X, W, donate_argnums=0)


def test_shardings_of_arguments_are_attributes() -> None:
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    split = NamedSharding(Mesh(jax.devices()[:1], ("data",)), PartitionSpec("data"))
    sharded = jax.ShapeDtypeStruct((4, 3), "float32", sharding=split)
    for program in (opscope.capture(dense, sharded, W), opscope.capture(jax.jit(dense, in_shardings=(split, None)), X, W)):
        assert "'data'" in program.main.parameters[0].attrs["sharding"]
        assert "sharding" not in program.main.parameters[1].attrs


def test_constants_are_their_values_at_every_stage() -> None:
    def scaled(x):
        return jnp.where(x > 3, -jnp.inf, x * jnp.float32(0.01))

    for stage in STAGES[:3]:
        constants = (node for node in opscope.capture(scaled, X, stage=stage).main if node.role == "constant")
        values = {str(node.attrs.get("value", node.attrs.get("literal"))) for node in constants}
        assert {"0.01", "-inf"} <= values, (stage, values)
    turned = opscope.capture(lambda x: x * (1 + 2j), jnp.ones(3, "complex64"), stage="stablehlo")
    assert "(1.000000e+00,2.000000e+00)" in {node.attrs.get("value") for node in turned.main}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_the_largest_number_of_a_type_is_a_constant_of_stablehlo(dtype: str) -> None:
    """Flax masks attention with it. Rounded to fewer digits, it is larger than the type allows."""
    least = float(jnp.finfo(dtype).min)
    program = opscope.capture(lambda x: jnp.where(x > 0, x, least), jnp.ones(3, dtype), stage="stablehlo")
    values = [float(node.attrs["value"]) for graph in program for node in graph if node.role == "constant" and "value" in node.attrs]
    assert least in [float(jnp.asarray(value, dtype)) for value in values]


def test_operations_outside_every_scope_belong_to_their_half_too() -> None:
    """A function without named scopes still has a forward and a backward group, as its HLO has."""
    from opscope.analysis.groupings import DIRECTION, GroupTrees

    program = opscope.capture(jax.grad(lambda x: jnp.sin(x).sum()), X)
    trees = GroupTrees(program)
    trees.put_graph(0, program.main)
    tree = next(each for each in trees.trees() if each.name == DIRECTION)
    assert {"forward", "backward"} <= set(tree.names)
    assert all(group >= 0 for node, group in zip(program.main, tree.of_node, strict=True) if node.role == "op")


def test_a_custom_derivative_says_which_function_it_belongs_to() -> None:
    program = opscope.capture(custom, X, W)
    assert "clipped" in {name.partition(".")[0] for name in program.graphs} or "custom_vjp_call" not in ops(program)
    assert "relu" in opscope.capture(lambda x: jax.nn.relu(x), X).graphs


def test_parameters_of_loops_and_branches_name_their_operands() -> None:
    """A loop's condition and body have their own constants, and each branch its own captures: counting would pair them wrongly."""

    def run(x, w, limit):
        return jax.lax.while_loop(lambda c: c.max() < limit, lambda c: jax.lax.cond(c.sum() > 0, lambda: c @ w, lambda: c - limit), x)

    arguments = jnp.ones((4, 4)), jnp.ones((4, 4)), 3.0
    for stage in ("jaxpr", "stablehlo"):
        program = opscope.capture(run, *arguments, stage=stage)
        for graph in program:
            for node in graph:
                for called in node.calls if node.op.endswith("while") or node.op.endswith("case") else ():
                    for parameter in program[called].parameters:
                        name, index = node.inputs[parameter.attrs["index"]]
                        assert graph[name].outputs[index] == parameter.outputs[0], (stage, node.id, parameter.id)


def test_other_dialects_open_if_jaxlib_has_them_and_otherwise_get_a_hint(tmp_path: Path) -> None:
    branches = tmp_path / "branches.mlir"
    branches.write_text(
        "func.func @f(%a: i32, %p: i1) -> i32 {\n  cf.cond_br %p, ^one(%a : i32), ^two\n^one(%x: i32):\n  %y = arith.addi %x, %x : i32\n"
        "  cf.br ^end(%y : i32)\n^two:\n  %c = arith.constant 7 : i32\n  cf.br ^end(%c : i32)\n^end(%r: i32):\n  return %r : i32\n}\n"
    )
    graph = opscope.load(branches).main
    taken = {node.id: [graph[name].op for name, _ in node.inputs] for node in graph if node.op == "block argument"}
    assert sorted(taken.values()) == [["arith.addi", "arith.constant"], ["parameter"]]

    generic = tmp_path / "generic.mlir"
    generic.write_text('%0 = "my.make"() : () -> f32\n%1 = "my.run"(%0) ({\n  "my.yield"(%0) : (f32) -> ()\n}) : (f32) -> f32\n')
    program = opscope.load(generic)
    assert [len(graph.outputs) for graph in program if graph.name != program.entry] == [1]

    short = tmp_path / "short.mlir"
    short.write_text("%0 = my.make : f32\n")
    with pytest.raises(opscope.OpscopeError, match=r"short.mlir:1:6: .*does not have the dialect 'my'.*generic"):
        opscope.load(short)


def test_functions_of_inner_modules_are_read_and_declared_ones_are_not_called(tmp_path: Path) -> None:
    """They were left out without a word where the outer module had functions, and refused where they call each other, as was a call of a
    function that is only declared."""
    main, helper = (
        f"func.func {{}}@{name}(%a: tensor<3xf32>) -> tensor<3xf32> {{{{\n{body}\n  return %0 : tensor<3xf32>\n}}}}\n"
        for name, body in (
            ("main", "  %0 = func.call @helper(%a) : (tensor<3xf32>) -> tensor<3xf32>"),
            ("helper", "  %0 = stablehlo.tanh %a : tensor<3xf32>"),
        )
    )
    declared = "func.func private @helper(tensor<3xf32>) -> tensor<3xf32>\n"
    path = tmp_path / "nested.mlir"
    path.write_text(f"module {{\n{declared}module @inner {{\n{main.format('')}{helper.format('private ')}}}\n{main.format('')}}}\n")
    program = opscope.load(path)
    calls = {graph.name: [(node.op, node.calls) for node in graph if not node.is_argument] for graph in program}
    assert program.entry == "main"
    assert calls == {
        "inner::main": [("func.call", ("inner::helper",))],
        "inner::helper": [("stablehlo.tanh", ())],
        "main": [("func.call", ())],
    }
    assert program.own_text
    text = {graph.name: [line.strip() for line in program.own_text.lines(graph.name, 0, 2)] for graph in program}
    assert text["inner::helper"] == [helper.format("private ").split("\n")[0], "%0 = stablehlo.tanh %a : tensor<3xf32>"]
    assert text["inner::main"] == text["main"] == [part.strip() for part in main.format("").split("\n")[:2]]


def test_what_a_loop_carries_is_known_at_every_stage() -> None:
    """The picture leads results of a body back to the next iteration; a loop's constants come before the carried values."""
    from opscope.analysis.loops import first_carried

    def rounds(x, w, limit):
        return jax.lax.while_loop(lambda c: c.max() < limit, lambda c: jnp.tanh(c @ w), x)

    def steps(x, w):
        return jax.lax.scan(lambda c, _: (jnp.tanh(c @ w), c.sum()), x, None, length=3)

    square = jnp.ones((4, 4))
    for function, arguments, first in ((rounds, (square, square, 3.0), 2), (steps, (square, square), 1)):
        loop = next(node for node in opscope.capture(function, *arguments).main if node.calls and node.op in ("while", "scan"))
        assert first_carried(loop) == first
        for stage in ("stablehlo", "hlo"):
            loop = next(node for node in opscope.capture(function, *arguments, stage=stage).main if node.op.endswith("while"))
            assert first_carried(loop) == 0
    assert {first_carried(node) for node in opscope.capture(branch, X, W).main} == {-1}


@partial(jax.tree_util.register_dataclass, data_fields=["weight", "bias", "activation", "rate"], meta_fields=[])
@dataclass
class Layer:
    """A module as Equinox and Penzai have them: a callable pytree with leaves that are not arrays."""

    weight: Any
    bias: Any
    activation: Any
    rate: float

    def __call__(self, x: Any, *, train: bool = False) -> Any:
        y = self.activation(x @ self.weight)
        return (y * self.rate if train and self.rate > 0 else y), self.activation


@pytest.mark.parametrize("stage", STAGES)
def test_a_callable_pytree_is_a_function_of_its_arrays(stage: str) -> None:
    layer = Layer(W, None, jnp.tanh, 0.5)
    program = opscope.capture(layer, X, train=True, stage=stage)
    assert "Layer" in program.name and "tanh" in ops(program), "the activation is called, and the setting chooses a branch"
    assert len(program.main.parameters) == 2
    if stage == "jaxpr":
        assert [(node.id, node.role) for node in program.main.parameters] == [("self.weight", "parameter"), ("x", "input")]
        assert "mul" in ops(program) and "mul" not in ops(opscope.capture(layer, X))


def test_a_function_may_take_a_callable_pytree() -> None:
    def loss(layer: Layer, x: Any, scale: float) -> Any:
        return layer(x)[0].sum() * scale

    program = opscope.capture(loss, Layer(W, None, jnp.tanh, 0.5), X, 2.0)
    assert [node.id for node in program.main.parameters] == ["layer.weight", "x", "scale"]


def test_a_stage_that_jax_does_not_have_is_meant_for_a_function_that_takes_one() -> None:
    def part(x: Any, stage: Any) -> Any:
        return x * stage

    assert [node.id for node in opscope.capture(part, X, stage=2).main.parameters] == ["x", "stage"]
    assert opscope.capture(part, X, 2, stage="hlo").main.parameters, "a name of a stage is always capture's"

    def choose(x: Any, stage: str = "first") -> Any:
        return x * 2 if stage == "first" else x + 1

    assert [node.op for node in opscope.capture(choose, X, stage="second").main if node.role == "op"] == ["add"]
