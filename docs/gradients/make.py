"""Makes the three figures of docs/gradients.md from the rules that opscope itself shows: python docs/gradients/make.py

Each figure is drawn as opscope draws a training step: forward runs down on the left, backward up on the right, and what is
saved for backward runs across. Each exists as SVG, as PNG and, to edit, as a draw.io file; that of the basic operations has a page for
each of them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

from opscope.analysis.derivatives import rule_for
from opscope.program import DIRECTION_ATTR, GraphBuilder, Link, Program, ProgramBuilder, TensorType
from opscope.render.draw import host
from opscope.render.draw.picture import Drawn
from opscope.render.wire.program import encode_wire
from opscope.render.writers.png import rasterize
from opscope.render.writers.svg import font_css
from opscope.view_options import ViewOptions

HERE = Path(__file__).parent
FULL = TensorType("f32", (8, 16))
WEIGHT = TensorType("f32", (16, 16))
SCALAR = TensorType("f32", ())
SHAPES = {"matmul": {"a": TensorType("f32", (8, 32)), "b": TensorType("f32", (32, 16))}, "sum": {"y": TensorType("f32", (8,))}}
"""Shapes of operands and results other than the usual one."""
BASIC = (("exp", "tanh"), ("sum", "softmax"), ("mul", "matmul"))
GAP = 20
Theme = Literal["light", "dark"]


class Sheet:
    """A small training step, written down in formulas: nodes are named by what they compute."""

    def __init__(self, name: str) -> None:
        self.builder = ProgramBuilder(name)
        self.graph: GraphBuilder = self.builder.graph(name)

    def parameter(self, name: str, type: TensorType = FULL) -> str:
        return self.graph.node(name, "parameter", (), [type], role="parameter").id

    def forward(self, formula: str, op: str, reads: list[str], type: TensorType = FULL) -> str:
        return self._half("forward", formula, op, reads, type, [])

    def operand(self, name: str, type: TensorType = FULL, half: str = "forward") -> str:
        """An input that is drawn in one of the halves."""
        return self.graph.node(name, "input", outputs=[type], role="input", scope=(half,), attrs={DIRECTION_ATTR: half}).id

    def backward(self, formula: str, op: str, reads: list[str], of: str, type: TensorType = FULL) -> str:
        return self._half("backward", formula, op, reads, type, [Link("backward_of", of)])

    def _half(self, half: str, formula: str, op: str, reads: list[str], type: TensorType, links: list[Link]) -> str:
        inputs = [(name, 0) for name in reads]
        return self.graph.node(formula, op, inputs, [type], scope=(half,), attrs={DIRECTION_ATTR: half}, links=links).id


def one_op(op: str) -> Program:
    """An operation, and what comes back through it."""
    rule = rule_for(op)
    assert rule is not None
    sheet = Sheet(f"y = {rule.y}")
    shapes = SHAPES.get(op, {})
    result = shapes.get("y", FULL)
    operands = [sheet.operand(name, shapes.get(name, FULL)) for name in rule.vjp]
    y = sheet.forward(f"y = {rule.y}", op, operands, result)
    dy = sheet.operand("dy", result, "backward")
    for name, text in rule.vjp.items():
        letters = text.replace("dy", "").replace("exp", "").replace("softmax", "").replace("broadcast", "")
        saved = [y] if "y" in letters else [other for other in rule.vjp if other in letters]
        work = {"sum": "broadcast", "matmul": "matmul"}.get(op, "mul")
        sheet.backward(f"d{name} = {text}", work, [dy, *saved], name, shapes.get(name, FULL))
    return sheet.builder.build()


def chain_rule() -> Program:
    """Three operations after each other: backward multiplies the local derivatives, from the end to the beginning."""
    sheet = Sheet("the chain rule")
    x, w = sheet.parameter("x"), sheet.parameter("w", WEIGHT)
    a = sheet.forward("a = x · w", "matmul", [x, w])
    b = sheet.forward("b = tanh(a)", "tanh", [a])
    loss = sheet.forward("L = mean(b)", "mean", [b], SCALAR)
    start = sheet.backward("dL = 1", "ones", [], loss, SCALAR)
    db = sheet.backward("db = dL / n", "broadcast", [start], loss)
    da = sheet.backward("da = db ⊙ (1 − b²)", "mul", [db, b], b)
    sheet.backward("dw = xᵀ · da", "matmul", [da, x], a, WEIGHT)
    return sheet.builder.build()


def used_many_times() -> Program:
    """One value, three uses: each sends a gradient back, and the value gets their sum."""
    sheet = Sheet("one value used many times")
    x = sheet.parameter("x")
    uses = [sheet.forward(f"{letter} = x · w{n}", "matmul", [x]) for letter, n in zip("qkv", "₁₂₃", strict=True)]
    loss = sheet.forward("L = f(q, k, v)", "mean", uses, SCALAR)
    start = sheet.backward("dL = 1", "ones", [], loss, SCALAR)
    arriving = [
        sheet.backward(f"dx{n} = d{letter} · w{n}ᵀ", "matmul", [start], use)
        for use, letter, n in zip(uses, "qkv", "₁₂₃", strict=True)
    ]  # fmt: skip
    sheet.backward("dx = dx₁ + dx₂ + dx₃", "add_any", arriving, x)
    return sheet.builder.build()


def figure(program: Program, theme: Theme, legend: bool = True, font: str = "", form: Literal["svg", "drawio"] = "svg") -> Drawn:
    options = ViewOptions(forward_backward=True, names=True, operands=False, depth=3, frames=True, all_nodes=True, theme=theme)
    request = {"spec": options.spec, **options.request, "legend": legend, "wrap": False}
    how = {**options.request, "title": program.name, "fontCss": font}
    _, size, text = host.run(encode_wire(program, False), [("load", None), ("draw", request), (form, how)], None)
    return Drawn(text, json.loads(size)["width"], json.loads(size)["height"], 0, 0, ())


def basic_ops(theme: Theme, font: str) -> Drawn:
    """Six operations in a grid, each drawn as the other figures are."""
    rows = [[figure(one_op(op), theme, legend=False) for op in row] for row in BASIC]
    widths = [max(row[i].width for row in rows) for i in range(len(BASIC[0]))]
    parts: list[str] = []
    top = 0
    for row in rows:
        left = 0
        for drawn, width in zip(row, widths, strict=True):
            inner = re.sub(r"<title>.*?</title>", "", drawn.text)
            parts.append(inner.replace("<svg ", f'<svg x="{left + (width - drawn.width) / 2:.0f}" y="{top}" ', 1))
            left += width + GAP
        top += max(drawn.height for drawn in row) + GAP
    size = (sum(widths) + GAP * (len(widths) - 1), top - GAP)
    ground = re.search(r'<rect[^>]* fill="(#\w+)"', rows[0][0].text)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" viewBox="0 0 {size[0]} {size[1]}">'
    style = f"<title>derivatives of basic operations</title><style>{font}</style>"
    rect = f'<rect width="{size[0]}" height="{size[1]}" fill="{ground[1] if ground else "none"}"/>'
    return Drawn("\n".join([head, style, rect, *parts, "</svg>", ""]), *size, 0, 0, ())


def editable(programs: list[Program], theme: Theme) -> str:
    """The figures of some programs as one draw.io file with a page for each."""
    first, *others = (ElementTree.fromstring(figure(program, theme, legend=False, form="drawio").text) for program in programs)
    for other in others:
        first.extend(other)
    return ElementTree.tostring(first, "unicode") + "\n"


def main(directory: Path = HERE, theme: Theme = "light") -> None:
    font = font_css()
    programs = {
        "basic_ops": [one_op(op) for row in BASIC for op in row],
        "chain_rule": [chain_rule()],
        "used_many_times": [used_many_times()],
    }
    figures = {
        "basic_ops": lambda font: basic_ops(theme, font),
        "chain_rule": lambda font: figure(chain_rule(), theme, font=font),
        "used_many_times": lambda font: figure(used_many_times(), theme, font=font),
    }
    for name, make in figures.items():
        (directory / f"{name}.svg").write_text(make(font).text, "utf-8")
        (directory / f"{name}.drawio").write_text(editable(programs[name], theme), "utf-8")
        (directory / f"{name}.png").write_bytes(rasterize(make(""), 1.5))
        print(f"docs/gradients/{name}.svg")


if __name__ == "__main__":
    main()
