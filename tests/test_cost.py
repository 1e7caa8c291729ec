"""FLOPs equal to XLA's own analysis of the same module; what cannot be known is counted as unknown."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from programs import F32

import opscope
from opscope.analysis.cost import Cost, CostModel
from opscope.analysis.cost_metrics import BYTES, FLOPS, INTENSITY, with_costs
from opscope.analysis.info import info_of
from opscope.program import UNKNOWN_TYPE, Program, ProgramBuilder, TensorType
from opscope.readers import capture_object, read
from opscope.readers.source import Source


def hlo(text: str) -> Program:
    return read(Source("step.hlo", text.encode()))[0]


def _cases() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    jax = pytest.importorskip("jax")
    jnp, lax = jax.numpy, jax.lax
    x, image, kernel = jnp.ones((16, 16)), jnp.ones((2, 9, 9, 4)), jnp.ones((3, 3, 4, 8))

    def conv(image: Any, kernel: Any) -> Any:
        return lax.conv_general_dilated(image, kernel, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def grouped(image: Any, kernel: Any) -> Any:
        numbers = ("NHWC", "HWIO", "NHWC")
        return lax.conv_general_dilated(image, kernel, (2, 1), ((1, 2), (2, 2)), None, (1, 2), numbers, feature_group_count=4)

    return {
        "matmul": (jax.grad(lambda x, w: jnp.tanh(x @ w).sum()), (x, x)),
        "batched": (lambda a, b: jnp.einsum("bij,bkj->bik", a, b), (jnp.ones((4, 5, 6)), jnp.ones((4, 7, 6)))),
        "conv": (conv, (image, kernel)),
        "conv_gradient": (jax.grad(lambda a, b: conv(a, b).sum(), argnums=(0, 1)), (image, kernel)),
        "grouped": (grouped, (image, jnp.ones((3, 3, 1, 8)))),
        "grouped_gradient": (jax.grad(lambda a, b: grouped(a, b).sum(), argnums=(0, 1)), (image, jnp.ones((3, 3, 1, 8)))),
        "pool": (lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (3, 3), (1, 1), "SAME"), (x,)),
        "softmax_sort": (lambda x: (jnp.sort(x), jax.nn.softmax(x), jnp.cos(x)), (x,)),
        "branch": (lambda x: lax.cond(x[0, 0] > 0, lambda x: x @ x, lambda x: x + 1, x), (x,)),
        "scatter": (lambda x, i: (x.at[i].add(2.0), x[i]), (x, jnp.array([1, 2]))),
        "fft": (jnp.fft.fft, (jnp.ones((4, 12)),)),
        "pool_gradient": (jax.grad(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (3, 3), (2, 2), "VALID").sum()), (x,)),
        "ragged": (lax.ragged_dot, (jnp.ones((12, 8)), jnp.ones((3, 8, 5)), jnp.array([4, 4, 4]))),
    }


NAMES = ["matmul", "batched", "conv", "conv_gradient", "grouped", "grouped_gradient", "pool", "softmax_sort", "branch", "scatter"]
NAMES += ["fft", "pool_gradient", "ragged"]


@pytest.mark.frameworks
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("compiled", [False, True], ids=["lowered", "compiled"])
def test_flops_are_those_of_xla(name: str, compiled: bool) -> None:
    jax = pytest.importorskip("jax")
    function, args = _cases()[name]
    stage = jax.jit(function).lower(*args)
    if compiled:
        stage = stage.compile()
    costs = CostModel(hlo(stage.as_text() if compiled else stage.as_text("hlo")))
    cost = costs.total
    xla = stage.cost_analysis()
    assert (cost.flops - cost.transcendentals, cost.transcendentals) == (xla.get("flops", 0), xla.get("transcendentals", 0))
    assert cost.unknown == 0
    column = with_costs(costs.program).main.metrics["flops"]
    assert sum(column.values()) == cost.flops, "the metric adds up to XLA's total, calls and their bodies counted once"


@pytest.mark.frameworks
@pytest.mark.parametrize("name", ["pool", "pool_gradient"])
def test_the_pools_of_a_jaxpr_cost_what_xla_says(name: str) -> None:
    """The last equation is all that is lowered: a jaxpr of a gradient also has the forward half, which nothing reads."""
    jax = pytest.importorskip("jax")
    function, args = _cases()[name]
    costs = CostModel(capture_object(function, *args))
    column, last = with_costs(costs.program).main.metrics["flops"], costs.program.main.nodes[-1]
    assert column[last.id] == jax.jit(function).lower(*args).cost_analysis()["flops"] and not costs.unknown_flops_ops


@pytest.mark.frameworks
@pytest.mark.parametrize("name", ["pool", "pool_gradient"])
def test_the_pools_of_stablehlo_cost_what_xla_says(name: str) -> None:
    jax = pytest.importorskip("jax")
    function, args = _cases()[name]
    costs = CostModel(capture_object(function, *args, stage="stablehlo"), as_xla=True)
    assert costs.total.flops == jax.jit(function).lower(*args).cost_analysis()["flops"] and not costs.unknown_flops_ops


@pytest.mark.frameworks
@pytest.mark.parametrize("compiled", [False, True], ids=["lowered", "compiled"])
def test_as_xla_equals_xla_where_ours_is_higher(compiled: bool) -> None:
    """XLA counts the body of a loop once, multiplies the dimensions of an FFT, and has -1 for a custom call."""
    jax = pytest.importorskip("jax")
    jnp, lax = jax.numpy, jax.lax

    def function(x: Any, key: Any) -> Any:
        x = lax.fori_loop(2, 10, lambda i, x: jnp.tanh(x @ x), x)
        return jnp.fft.fft2(x), lax.linalg.cholesky(x), jax.random.normal(key, (4, 4))

    stage = jax.jit(function).lower(jnp.ones((16, 16)), jax.random.key(0))
    stage = stage.compile() if compiled else stage
    program = hlo(stage.as_text() if compiled else stage.as_text("hlo"))
    xla = stage.cost_analysis()
    assert info_of(program, as_xla=True).flops == xla["flops"] + xla["transcendentals"]
    ours = CostModel(program)
    assert ours.total.flops > 8 * 2 * 16**3 and not ours.unknown_flops_ops


@pytest.mark.frameworks
@pytest.mark.parametrize("compiled", [False, True], ids=["lowered", "compiled"])
def test_as_xla_takes_the_most_of_any_branch_for_transcendentals_and_for_others(compiled: bool) -> None:
    """One branch has only exponentials, the other only products."""
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    lowered = jax.jit(lambda x: jax.lax.cond(x.sum() > 0, lambda x: jnp.exp(x), lambda x: x * x * x, x)).lower(jnp.ones((4, 16)))
    stage = lowered.compile() if compiled else lowered
    xla = stage.cost_analysis()
    program = capture_object(lowered, stage="optimized" if compiled else "hlo")
    info = info_of(program, as_xla=True)
    assert xla["transcendentals"] == info.transcendentals == 4 * 16
    assert info.flops == xla["flops"] + xla["transcendentals"]


@pytest.mark.frameworks
@pytest.mark.parametrize(
    "call", ["triangular-solve(a, b), left_side=true, lower=true, transpose_a=NO_TRANSPOSE", "cholesky(a), lower=true"]
)
def test_solvers_cost_what_xla_says(call: str) -> None:
    """JAX lowers them to custom calls on a CPU, so the module is text."""
    jax = pytest.importorskip("jax")
    from jax._src.lib import xla_client
    from jaxlib._hlo import hlo_module_from_text

    text = f"""HloModule solve
