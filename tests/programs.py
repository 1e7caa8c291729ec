"""Programs for tests: a small one with one of everything, and hypothesis strategies for the rest."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from opscope.program import COMBINES, ORIGINS, ROLES, WHOLE, Frame, Link, Metric, Program, ProgramBuilder, TensorType

F32 = TensorType("f32", (2, 3), "{1,0}")

TWO_MODULES = """HloModule first
ENTRY a { ROOT x = f32[2] parameter(0) }

HloModule second
ENTRY b { y = f32[2] parameter(0)
  ROOT z = f32[2] tanh(y) }
"""
"""A file with two modules."""


def everything() -> Program:
    """Every field of the model at least once, with awkward texts."""
    builder = ProgramBuilder("jit_step", "main.7")
    builder.attrs["is_scheduled"] = "true"
    builder.metric(Metric("time", "s", "sum", "measured"))
    builder.metric(Metric("size"))
    builder.metric(Metric("speed", "1/s", "ratio:size/time", "estimated"))
    body = builder.graph("fused_computation.1")
    body.node("p", "parameter", outputs=[F32], role="parameter")
    body.node("t", "tanh", [("p", 0)], [F32])
    body.outputs.append(("t", 0))
    main = builder.graph("main.7")
    main.attrs["execution_thread"] = "host"
    main.node("Arg_0.1", "parameter", outputs=[F32], role="parameter", attrs={"index": 0})
    main.node("pair", "tuple", [("Arg_0.1", 0), ("Arg_0.1", 0)], [F32, TensorType("s32", ("<=10", "?"))])
    main.node("send.1", "send", [("pair", WHOLE)], [TensorType("token")])
    main.node(
        "add.3",
        "fusion",
        [("Arg_0.1", 0), ("pair", 1)],
        [F32],
        attrs={"metadata.op_name": 'jit(step)/"quoted"\\/é\u2028', "nested": {"a": [1, 2.5, None, True]}},
        scope=("step", "layer_0: Layer"),
        source=[Frame("model.py", 12, "forward"), Frame("main.py", 3)],
        calls=["fused_computation.1"],
        control=["send.1"],
        links=[Link("backward_of", "pair"), Link("same_as", "t", "fused_computation.1")],
    )
    main.outputs.append(("add.3", 0))
    main.group("partition", "add.3", ("partition 0", "cluster q1"))
    main.measure("time", "add.3", 1.25e-06)
    main.measure("time", "send.1", 0)
    main.measure("size", "add.3", -3)
    body.measure("size", "t", 2**60 + 1)
    return builder.build()


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NAME = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=4,
)
NUMBER = st.integers(-(10**18), 10**18) | st.floats(allow_nan=False, allow_infinity=False)
ATTRS = st.dictionaries(TEXT, JSON, max_size=2)
TYPE = st.builds(TensorType, TEXT, st.lists(st.integers(0, 9) | TEXT, max_size=3).map(tuple), TEXT)
PATH = st.lists(TEXT, max_size=3).map(tuple)


def _name(metric: Metric) -> str:
    return metric.name


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Programs with cycles, forward references, calls and links, in which every reference resolves."""
    names = draw(st.lists(NAME, min_size=1, max_size=3, unique=True))
    ids = {name: draw(st.lists(TEXT, max_size=4, unique=True)) for name in names}
    outputs = {(name, id): draw(st.lists(TYPE, max_size=2)) for name in names for id in ids[name]}
    builder = ProgramBuilder(draw(TEXT), draw(st.sampled_from(names)))
    builder.attrs.update(draw(ATTRS))
    metrics = draw(
        st.lists(st.builds(Metric, NAME, NAME, st.sampled_from(COMBINES), st.sampled_from(ORIGINS)), max_size=2, unique_by=_name)
    )
    for metric in metrics:
        builder.metric(metric)
    for name in names:
        graph = builder.graph(name)
        graph.attrs.update(draw(ATTRS))
        some = st.nothing() if not ids[name] else st.sampled_from(ids[name])

        def with_index(id: str, name: str = name) -> st.SearchStrategy[tuple[str, int]]:
            return st.tuples(st.just(id), st.integers(-1, max(0, len(outputs[name, id]) - 1)))

        values = some.flatmap(with_index)
        links = st.builds(Link, TEXT, some, st.just(""))
        for id in ids[name]:
            graph.node(
                id,
                draw(TEXT),
                draw(st.lists(values, max_size=3)),
                outputs[name, id],
                role=draw(st.sampled_from(ROLES)),
                attrs=draw(ATTRS),
                scope=draw(PATH),
                source=draw(st.lists(st.builds(Frame, TEXT, st.integers(0, 10**6), TEXT), max_size=2)),
                calls=draw(st.lists(st.sampled_from(names), max_size=2)),
                control=draw(st.lists(some, max_size=2)),
                links=draw(st.lists(links, max_size=2)),
            )
        if not ids[name]:
            continue
        graph.outputs.extend(draw(st.lists(values, max_size=2)))
        for id in draw(st.lists(some, max_size=2, unique=True)):
            graph.group(draw(TEXT), id, draw(PATH))
        for metric in metrics:
            graph.metrics[metric.name] = draw(st.dictionaries(some, NUMBER, max_size=3))
    return builder.build()
