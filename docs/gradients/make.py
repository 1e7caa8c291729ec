"""Makes the three figures of docs/gradients.md from the rules that opscope itself shows: python docs/gradients/make.py"""

from __future__ import annotations

from pathlib import Path

import opscope
from opscope.analysis.derivatives import Rule, rule_for
from opscope.program import GraphBuilder, Link, Program, ProgramBuilder, TensorType

HERE = Path(__file__).parent
FULL = TensorType("f32", (8, 16))
SCALAR = TensorType("f32", ())
SHAPES = {"matmul": {"a": TensorType("f32", (8, 32)), "b": TensorType("f32", (32, 16))}, "sum": {"y": TensorType("f32", (8,))}}
"""Of operands and results that are not of the usual shape."""


def basic_ops() -> Program:
    """Each operation beside its backward half: what goes in, what comes back."""
    builder = ProgramBuilder("derivatives of basic operations")
    graph = builder.graph("basic operations")
    for op in ("mul", "exp", "tanh", "matmul", "sum", "softmax"):
        rule = rule_for(op)
        assert rule is not None
        _one_op(graph, op, rule)
    return builder.build()


def _one_op(graph: GraphBuilder, op: str, rule: Rule) -> None:
    scope = (f"y = {rule.y}",)
    shapes = SHAPES.get(op, {})
    result = shapes.get("y", FULL)
    operands = []
    for name in rule.vjp:
        node = graph.node(f"{op}.{name}", "parameter", (), [shapes.get(name, FULL)], role="parameter", scope=scope, attrs={"label": name})
        operands.append((node.id, 0))
    y = graph.node(f"{op}.y", op, operands, [result], scope=scope)
    dy = graph.node(f"{op}.dy", "dy", (), [result], role="gradient", scope=scope, attrs={"label": "dy"})
    for name, text in rule.vjp.items():
        used = [(f"{op}.{other}", 0) for other in rule.vjp if other in text.replace("dy", "").replace("exp", "")]
        kept = [(y.id, 0)] if "y" in text.replace("dy", "") else []
        graph.node(f"{op}.d{name}", f"d{name} = {text}", [(dy.id, 0), *used, *kept], [shapes.get(name, FULL)], scope=scope)


def chain_rule() -> Program:
    """Three operations after each other: backward multiplies the local derivatives, from the end to the beginning."""
    builder = ProgramBuilder("the chain rule")
    graph = builder.graph("chain rule")
    for name, text, reads, shape in (
        ("a", "a = x · w", "x", FULL), ("b", "b = tanh(a)", "a", FULL), ("L", "L = mean(b)", "b", SCALAR),
    ):  # fmt: skip
        if name == "a":
            graph.node("x", "x", (), [FULL], scope=("forward",), attrs={"direction": "forward"})
        graph.node(name, text, [(reads, 0)], [shape], scope=("forward",), attrs={"direction": "forward"})
    for name, text, reads, of in (
        ("dL", "dL = 1", "", "L"), ("db", "db = dL / n", "dL", "b"),
        ("da", "da = db ⊙ (1 − b²)", "db b", "a"), ("dx", "dx = da · wᵀ", "da", "x"),
    ):  # fmt: skip
        shape, links = SCALAR if name == "dL" else FULL, [Link("backward_of", of)]
        inputs = [(read, 0) for read in reads.split()]
        graph.node(name, text, inputs, [shape], scope=("backward",), attrs={"direction": "backward"}, links=links)
    return builder.build()


def used_many_times() -> Program:
    """One value, three uses: each sends a gradient back, and the value gets their sum."""
    builder = ProgramBuilder("one value used many times")
    graph = builder.graph("one value, three uses")
    graph.node("x", "parameter", (), [FULL], role="parameter", attrs={"label": "x"})
    rules = {"query": "q = x · w₁", "key": "k = x · w₂", "value": "v = x · w₃"}
    for name, text in rules.items():
        graph.node(name, text, [("x", 0)], [FULL])
    graph.node("out", "L = f(q, k, v)", [(name, 0) for name in rules], [SCALAR])
    for i, name in enumerate(rules, 1):
        letter = rules[name][0]
        graph.node(f"d{name}", f"dx{'₁₂₃'[i - 1]} = d{letter} · w{'₁₂₃'[i - 1]}ᵀ", [("out", 0)], [FULL])
    graph.node("dx", "dx = dx₁ + dx₂ + dx₃", [(f"d{name}", 0) for name in rules], [FULL])
    return builder.build()


def main() -> None:
    figures = {"basic_ops": basic_ops, "chain_rule": chain_rule, "used_many_times": used_many_times}
    for name, make in figures.items():
        for suffix, size in (("svg", {}), ("png", {"scale": 1.5})):
            opscope.save(make(), HERE / f"{name}.{suffix}", wrap=False, operands=False, beside=make is chain_rule, **size)
        print(f"docs/gradients/{name}.svg")


if __name__ == "__main__":
    main()