ENTRY main {{
  a = f32[2,16,16]{{2,1,0}} parameter(0)
  b = f32[2,16,16]{{2,1,0}} parameter(1)
  ROOT r = f32[2,16,16]{{2,1,0}} {call}
}}
"""
    xla = xla_client._xla.hlo_module_cost_analysis(jax.devices()[0].client, hlo_module_from_text(text))
    assert CostModel(hlo(text)).total.flops == xla["flops"] > 0


@pytest.mark.frameworks
@pytest.mark.parametrize("stage", ["jaxpr", "stablehlo", "hlo"])
def test_a_counter_in_the_condition_tells_how_often_a_loop_runs(stage: str) -> None:
    jax = pytest.importorskip("jax")
    jnp, lax = jax.numpy, jax.lax

    def flops(start: int, limit: int, step: int) -> list[int]:
        def loop(x: Any) -> Any:
            is_less = (lambda s: s[0] < limit) if step > 0 else (lambda s: s[0] >= limit)
            return lax.while_loop(is_less, lambda s: (s[0] + step, s[1] @ s[1]), (start, x))[1]

        total = CostModel(opscope.capture(loop, jnp.ones((64, 64)), stage=stage)).total
        return [round(total.flops / (2 * 64**3)), total.unknown]

    for bounds in ((0, 8, 1), (1, 8, 3), (9, 0, -2), (5, 5, 1)):
        runs = len(range(bounds[0], bounds[1] - (bounds[2] < 0), bounds[2]))
        assert flops(*bounds) == [runs, 0], bounds

    def until_small(x: Any) -> Any:
        return lax.while_loop(lambda x: x.sum() > 1, lambda x: x @ x, x)

    assert CostModel(opscope.capture(until_small, jnp.ones((4, 4)), stage=stage)).unknown_ops == {_while(stage): 1}


def _while(stage: str) -> str:
    return "stablehlo.while" if stage == "stablehlo" else "while"


@pytest.mark.frameworks
@pytest.mark.parametrize("name", ["conv", "conv_gradient", "grouped", "grouped_gradient"])
def test_convolutions_cost_the_same_in_stablehlo_and_jaxpr(name: str) -> None:
    """Each has its own names for dimensions, strides and padding."""
    jax = pytest.importorskip("jax")
    function, args = _cases()[name]
    lowered = jax.jit(function).lower(*args)
    programs = [hlo(lowered.as_text("hlo")), read(Source("step.mlir", lowered.as_text().encode()))[0]]
    expected, stable = (_of_convolutions(program) for program in programs)
    assert Counter(stable) == Counter(expected) and None not in stable
    assert set(expected) <= set(_of_convolutions(opscope.capture(function, *args)))


def _of_convolutions(program: Program) -> list[int | None]:
    model = CostModel(program)
    costs = [model.node(graph, node) for graph in program for node in graph.nodes if "conv" in node.op and "convert" not in node.op]
    return [None if cost.unknown else cost.flops for cost in costs]


def test_a_loop_counts_as_often_as_it_runs_or_as_unknown() -> None:
    text = """HloModule loop
