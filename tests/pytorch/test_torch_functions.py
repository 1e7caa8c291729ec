"""Joint graphs of modules that call functions with a backward of their own (torch.autograd.Function)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
import torch
from torch import nn
from torch.autograd import Function

import opscope
from opscope.program import BACKWARD_OF
from opscope.readers.torch.kept_functions import kept_functions

pytestmark = [pytest.mark.frameworks, pytest.mark.slow]


class Reversed(Function):
    """Its result is a view of its operand."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, by: float) -> torch.Tensor:
        ctx.by = by
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return -gradient * ctx.by, None


class Rounded(Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return torch.round(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient.sin()


class MaskedSoftmax(Function):
    """It changes the result of its softmax in place, which autograd could not differentiate."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        result = torch.softmax(x, -1).masked_fill_(mask, 0)
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        (result,) = ctx.saved_tensors
        return torch._softmax_backward_data(gradient, result, -1, result.dtype), None


class Several(Function):
    @staticmethod
    def forward(x: torch.Tensor, y: torch.Tensor, by: int) -> Any:
        return x * y * by, None, x + y

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor, _: None, other: torch.Tensor) -> Any:
        x, y = ctx.saved_tensors
        return gradient.cos() * y, other.sin() * x, None


class Changing(Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient.sin()


class Calling(nn.Module):
    def __init__(self, call: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.call = call

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.call(self.linear(x))


def several(x: torch.Tensor) -> torch.Tensor:
    product, _, total = Several.apply(x, x.tanh(), 3)
    return product + total


CALLS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "a view": lambda x: Reversed.apply(x, 2.0).tanh(),
    "twice": lambda x: Rounded.apply(Rounded.apply(x)),
    "in place inside": lambda x: MaskedSoftmax.apply(x, x > 0),
    "several results": several,
    "changes its operand": lambda x: Changing.apply(x * 1).tanh(),
}
_VIEWS = {"aten.view.default", "aten.detach.default", "aten.alias.default"}


def operations(names: Any) -> Counter[str]:
    return Counter(name for name in names if name not in _VIEWS)


@pytest.mark.parametrize("strict", [False, True], ids=["", "strict"])
@pytest.mark.parametrize("name", list(CALLS))
def test_a_function_has_its_own_backward_in_a_joint_graph(name: str, strict: bool) -> None:
    """It had the derivative of its forward: a reversed gradient was not reversed, a straight-through one was zero. The truth is what
    AOTAutograd traces of the module itself, without torch.export."""
    from torch._functorch.aot_autograd import aot_export_joint_with_descriptors

    module, x = Calling(CALLS[name]), torch.rand(2, 4)
    program = opscope.capture(module, x, stage="joint", strict=strict)
    with ExitStack() as tracing:
        graph = aot_export_joint_with_descriptors(tracing, module, (x,)).graph_module.graph
        traced = [str(node.target) for node in graph.nodes if node.op == "call_function" and "getitem" not in str(node.target)]
    assert operations(node.op for node in program.main if node.role == "op") == operations(traced)
    refused = strict and name == "changes its operand"  # by Dynamo
    assert [note.split(",")[0] for note in program.attrs.get("notes", ())] == ["Exported with strict=False"] * refused
    backward = [node for node in program.main if node.op in ("aten.neg.default", "aten.sin.default", "aten.cos.default")]
    assert all(any(link.kind == BACKWARD_OF for link in node.links) for node in backward)


def test_a_capture_leaves_functions_as_they_were() -> None:
    apply = Function.__dict__["apply"]
    opscope.capture(Calling(CALLS["twice"]), torch.rand(2, 4), stage="joint")
    assert Function.__dict__["apply"] is apply
    assert Rounded.apply(torch.tensor(1.6)) == 2 and not hasattr(torch.ops.opscope_function, "Rounded_0")


def test_functions_of_other_threads_are_not_kept() -> None:
    """A model that trains elsewhere in the process would have called operators that have no values."""
    x = torch.tensor([1.6], requires_grad=True)
    with kept_functions(True) as kept, ThreadPoolExecutor(1) as other:
        other.submit(lambda: Rounded.apply(x).backward()).result()
    assert kept.names == set() and x.grad == torch.tensor(1.0).sin()


def test_a_function_that_is_not_kept_is_said_to_have_the_backward_of_its_forward() -> None:
    """Operators take no symbolic sizes that could be passed on."""

    class Scaled(Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, by: int) -> torch.Tensor:
            return x.sin() * by

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> Any:
            return gradient, None

    module, rows = Calling(lambda x: Scaled.apply(x, x.shape[0])), {"x": {0: torch.export.Dim("rows")}}
    fixed = opscope.capture(module, torch.rand(2, 4), stage="joint")
    dynamic = opscope.capture(module, torch.rand(2, 4), stage="joint", dynamic_shapes=rows)
    assert "notes" not in fixed.attrs and not any("cos" in node.op for node in fixed.main)
    assert any("cos" in node.op for node in dynamic.main)
    assert dynamic.attrs["notes"][0] == "The backward of Scaled is not its own, but that of the operations of its forward."


class Beside(nn.Module):
    """One gradient through a function, one beside it, and one that the model itself cuts off."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.both, self.cut, self.after = (nn.Linear(4, 4, bias=False) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.both(x)
        with torch.no_grad():
            z = self.cut(x)
        return self.after(Rounded.apply(self.before(x) + y)) + y + z


@pytest.mark.parametrize("stage", ["forward", "joint"])
def test_gradients_through_a_function_that_strict_export_ran_without_them_are_unknown(stage: str) -> None:
    """They were said to be none. The program of somebody else's export has the function's forward, in a region without gradients."""
    exported = torch.export.export(Beside(), (torch.rand(2, 4),), strict=True)
    joint = opscope.capture(exported, stage="joint")
    forward = opscope.capture(Beside(), torch.rand(2, 4), strict=True)
    cut, unknown = (joint if stage == "joint" else forward).attrs["notes"]
    assert cut.startswith("1 of 4 parameters gets no gradient: cut.weight (no_grad, test_torch_functions.py:")
    line = Rounded.forward.__code__.co_firstlineno + 2
    begins = f"Strict export runs Rounded at test_torch_functions.py:{line} without gradients"
    assert unknown == f"{begins}, so what its backward gives these parameters is unknown: both.weight, before.weight"


def test_a_strict_joint_graph_has_every_gradient_that_the_model_has() -> None:
    """Of a function that Dynamo follows there, too."""
    module, x = Beside(), torch.rand(2, 4)
    module(x).sum().backward()
    program = opscope.capture(module, x, stage="joint", strict=True)
    gradients = {node.attrs["name"] for node in program.main if node.role == "gradient" and node.inputs}
    assert gradients == {name for name, parameter in module.named_parameters() if parameter.grad is not None}
    assert [note.partition(":")[0] for note in program.attrs["notes"]] == ["1 of 4 parameters gets no gradient"]
