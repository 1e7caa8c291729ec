"""One real run of a module, where torch.export refuses it or the run itself ends with an error."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch import nn

import opscope
from opscope.program import Program


def test_a_run_counts_the_parameters_that_it_does_not_use() -> None:
    class Chooses(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.left, self.right = nn.Linear(2, 2), nn.Linear(2, 2, bias=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.left(x) if x.sum().item() > 0 else self.right(x)

    with pytest.warns(UserWarning, match="Showing one real run"):
        program = opscope.capture(Chooses(), torch.ones(1, 2))
    assert program.attrs["notes"][1] == "1 of 3 parameters is not used in this run: right.weight"
    assert [node.attrs["name"] for node in program.main.parameters if node.role == "parameter"] == [
        "left.weight", "left.bias", "right.weight",
    ]  # fmt: skip


def test_a_real_run_follows_the_branch_that_was_taken() -> None:
    """Higher-order operators bypass dispatch modes, unless a mode says that it supports them."""

    class Branch(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))

    eager = [node.op for node in opscope.capture(Branch(), torch.ones(2), stage="eager").main]
    assert "aten.sin.default" in eager and "aten.cos.default" not in eager
    behind = opscope.capture(Branch(), torch.ones(2, requires_grad=True), stage="autograd").main
    assert any("Cond" in node.op for node in behind)
    assert "cond" in [node.op for node in opscope.capture(Branch(), torch.ones(2)).main], "and torch.export works as before"


@dataclasses.dataclass
class Result:
    scores: torch.Tensor
    extras: dict[str, list[torch.Tensor]]


class Winding(nn.Module):
    """Data-dependent Python control flow and a dataclass, on which torch.export fails."""

    def __init__(self) -> None:
        super().__init__()
        self.step = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, forces: dict[str, torch.Tensor]) -> Result:
        while x.sum().item() < 10:
            x = self.step(x) * 0 + x + forces["push"]
        table = torch.zeros(2, 4)
        table[0] = x[0]
        return Result(x, {"table": [table]})


@pytest.fixture(scope="module")
def run() -> Program:
    with pytest.warns(UserWarning, match=r"torch\.export failed on Winding"):
        return opscope.capture(Winding(), torch.ones(2, 4), {"push": torch.ones(4)})


def test_if_export_fails_a_real_run_is_shown(run: Program) -> None:
    """One paragraph says why, and the graph follows the branches that were taken: one iteration of the loop here."""
    (note,) = run.attrs["notes"]
    assert note.startswith("Showing one real run with these inputs, ")
    assert "torch.export failed on Winding (GuardOnDataDependentSymNode): " in note
    assert "\n" not in note
    ops = [node.op for node in run.main if node.role == "op"]
    assert ops.count("aten.addmm.default") == 1
    assert ops.count("aten._local_scalar_dense.default") == 2
    with pytest.raises(opscope.OpscopeError, match=r"torch\.export failed on Winding"):
        opscope.capture(Winding(), torch.ones(2, 4), {"push": torch.ones(4)}, stage="joint")


def test_a_real_run_has_groups_names_lines_and_outputs(run: Program) -> None:
    """Everything that an exported graph has, from hooks and frames."""
    graph = run.main
    assert graph["addmm"].scope == ("step: Linear",)
    assert graph["step.weight"].attrs["name"] == "step.weight"
    assert graph["step.weight"].scope == ("step: Linear",)
    assert graph["addmm"].source[-1].file == __file__
    assert graph["output"].attrs["names"] == ["scores", "extras.table[0]"]
    assert graph["add_1"].inputs[1] == ("forces.push", 0)


def test_writes_through_views_stay_in_order(run: Program) -> None:
    """`table[0] = …` writes to a view: later readers of the table depend on it, although no value leads there."""
    assert run.main["copy_"].inputs[0][0].startswith("select")
    assert run.main["output"].inputs[1] == ("zeros", 0)

    class Reader(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            table = torch.zeros(2, 4)
            table[0] = x
            return table + 1

    graph = opscope.capture(Reader(), torch.ones(4), stage="eager").main
    assert graph["add"].control == ("copy_",)


class Broken(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(torch.cat([x, x], dim=1))


def test_a_forward_that_raises_is_shown_up_to_the_error() -> None:
    """The last node is the operation that failed, in its module, with the error on it."""
    with pytest.warns(UserWarning, match=r"torch\.export failed on Broken") as warned:
        program = opscope.capture(Broken(), torch.ones(2, 4))
    assert warned[0].filename == __file__, "the warning points at who called capture"
    (note,) = program.attrs["notes"]
    assert note.startswith("With these inputs, the run failed at layer: Linear / addmm: RuntimeError: ")
    assert "; the graph ends there. torch.export failed on Broken" in note
    assert "Showing one real run" not in note
    last = program.main.nodes[-1]
    assert (last.op, last.scope) == ("aten.addmm.default", ("layer: Linear",))
    assert "shapes cannot be multiplied" in last.attrs["error"]
    assert last.type_text == "(RuntimeError)"
    assert program.attrs["error"] == last.attrs["error"]
    assert program.main.outputs == ()


def test_a_run_that_fails_with_inputs_in_a_tuple_says_how_to_pass_them() -> None:
    class Shifted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.shift = nn.Parameter(torch.ones(4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.shift.detach()

    (note,) = opscope.capture(Shifted(), (torch.rand(2, 4),), stage="eager").attrs["notes"]
    assert note.startswith("Pass inputs one by one, not in a tuple or list: opscope.capture(model, *inputs). With these inputs, the run")
