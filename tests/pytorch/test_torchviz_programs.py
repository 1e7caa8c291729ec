"""make_dot against torchviz over many programs: the same nodes, edges, labels, lines and colours, whatever was saved by whom and when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torchviz_pictures import Picture, in_dot, in_svg

from opscope.compat.torchviz import make_dot

pytestmark = pytest.mark.step("2.2", "2.8", "2.9", "2.10")

Case = tuple[Any, dict[str, torch.Tensor] | None]


class Twice(torch.autograd.Function):
    """A custom function that saves a leaf, an intermediate tensor, and one of them twice."""

    @staticmethod
    def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(a, b, a)
        return a * b

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return gradient, gradient


def leaf(*shape: int) -> torch.Tensor:
    return torch.rand(*shape, requires_grad=True)


def residual() -> Case:
    x, layer = torch.rand(3, 4), nn.Linear(4, 4)
    y = x + layer(x)
    return (y * y).mean(), dict(layer.named_parameters())


def saved_leaf_met_first() -> Case:
    x = leaf(3)
    return (x + 1).sum() + (x * x.exp()).sum(), {"x": x}


def saved_leaf_met_last() -> Case:
    x = leaf(3)
    return (x * x.exp()).sum() + (x + 1).sum(), {"x": x}


def custom_function() -> Case:
    a, b = leaf(3), leaf(3)
    return Twice.apply(a, b.tanh()).sum(), {"a": a}


def custom_on_saved_leaf() -> Case:
    a = leaf(3)
    return (a * Twice.apply(a, a)).sum(), None


def output_that_is_saved() -> Case:
    y = leaf(3) * 2
    return (y, y * y), None


def saved_before_it_is_an_output() -> Case:
    y = leaf(3) * 2
    return (y * y, y), None


def view_after_its_base() -> Case:
    base = leaf(2, 3) * 2
    return (base, base.view(6)), None


def view_before_its_base() -> Case:
    base = leaf(2, 3) * 2
    return (base.view(6), base), None


def view_of_a_leaf() -> Case:
    x = leaf(2, 3)
    return x.view(6), {"x": x}


def leaf_as_output() -> Case:
    x = leaf(2)
    return (x, x * 2, x), {"x": x}


def in_place() -> Case:
    x = leaf(2, 3)
    y = x * 2
    y[0].mul_(3)
    y.relu_()
    return y.sum(), None


def several_results() -> Case:
    x = leaf(4, 4)
    first, second = x.split(2)
    values, _ = second.max(dim=0)
    return first @ x + values, {"x": x}


def tuple_of_tensors() -> Case:
    x, y = leaf(3, 3), leaf(3, 3)
    index = torch.tensor([0, 2])
    return torch.linalg.multi_dot([x, y.tanh(), x])[index].sum() + torch.stack([x, y]).prod(), None


def recurrent() -> Case:
    cell = nn.GRUCell(2, 3)
    hidden = torch.zeros(1, 3)
    for _ in range(2):
        hidden = cell(torch.rand(1, 2), hidden)
    return hidden, dict(cell.named_parameters())


def convolutions() -> Case:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(), nn.Flatten(), nn.Linear(36, 2))
    return F.cross_entropy(model(torch.rand(2, 3, 8, 8)), torch.tensor([0, 1])), dict(model.named_parameters())


def attention() -> Case:
    layer = nn.MultiheadAttention(8, 2, batch_first=True)
    x = torch.rand(1, 3, 8)
    return layer(x, x, x), dict(layer.named_parameters())


def second_derivative() -> Case:
    x = leaf(3)
    (gradient,) = torch.autograd.grad(x.pow(3).sum(), x, create_graph=True)
    return gradient.norm(), {"x": x}


def embedding() -> Case:
    layer = nn.Embedding(5, 4)
    return layer(torch.tensor([[1, 2]])).transpose(0, 1).contiguous().log_softmax(-1), None


CASES: list[Callable[[], Case]] = [
    residual, saved_leaf_met_first, saved_leaf_met_last, custom_function, custom_on_saved_leaf, output_that_is_saved,
    saved_before_it_is_an_output, view_after_its_base, view_before_its_base, view_of_a_leaf, leaf_as_output, in_place, several_results,
    tuple_of_tensors, recurrent, convolutions, attention, second_derivative, embedding,
]  # fmt: skip
OPTIONS = [{}, {"show_saved": True}, {"show_attrs": True, "max_attr_chars": 20}, {"show_attrs": True, "show_saved": True}]


def without_custom_tables(drawn: Picture) -> Picture:
    """torchviz lists no attributes of custom functions; the drop-in does."""
    boxes = [box._replace(table=()) if box.name == "TwiceBackward" else box for box in drawn.boxes.elements()]
    return drawn._replace(boxes=Counter(boxes))


@pytest.mark.parametrize("shown", OPTIONS, ids=["plain", "saved", "attrs", "both"])
@pytest.mark.parametrize("case", CASES)
def test_the_same_picture(case: Callable[[], Case], shown: dict[str, Any]) -> None:
    torchviz = pytest.importorskip("torchviz")
    value, params = case()
    theirs = in_dot(torchviz.make_dot(value, params=params, **shown).source)
    dot = make_dot(value, params=params, **shown)
    ours = without_custom_tables(in_dot(dot.source))
    assert ours.boxes == theirs.boxes
    assert ours.styles == theirs.styles
    drawn = without_custom_tables(in_svg(dot.pipe("svg", encoding="utf-8")))
    assert {(box.kind, box.shape) for box in drawn.boxes.elements()} == {(box.kind, box.shape) for box in theirs.boxes.elements()}
    assert drawn.boxes.total() == theirs.boxes.total()
    assert {frozenset(pair) for pair in drawn.edges} == {frozenset(pair) for pair in theirs.edges}


def test_what_a_custom_function_did_not_save_is_listed() -> None:
    """torchviz raises on it. The tensors keep their numbers."""

    class Gap(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(a, None, b)
            return a * b

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> Any:
            return gradient, gradient

    source = make_dot(Gap.apply(leaf(2), leaf(2)), show_attrs=True).source.replace("\\n", "\n")
    rows = [line.split(":") for line in source.splitlines() if line.startswith("saved[")]
    assert [(name.strip(), value.strip(' "]')) for name, value in rows] == [
        ("saved[0]", "[saved tensor"), ("saved[1]", "None"), ("saved[2]", "[saved tensor"),
    ]  # fmt: skip
