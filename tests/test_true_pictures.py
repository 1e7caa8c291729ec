"""Programs that differ draw different pictures: nothing that changes the result is folded away, and no text claims another value."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import opscope
from opscope.program import Program, ProgramBuilder, TensorType
from opscope.render.draw.picture import draw
from opscope.view_options import ViewOptions

_STEP = """HloModule step
ENTRY %main (x: f32[4], p: pred[4]) -> f32[4] {{
  %x = f32[4]{{0}} parameter(0)
  %p = pred[4]{{0}} parameter(1)
  %k = f32[] constant(3)
  %kb = f32[4]{{0}} broadcast(%k), dimensions={{}}
  %y = f32[4]{{0}} exponential(%x)
  ROOT %r = {}
}}
"""

_BODY = """HloModule calls
%f (a: f32[4], b: f32[4]) -> f32[4] {{
  %b = f32[4]{{0}} parameter(1)
  %a = f32[4]{{0}} parameter(0)
  ROOT %r = f32[4]{{0}} {}
}}
ENTRY %main (x: f32[4], y: f32[4]) -> f32[4] {{
  %x = f32[4]{{0}} parameter(0)
  %y = f32[4]{{0}} parameter(1)
  ROOT %c = f32[4]{{0}} fusion(%x, %y), kind=kLoop, calls=%f
}}
"""

_CONVERTED = """HloModule converted
ENTRY %main (x: f32[4]) -> f32[4] {{
  %x = f32[4]{{0}} parameter(0)
  {}
  %kb = f32[4]{{0}} broadcast(%k), dimensions={{}}
  %y = f32[4]{{0}} exponential(%x)
  ROOT %r = f32[4]{{0}} multiply(%y, %kb)
}}
"""


def picture(tmp_path: Path, text: str) -> str:
    (tmp_path / "program.hlo").write_text(text)
    return draw(opscope.load(tmp_path / "program.hlo"), ViewOptions(operands=True), "svg").text


def words(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)", svg)


@pytest.mark.parametrize(
    "steps",
    [
        ("f32[4]{0} select(%p, %y, %kb)", "f32[4]{0} select(%p, %kb, %y)"),
        (
            "pred[4]{0} compare(%y, %kb), direction=LT",
            "pred[4]{0} compare(%kb, %y), direction=LT",
            "pred[4]{0} compare(%y, %kb), direction=GT",
        ),
        ("f32[4]{0} remainder(%y, %kb)", "f32[4]{0} remainder(%kb, %y)"),
        ("f32[4]{0} atan2(%y, %kb)", "f32[4]{0} atan2(%kb, %y)"),
        ("f32[4]{0} clamp(%kb, %y, %y)", "f32[4]{0} clamp(%y, %y, %kb)"),
    ],
)
def test_operands_that_change_places_change_the_picture(steps: tuple[str, ...], tmp_path: Path) -> None:
    """A small operand is text in its user, and a text without a place would say the same of both programs."""
    assert len({picture(tmp_path, _STEP.format(step)) for step in steps}) == len(steps)


def test_a_body_of_one_operation_names_it_only_if_it_takes_the_operands_as_they_come(tmp_path: Path) -> None:
    in_order = words(picture(tmp_path, _BODY.format("subtract(%a, %b)")))
    assert "c: subtract" in in_order and {"0", "1"} <= {*in_order}
    assert "c: add" in words(picture(tmp_path, _BODY.format("add(%b, %a)")))
    for other in ("subtract(%b, %a)", "subtract(%b, %b)", "add(%a, %a)"):
        assert "c" in words(picture(tmp_path, _BODY.format(other))), other


@pytest.mark.parametrize(
    ("constant", "text"),
    [
        ("%k = f32[] constant(2)", "× 2"),
        ("%i = s32[] constant(2)\n  %k = f32[] convert(%i)", "× 2"),
        ("%i = s32[] constant(1065353216)\n  %k = f32[] bitcast-convert(%i)", None),
        ("%a = f32[] constant(1.75)\n  %i = s32[] convert(%a)\n  %k = f32[] convert(%i)", None),
    ],
)
def test_a_constant_is_shown_as_a_number_only_if_that_is_its_value(constant: str, text: str | None, tmp_path: Path) -> None:
    shown = [word for word in words(picture(tmp_path, _CONVERTED.format(constant))) if word.startswith("×")]
    assert shown == ([text] if text else [])


def indexed(outputs: int) -> Program:
    """`getitem` of an operation with so many outputs: access to a tuple, or indexing of a tensor."""
    builder = ProgramBuilder("indexed")
    graph = builder.graph("main")
    of = TensorType("f32", (4,))
    graph.node("x", "placeholder", outputs=[of], role="input")
    graph.node("split", "split", [("x", 0)], [of] * outputs)
    graph.node("first", "getitem", [("split", 0)], [of], attrs={"index": 0})
    graph.node("exp", "exp", [("first", 0)], [of])
    graph.outputs.append(("exp", 0))
    return builder.build()


def test_indexing_a_tensor_is_an_operation_and_access_to_a_tuple_is_not() -> None:
    assert "getitem" in words(draw(indexed(1), ViewOptions(), "svg").text)
    assert "getitem" not in words(draw(indexed(2), ViewOptions(), "svg").text)


@pytest.mark.frameworks
def test_an_addition_with_a_factor_is_not_a_plus() -> None:
    torch = pytest.importorskip("torch")

    class Scaled(torch.nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.bias = torch.nn.Parameter(torch.rand(4))

        def forward(self, x):
            return torch.add(torch.exp(x), self.bias, alpha=2), torch.div(torch.exp(x), self.bias, rounding_mode="floor")

    shown = words(draw(opscope.capture(Scaled(), torch.rand(4)), ViewOptions(), "svg").text)
    assert "add alpha=2" in shown and "div floor" in shown
    assert not [word for word in shown if word.startswith(("+", "÷"))]