body { p = (s32[], f32[4,4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[4,4] get-tuple-element(p), index=1
  y = f32[4,4] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (s32[], f32[4,4]) tuple(i, y) }
condition { p = (s32[], f32[4,4]) parameter(0)
  ROOT c = pred[] constant(true) }
ENTRY main { p = (s32[], f32[4,4]) parameter(0)
  ROOT w = (s32[], f32[4,4]) while(p), condition=condition, body=body TRIPS }
"""
    counted = CostModel(hlo(text.replace("TRIPS", ', backend_config={"known_trip_count":{"n":"7"}}')))
    assert counted.total.flops == 7 * 2 * 4 * 4 * 4 and counted.total.unknown == 0
    uncounted = CostModel(hlo(text.replace("TRIPS", "")))
    assert uncounted.total.flops == 2 * 4 * 4 * 4 and uncounted.total.unknown == 1 and uncounted.unknown_ops == {"while": 1}
    assert "w" not in with_costs(uncounted.program).main.metrics["flops"]


@pytest.mark.frameworks
@pytest.mark.parametrize("update", [False, True], ids=["rows", "update"])
def test_a_loop_that_touches_rows_is_charged_for_the_rows_as_in_xla(update: bool) -> None:
    """Fused slices and updates move a row, not the whole table. XLA counts the body of a loop once."""
    jax = pytest.importorskip("jax")
    jnp, lax = jax.numpy, jax.lax

    def rows(x: Any) -> Any:
        return lax.scan(lambda h, row: (jnp.tanh(h + row), h * 2), x[0], x)

    def table(x: Any) -> Any:
        return lax.scan(lambda t, i: (t.at[i].set(jnp.sin(t[i])), t[i].sum()), x, jnp.arange(50))

    compiled = jax.jit(table if update else rows).lower(jnp.ones((1000, 64))).compile()
    costs = CostModel(hlo(compiled.as_text()))
    (loop,) = [node for node in costs.program.main if node.op == "while"]
    once = sum(costs.graph(called).bytes for called in loop.calls)
    counted = costs.total.bytes - costs.node(costs.program.main, loop).bytes + once
    assert counted == pytest.approx(compiled.cost_analysis()["bytes accessed"], rel=0.05)
    assert costs.node(costs.program.main, loop).bytes == once * (50 if update else 1000)


@pytest.mark.parametrize(
    ("root", "moved"),
    [
        ("ROOT r = f32[1,4] dynamic-slice(a, i, z), dynamic_slice_sizes={1,4}", 16 + 16 + 4 + 16),
        ("ROOT r = f32[10,4] dynamic-update-slice(a, u, i, z)", 16 + 16 + 4 + 16),
        ("d = f32[10,4] dynamic-update-slice(a, u, i, z)\n  ROOT r = f32[4,10] bitcast(d)", 16 + 16 + 4 + 16),
        ("d = f32[10,4] dynamic-update-slice(a, u, i, z)\n  ROOT r = (f32[10,4], f32[1,4]) tuple(d, u)", 16 + 16 + 16 + 4 + 16),
        ("d = f32[10,4] dynamic-update-slice(a, u, i, z)\n  ROOT r = f32[10,4] negate(d)", 160 + 160 + 4 + 16),
        ("d = f32[1,4] dynamic-slice(a, i, z), dynamic_slice_sizes={1,4}\n  ROOT r = f32[10,4] negate(a)", 160 + 160 + 4 + 16),
    ],
    ids=["slice", "update", "bitcast", "tuple", "used", "whole"],
)
def test_a_fusion_moves_what_its_body_touches(root: str, moved: int) -> None:
    """Result, table, index and update; parameters are bound by number, not by the order of their lines."""
    kind = root.partition("ROOT r = ")[2].rpartition("(")[0].rpartition(" ")[0]
    text = f"""HloModule m
f {{ i = s32[] parameter(1)
  u = f32[1,4] parameter(2)
  a = f32[10,4] parameter(0)
  z = s32[] constant(0)
  {root} }}
ENTRY main {{ p = f32[10,4] parameter(0)
  i = s32[] parameter(1)
  u = f32[1,4] parameter(2)
  ROOT w = {kind} fusion(p, i, u), kind=kLoop, calls=f }}
"""
    assert CostModel(hlo(text)).total.bytes == moved


def test_metrics_are_the_cost_of_each_node_with_everything_it_calls() -> None:
    """A loop costs its body for every iteration. The inside of a fusion moves no bytes, and a parameter costs nothing."""
    text = """HloModule loop
fused { p = f32[4,4] parameter(0)
  n = f32[4,4] negate(p)
  ROOT e = f32[4,4] exponential(n) }
body { p = (s32[], f32[4,4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[4,4] get-tuple-element(p), index=1
  y = f32[4,4] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  z = f32[4,4] fusion(y), kind=kLoop, calls=fused
  ROOT t = (s32[], f32[4,4]) tuple(i, z) }
condition { p = (s32[], f32[4,4]) parameter(0)
  ROOT c = pred[] constant(true) }
ENTRY main { p = (s32[], f32[4,4]) parameter(0)
  w = (s32[], f32[4,4]) while(p), condition=condition, body=body, backend_config={"known_trip_count":{"n":"7"}}
  r = f32[4,4] get-tuple-element(w), index=1
  c = f32[4,4] custom-call(r), custom_call_target="mystery"
  ROOT s = f32[2,8] reshape(c) }
"""
    program = with_costs(hlo(text))
    assert dict(program.metrics) == {"flops": FLOPS, "bytes": BYTES, "intensity": INTENSITY}
    flops = {graph.name: dict(graph.metrics["flops"]) for graph in program}
    moved = {graph.name: dict(graph.metrics["bytes"]) for graph in program}
    assert flops["fused"] == {"n": 16, "e": 16} and moved["fused"] == {}
    assert flops["body"] == {"y": 128, "z": 32} and moved["body"] == {"y": 3 * 64, "z": 2 * 64}
    assert flops["main"] == {"w": 7 * 160, "s": 0}, "the cost of the custom call is unknown"
    assert moved["main"] == {"w": 7 * 5 * 64, "c": 2 * 64, "s": 2 * 64}
    assert with_costs(program) is program
    measured = with_costs(hlo(text).with_metric(opscope.Metric("flops", "FLOP", origin="measured"), {"w": 5}))
    assert measured.metrics["flops"].origin == "measured" and dict(measured.main.metrics["flops"]) == {"w": 5}
    assert measured.metrics["bytes"] == BYTES


def test_a_program_without_costs_has_no_cost_metrics() -> None:
    builder = ProgramBuilder("p")
    builder.graph("g").node("x", "mystery", outputs=[TensorType("f32", ("s0",))])
    assert not with_costs(builder.build()).metrics


def test_what_cannot_be_known_is_counted_as_unknown() -> None:
    builder = ProgramBuilder("p")
    graph = builder.graph("g")
    graph.node("x", "parameter", outputs=[F32], role="parameter")
    graph.node("call", "custom-call", [("x", 0)], [F32], attrs={"custom_call_target": "cublas"})
    graph.node("marked", "custom-call", [("call", 0)], [F32], attrs={"custom_call_target": "Sharding"})
    graph.node("dynamic", "add", [("x", 0), ("x", 0)], [TensorType("f32", ("s0",))])
    costs = CostModel(builder.build())
    assert costs.total.flops == 0 and costs.total.unknown == 2 and costs.unknown_ops == {"custom-call": 1, "add": 1}


def test_a_value_of_unknown_rank_is_not_counted_as_one_element() -> None:
    builder = ProgramBuilder("p")
    graph = builder.graph("g")
    graph.node("x", "input", outputs=[F32], role="input")
    graph.node("relu", "Relu", [("x", 0)], [UNKNOWN_TYPE])
    graph.node("tanh", "Tanh", [("relu", 0)], [F32])
    program = builder.build()
    assert UNKNOWN_TYPE.elements is None and UNKNOWN_TYPE.bytes is None and str(UNKNOWN_TYPE) == "?"
    assert TensorType("f32").elements == 1 and str(TensorType("f32")) == "f32[]"
    costs = CostModel(program)
    assert costs.total == Cost(flops=6, bytes=0, unknown=2, unknown_flops=1, unknown_bytes=2, transcendentals=6)
    assert costs.unknown_ops == {"Relu": 1, "Tanh": 1} and costs.unknown_flops_ops == {"Relu": 1}
    assert with_costs(program).main.metrics == {"flops": {"tanh": 6}}


@pytest.mark.parametrize(("op", "attrs"), [("Conv", {}), ("LSTM", {}), ("dot", {"lhs_contracting_dims": "{1}"})])
def test_products_with_operands_of_unknown_rank_are_unknown(op: str, attrs: dict[str, Any]) -> None:
    builder = ProgramBuilder("p")
    graph = builder.graph("g")
    graph.node("x", "input", outputs=[UNKNOWN_TYPE], role="input")
    graph.node("y", op, [("x", 0), ("x", 0)], [F32], attrs=attrs)
    assert CostModel(builder.build()).total == Cost(0, 0, 1, 1, 1)


def test_a_result_that_nobody_wants_does_not_make_an_operation_unknown() -> None:
    """torch's convolution_backward returns None for the gradient of an image that needs none."""
    builder = ProgramBuilder("p")
    graph = builder.graph("g")
    image, weight, out = (TensorType("f32", shape) for shape in ((1, 2, 4, 4), (3, 2, 1, 1), (1, 3, 4, 4)))
    for name, kind in (("gradient", out), ("image", image), ("weight", weight)):
        graph.node(name, "input", outputs=[kind], role="input")
    inputs = [("gradient", 0), ("image", 0), ("weight", 0)]
    attrs = {"output_mask": [False, True, False]}
    graph.node("y", "aten.convolution_backward.default", inputs, [TensorType("(None)"), weight, TensorType("(None)")], attrs=attrs)
    cost = CostModel(builder.build()).total
    assert (cost.flops, cost.unknown) == (2 * 3 * 4 * 4 * 2, 0)


def test_a_cycle_of_calls_ends() -> None:
    builder = ProgramBuilder("p", "a")
    for name, other in (("a", "b"), ("b", "a")):
        graph = builder.graph(name)
        graph.node("x", "parameter", outputs=[F32], role="parameter")
        graph.node("y", "call", [("x", 0)], [F32], calls=[other])
        graph.node("z", "tanh", [("x", 0)], [F32])
    assert CostModel(builder.build()).total == Cost(12, 96, 1, 1, 1, transcendentals=12)


@pytest.mark.slow
def test_calls_deeper_than_pythons_stack() -> None:
    builder = ProgramBuilder("p", "g0")
    for i in range(5_000):
        graph = builder.graph(f"g{i}")
        graph.node("x", "parameter", outputs=[F32], role="parameter")
        graph.node("y", "call", [("x", 0)], [F32], calls=[f"g{i + 1}"] if i < 4_999 else [])
        graph.node("z", "tanh", [("x", 0)], [F32])
    assert CostModel(builder.build()).total.flops == 5_000 * 6


@pytest.mark.parametrize(
    ("op", "shapes", "out", "flops"),
    [
        ("aten.mm.default", [(2, 3), (3, 5)], (2, 5), 60),
        ("aten.addmm.default", [(5,), (2, 3), (3, 5)], (2, 5), 70),
        ("aten.linear.default", [(2, 3), (5, 3)], (2, 5), 60),
        ("aten.convolution.default", [(1, 4, 8, 8), (6, 4, 3, 3)], (1, 6, 6, 6), 2 * 216 * 36),
        ("ConvTranspose", [(1, 4, 6, 6), (4, 2, 3, 3)], (1, 2, 8, 8), 2 * 4 * 36 * 2 * 9),
        ("Gemm", [(2, 3), (3, 5)], (2, 5), 60),
        ("Gemm", [(2, 3), (3, 5), (5,)], (2, 5), 70),
        ("MatMul", [(7, 2, 3), (3, 5)], (7, 2, 5), 420),
    ],
)
def test_products_of_other_frameworks(op: str, shapes: list[tuple[int, ...]], out: tuple[int, ...], flops: int) -> None:
    builder = ProgramBuilder("p")
    graph = builder.graph("g")
    for i, shape in enumerate(shapes):
        graph.node(str(i), "placeholder", outputs=[TensorType("float32", shape)], role="parameter")
    graph.node("y", op, [(str(i), 0) for i in range(len(shapes))], [TensorType("float32", out)])
    assert CostModel(builder.build()).total.flops == flops


def test_a_loop_whose_length_nobody_says_is_of_unknown_cost() -> None:
    """Its body counts once, which is not its cost."""
    builder = ProgramBuilder("loop", "main")
    body, main = builder.graph("main/loop"), builder.graph("main")
    body.node("x", "parameter", outputs=[TensorType("f32", (4,))], role="parameter")
    body.node("square", "arith.mulf", [("x", 0), ("x", 0)], [TensorType("f32", (4,))])
    body.outputs.append(("square", 0))
    main.node("x", "parameter", outputs=[TensorType("f32", (4,))], role="parameter")
    main.node("loop", "scf.for", [("x", 0)], [TensorType("f32", (4,))], calls=["main/loop"])
    main.outputs.append(("loop", 0))
    counted = info_of(builder.build())
    assert (counted.flops, counted.unknown, counted.unknown_ops) == (4, 1, ("scf.for",))


def test_settings_are_the_attributes_without_names() -> None:
    program = hlo(
        "ENTRY main {\n  x = f32[2,2] parameter(0)\n"
        '  ROOT d = f32[2,2] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(f)/dot_general"}\n}\n'
    )
    node = program.main["d"]
    assert dict(node.settings) == {"lhs_contracting_dims": "{1}", "rhs_contracting_dims": "{0}"}
    assert node.settings.items() < node.attrs.items()
    assert CostModel(program).node(program.main, node).flops == 2 * 2 * 2 * 2


@pytest.mark.frameworks
@pytest.mark.parametrize("batch", [(), (0,)])
@pytest.mark.parametrize("stage", ["jaxpr", "stablehlo", "hlo"])
def test_products_that_contract_nothing_are_counted(stage: str, batch: tuple[int, ...]) -> None:
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    def outer(a: Any, b: Any) -> Any:
        return jax.lax.dot_general(a, b, (((), ()), (batch, batch)))

    operands = jnp.ones((6, 2)), jnp.ones((6, 8))
    xla = jax.jit(outer).lower(*operands).cost_analysis()
    assert CostModel(capture_object(outer, *operands, stage=stage)).total[:1] == (xla["flops"],)


@pytest.mark.frameworks
def test_a_new_sharding_computes_nothing() -> None:
    jax = pytest.importorskip("jax")
    mesh = jax.make_mesh((1,), ("data",), axis_types=(jax.sharding.AxisType.Explicit,))
    x = jax.device_put(jax.numpy.ones((8, 8)), jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data")))
    program = capture_object(lambda x: jax.sharding.reshard(x, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())), x)
    assert [node.op for node in program.main if node.role == "op"] == ["reshard"]
    assert not CostModel(program).unknown_flops_ops
