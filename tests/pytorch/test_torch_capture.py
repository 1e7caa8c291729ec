"""Modules and functions: the joint graph, the real run if export fails, and the messages."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import io
import json
import random
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch_models import ARCHITECTURES, Block

import opscope
from opscope.analysis.enrich import enrich
from opscope.analysis.groupings import GroupTrees
from opscope.errors import OpscopeError
from opscope.ops import plain_name
from opscope.program import DIRECTION_ATTR, Program
from opscope.readers import read
from opscope.readers.source import Source


class Norms(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.norm, self.batch, self.down = nn.Linear(8, 16), nn.LayerNorm(16), nn.BatchNorm1d(16), nn.Linear(16, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(torch.nn.functional.gelu(self.batch(self.norm(self.up(x)))))


@pytest.fixture(scope="module")
def joint() -> Program:
    return opscope.capture(Norms(), torch.rand(4, 8), stage="joint")


def test_every_backward_operation_belongs_to_a_forward_one(joint: Program) -> None:
    """Selecting one highlights the other: every operation of the backward half has a link, and into the forward half."""
    halves = {node.id: node.attrs.get(DIRECTION_ATTR) for node in joint.main}
    assert Counter(halves.values())["backward"] > 20
    for node in joint.main:
        if halves[node.id] == "backward" and node.role == "op":
            (link,) = node.links
            assert link.kind == "backward_of"
            assert halves[link.node] == "forward"
    assert joint.main["native_layer_norm_backward"].links[0].node == "native_layer_norm"
    assert joint.main["gelu_backward"].links[0].node == "gelu"


def test_both_halves_are_in_their_modules(joint: Program) -> None:
    """Grouping by module puts the backward of a layer with the layer."""
    assert joint.main["native_layer_norm"].scope == joint.main["native_layer_norm_backward"].scope == ("norm: LayerNorm",)
    links = {node.links[0].node: node for node in joint.main if node.links and node.attrs.get(DIRECTION_ATTR) == "backward"}
    for forward, backward in links.items():
        if backward.role == "op":
            assert backward.scope == joint.main[forward].scope


class Scored(nn.Module):
    """A model and its loss: the loss's own operations are in no module."""

    def __init__(self) -> None:
        super().__init__()
        self.model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(self.model(x.exp()).flatten(1), y)


def test_every_operation_of_a_joint_graph_is_in_its_half_and_modules_below_it(tmp_path: Path) -> None:
    """Also those of the root's own `forward`, so that the halves can be drawn side by side."""
    program = opscope.capture(Scored(), torch.rand(2, 8), torch.tensor([1, 2]), stage="joint")
    trees = GroupTrees(program)
    trees.put_graph(0, program.main)
    tree = trees.trees()[0]
    assert {name for name, parent in zip(tree.names, tree.parents, strict=True) if parent < 0} == {"forward", "backward"}
    operations = [(node, group) for node, group in zip(program.main, tree.of_node, strict=True) if node.role == "op"]
    at_the_root = {tree.names[group] for node, group in operations if not node.scope}
    assert at_the_root == {"forward", "backward"}, "an operation of no module stands directly in its half"
    for node, group in operations:
        while tree.parents[group] >= 0:
            group = tree.parents[group]
        assert tree.names[group] == node.attrs[DIRECTION_ATTR], node
    drawn = tmp_path / "beside.svg"
    opscope.save(program, drawn, forward_backward=True)
    assert "Forward ↓ left, backward ↑ right" in drawn.read_text()


def test_gradients_lead_to_their_parameters(joint: Program) -> None:
    """Each trainable parameter has one gradient node of the same type, linked to it; tangents come in as gradients."""
    model = Norms()
    gradients = {node.attrs["name"]: node for node in joint.main if node.role == "gradient" and node.inputs}
    assert set(gradients) == {name for name, _ in model.named_parameters()}
    for name, node in gradients.items():
        (link,) = node.links
        assert (link.kind, joint.main[link.node].attrs["name"]) == ("gradient_of", name)
        assert node.outputs == joint.main[link.node].outputs
    assert [node.id for node in joint.main if node.role == "gradient" and not node.inputs] == ["tangents_1"]


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(8), nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


def test_sums_of_gradients_are_in_the_module_whose_input_they_differentiate() -> None:
    """Outside every group, they would tie a chain of blocks into a knot."""
    graph = opscope.capture(nn.Sequential(*(Residual() for _ in range(4))), torch.rand(2, 8), stage="joint").main
    sums = [node for node in graph if node.op == "aten.add.Tensor" and node.attrs[DIRECTION_ATTR] == "backward"]
    assert [node.scope for node in sums] == [("3: Residual",), ("2: Residual",), ("1: Residual",)]


class FansOut(nn.Module):
    """Results that are used several times: of a tanh, of additions, and a weight."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(8, 8))
        self.other = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(x @ self.weight)
        h = h + torch.sin(self.other(h)) * h
        h = h + torch.exp(h @ self.weight)
        return h + h.cos()


@pytest.mark.parametrize("model", [FansOut(), nn.Sequential(*(Residual() for _ in range(4)))], ids=["fans out", "residual"])
def test_a_sum_of_gradients_belongs_to_the_operation_whose_result_is_used_several_times(model: nn.Module) -> None:
    """PyTorch's own graph says which that is: a function that several edges lead to. Nothing computes a parameter."""
    x = torch.rand(2, 8)
    functions, incoming = [model(x).grad_fn], Counter[Any]()
    for function in functions:
        for following, _ in function.next_functions:
            if following is not None:
                incoming[following] += 1
                functions += [following] * (incoming[following] == 1)
    several = [(function._sequence_nr(), function.name(), count - 1) for function, count in incoming.items() if count > 1]
    of_parameters = sum(count for _, name, count in several if "AccumulateGrad" in name)
    graph = opscope.capture(model, x, stage="joint").main
    sums = [node for node in graph if node.attrs.get("is_gradient_acc")]
    linked = sorted((graph.position[node.links[0].node] for node in sums if node.links), reverse=True)
    names = ["".join(word.capitalize() for word in plain_name(graph.nodes[at].op).split("_")) + "Backward0" for at in linked]
    expected = sorted((each for each in several if "AccumulateGrad" not in each[1]), reverse=True)
    assert names == [name for _, name, count in expected for _ in range(count)]
    assert len(sums) - len(linked) == of_parameters
    enriched = enrich(opscope.capture(model, x, stage="joint")).main
    assert [node.links for node in enriched if node.attrs.get("is_gradient_acc")] == [node.links for node in sums], "analysis adds none"


def test_a_joint_graph_returns_its_results_and_every_gradient(joint: Program) -> None:
    """A gradient without a user would look superfluous."""
    gradients = [(node.id, 0) for node in joint.main if node.role == "gradient" and node.inputs]
    assert len(gradients) == 8
    output = joint.main["output"]
    assert set(gradients) < set(output.inputs)
    assert output.inputs == joint.main.outputs


@pytest.mark.parametrize("name", ["GPT-2", "ResNet"])
def test_joint_graphs_of_real_models(name: str) -> None:
    """Tied weights, buffers, dictionaries as outputs: every backward operation is still linked, and sums are in their blocks."""
    model, args, kwargs = ARCHITECTURES[name]()
    graph = opscope.capture(model, *args, stage="joint", **kwargs).main
    backward = [node for node in graph if node.attrs.get(DIRECTION_ATTR) == "backward" and node.role == "op"]
    assert len(backward) > 50
    of_parameters = [node for node in backward if not node.links]  # nothing computes a tied weight, which is used twice
    assert len(of_parameters) == (name == "GPT-2") and all(node.attrs["is_gradient_acc"] for node in of_parameters)
    sums = [node.scope[-1] for node in backward if node.attrs.get("is_gradient_acc") and node.scope]
    assert Counter(sums) == {"GPT-2": {"act: NewGELUActivation": 4, "h.0: GPT2Block": 2, "h.1: GPT2Block": 2},
                             "ResNet": {"layers.0: ResNetBasicLayer": 2, "layers.1: ResNetBasicLayer": 1}}[name]  # fmt: skip


def test_an_exported_program_has_a_joint_graph_too() -> None:
    """With an exported program, the module and inputs are not needed again."""
    exported = torch.export.export(Block(), (torch.ones(2, 8),))
    graph = opscope.capture(exported, stage="joint").main
    assert "threshold_backward" in graph


def test_joint_graphs_keep_symbolic_sizes() -> None:
    """A batch that may be any size stays a symbol, in the backward half too; also without example inputs."""
    exported = torch.export.export(Block(), (torch.ones(2, 8),), dynamic_shapes=({0: torch.export.Dim("batch")},))
    exported._example_inputs = None
    program = opscope.capture(exported, stage="joint")
    (symbol,) = program.attrs["range_constraints"]
    assert program.main["threshold_backward"].outputs[0].shape == (symbol, 8)
    again = opscope.capture(Block(), torch.ones(2, 8), stage="joint", dynamic_shapes=({0: torch.export.Dim("batch")},))
    assert [node.op for node in again.main] == [node.op for node in program.main]


def test_tied_and_frozen_parameters_of_a_joint_graph() -> None:
    """One tensor is one node with one gradient, whatever AOTAutograd calls it; what is frozen has none."""

    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head, self.tied = nn.Linear(4, 4), nn.Linear(4, 4)
            self.tied.weight = self.head.weight
            self.head.bias.requires_grad_(False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.tied(self.head(x))

    graph = opscope.capture(Tied(), torch.rand(2, 4), stage="joint").main
    parameters = {node.attrs["name"]: node.attrs for node in graph.parameters if node.op == "parameter"}
    assert set(parameters) == {"head.weight", "head.bias", "tied.bias"}
    assert parameters["head.weight"]["tied"] == ["head.weight", "tied.weight"]
    assert parameters["head.bias"]["trainable"] is False
    assert {node.id for node in graph if node.role == "gradient" and node.inputs} == {"grad.head.weight", "grad.tied.bias"}


def test_compiled_and_scripted_modules() -> None:
    """torch.compile's wrapper is unwrapped; TorchScript is followed, without its modules."""
    compiled = opscope.capture(torch.compile(Block()), torch.ones(2, 8))
    assert compiled == opscope.capture(Block(), torch.ones(2, 8))
    assert opscope.summary(torch.compile(Block()), input_size=(2, 8)).measured.name == "Block"
    scripted = torch.jit.trace(Block(), torch.ones(2, 8))
    assert "aten.relu.default" in [node.op for node in opscope.capture(scripted, torch.ones(2, 8), stage="eager").main]
    with pytest.raises(opscope.OpscopeError, match="TorchScript"):
        opscope.summary(scripted, input_size=(2, 8))


def test_caches_of_transformers_need_no_fallback() -> None:
    """The most common call: an unmodified language model, which returns its cache."""
    model, _, kwargs = ARCHITECTURES["GPT-2"]()
    model.config.use_cache = True
    program = opscope.capture(model, **kwargs)
    assert "notes" not in program.attrs
    assert len(program.main.outputs) == 5, "logits, and keys and values of two layers"


@pytest.mark.parametrize("name", ["T5", "Mamba"])
@pytest.mark.parametrize("stage", ["forward", "joint"])
def test_a_cache_that_torch_cannot_export_is_left_out_and_this_is_said(name: str, stage: str) -> None:
    """T5 returns a cache of two caches, Mamba one with layers of its own kind; without them, torch.export takes both models."""
    model, _, kwargs = ARCHITECTURES[name]()
    model.config.use_cache = True
    kwargs.pop("use_cache", None)
    program = opscope.capture(model, **kwargs, stage=stage)
    (note,) = program.attrs["notes"]
    assert note.startswith("Exported with use_cache=False, because torch.export refuses it otherwise (")
    assert "Cache" in note and "\n" not in note


def test_what_torch_refuses_is_exported_in_another_way() -> None:
    """With the sizes of the inputs instead of symbolic ones, and without Dynamo."""

    class Fixed(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.view(2, 8) * (1 if str(x.dtype) else 2)

    batch = ({0: torch.export.Dim("batch")},)
    program = opscope.capture(Fixed(), torch.ones(2, 8), dynamic_shapes=batch)
    assert program.attrs["notes"][0].startswith("Exported without dynamic_shapes, for the sizes of these inputs only, because ")
    assert program.main["x"].outputs[0].shape == (2, 8)


def test_parameters_without_a_gradient_are_named_in_joint_graphs_and_tables() -> None:
    """With the line that cut them off, where the graph shows it."""

    class Cut(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.kept, self.cut, self.unused = nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.kept(x) + self.cut(x).detach()

    (note,) = opscope.capture(Cut(), torch.ones(1, 2), stage="joint").attrs["notes"]
    line = inspect.getsourcelines(Cut.forward)[1] + 1
    assert note == f"2 of 3 parameters get no gradient: cut.weight (detach, test_torch_capture.py:{line}), unused.weight (not used)"
    table = opscope.summary(Cut(), input_size=(1, 2))
    assert table.total_lines()[-1] == ("Note", "2 of 3 parameters get no gradient: cut.weight, unused.weight; stage='autograd' says why")
    assert [name for name, _ in opscope.summary(nn.Linear(2, 2), input_size=(1, 2)).total_lines()][-1] != "Note"


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stage": "foward"}, "no stage 'foward' for a torch module"),
        ({"stage": "eager", "dynamic_shapes": {}}, "which stage='eager' does not use"),
        ({"show_saved": True}, "add stage='autograd'"),
        ({"stage": "autograd", "params": [torch.ones(2)]}, "params must name tensors"),
    ],
)
def test_options_are_honoured_or_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(opscope.OpscopeError, match=message):
        opscope.capture(Block(), torch.ones(2, 8), **options)


def test_unsupported_stages_are_refused() -> None:
    exported = torch.export.export(Block(), (torch.ones(2, 8),))
    with pytest.raises(opscope.OpscopeError, match="no stage 'eager' for an exported program; choose one of: forward, joint"):
        opscope.capture(exported, stage="eager")
    with pytest.raises(opscope.OpscopeError, match="no stage 'joint' for tensors"):
        opscope.capture(torch.ones(2, requires_grad=True).sum(), stage="joint")
    with pytest.raises(opscope.OpscopeError, match="lazy modules"):
        opscope.capture(nn.LazyLinear(2), torch.ones(2, 8))


def test_a_model_that_raises_is_reported_in_one_line() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(3, 3))
    with pytest.raises(opscope.OpscopeError, match=r"Sequential raised RuntimeError: .*stage='eager' shows the graph"):
        opscope.capture(model, torch.rand(2, 4), stage="autograd")
    with pytest.raises(opscope.OpscopeError, match=r"Sequential raised RuntimeError: .* \(in 1: Linear\)"):
        opscope.summary(model, input_size=(2, 4))


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


class InPlace(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.act = nn.Linear(4, 4), nn.Hardswish(inplace=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        best, _ = torch.topk(self.layer(x), 2)
        best /= best.sum(-1, keepdim=True)
        return self.act(best)


def test_operations_in_place_keep_their_backward_and_their_module() -> None:
    """torch numbers them one after their autograd functions, and leaves out the module."""
    graph = opscope.capture(InPlace(), torch.rand(3, 4), stage="joint").main
    assert graph["hardswish_backward"].scope == ("act: Hardswish",)
    backward = [node for node in graph if node.role == "op" and node.attrs.get("partitioner_tag") == "is_backward"]
    of = {node.id: next((link.node for link in node.links if link.kind == "backward_of"), None) for node in backward}
    assert (of["hardswish_backward"], of["neg"], of["div_1"]) == ("hardswish", "div", "div")
    assert None not in of.values()


def test_a_tensor_that_is_a_plain_attribute_is_an_input_of_a_joint_graph() -> None:
    """As the attention biases that timm's EfficientViT keeps for eval()."""

    class Biased(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.biases = nn.Linear(4, 4), torch.ones(2, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(x) + self.biases[0]

    model = Biased()
    graph = opscope.capture(model, torch.rand(3, 4), stage="joint").main
    ((biases, _),) = graph["select"].inputs
    assert (graph[biases].role, str(graph[biases].outputs[0])) == ("constant", "float32[2, 4]")
    assert "biases" in vars(model)


def test_a_backward_function_that_reads_data_is_one_operation() -> None:
    """As that of the experts of Mixtral, which AOTAutograd cannot trace. The operation does not stay behind."""

    def backward(context: Any, gradient: torch.Tensor) -> Any:
        return gradient * len(context.ends.tolist()), None

    with torch.library._scoped_library("opscope_test", "DEF") as library:
        library.define("experts(Tensor x, Tensor ends) -> Tensor")
        library.impl("experts", lambda x, ends: x * 2, "CompositeExplicitAutograd")
        setup: Any = lambda ctx, inputs, output: setattr(ctx, "ends", inputs[1])  # noqa: E731
        torch.library.register_autograd("opscope_test::experts", backward, setup_context=setup, lib=library)

        class Model(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.layer = nn.Linear(4, 4)

            def forward(self, x: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
                return torch.ops.opscope_test.experts(self.layer(x), ends)

        program = opscope.capture(Model(), torch.rand(3, 4), torch.tensor([1, 2]), stage="joint")
        node = program.main["experts_backward"]
        assert ([str(kind) for kind in node.outputs], node.attrs["of"]) == (["float32[3, 4]"], [0])
        assert [link.node for link in node.links if link.kind == "backward_of"] == ["experts"]
        (note,) = program.attrs["notes"]
        assert note.startswith("AOTAutograd cannot trace the backward function of opscope_test.experts, so it is one operation here")
        assert not hasattr(torch.ops.opscope_test, "experts_backward")


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
    assert note.startswith("With these inputs, the run failed at layer: Linear / addmm: RuntimeError: mat1")
    assert "; the graph ends there. torch.export failed on Broken" in note
    assert "Showing one real run" not in note
    last = program.main.nodes[-1]
    assert (last.op, last.scope) == ("aten.addmm.default", ("layer: Linear",))
    assert "shapes cannot be multiplied" in last.attrs["error"]
    assert last.type_text == "(RuntimeError)"
    assert program.attrs["error"] == last.attrs["error"]
    assert program.main.outputs == ()


@pytest.mark.parametrize("stage", [None, "eager"])
def test_inputs_that_fail_at_once_are_refused_with_what_would_help(stage: str | None) -> None:
    """A graph of only inputs would hide the mistake: a tuple instead of inputs, or too many of them."""
    for inputs, hint in (
        (((torch.ones(2, 4),),), r"pass inputs one by one, .*opscope\.capture\(model, \*inputs\)"),
        ((torch.ones(2, 4), torch.ones(2, 4)), "pass the inputs that its forward takes: input"),
        (({"input": torch.ones(2, 4)},), r"pass the entries of a dict as keywords: opscope\.capture\(model, \*\*inputs\)"),
        (((2, 4),), r"pass tensors, not sizes: opscope\.capture\(model, torch\.rand\(1, 3, 224, 224\)\)"),
        ((torch.ones(2, 4).numpy(),), r"pass tensors, not NumPy arrays: opscope\.capture\(model, torch\.from_numpy\(x\)\)"),
    ):
        with pytest.raises(OpscopeError, match=rf"^Linear failed before its first operation; {hint} \(TypeError: .*\)$"):
            opscope.capture(nn.Linear(4, 4), *inputs, stage=stage)
    with pytest.raises(OpscopeError, match=r"^Linear: pass inputs one by one, .*opscope.capture\(model, \*inputs\)\. torch\.export failed"):
        opscope.capture(nn.Linear(4, 4), (torch.ones(2, 4),), stage="joint")


def test_a_misspelled_option_is_not_blamed_on_the_model() -> None:
    with pytest.raises(OpscopeError, match=r"^neither capture nor Linear.forward has an option 'stgae'; did you mean 'stage'\?$"):
        opscope.capture(nn.Linear(4, 4), torch.ones(2, 4), stgae="joint")


def test_module_callable_takes_inputs_as_torch_export_takes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`(model, (x,))` means x if the model cannot take a tuple, and the tuple if it can."""
    (tmp_path / "exported_inputs.py").write_text(
        "import torch\n"
        "class Pair(torch.nn.Module):\n    def forward(self, pair):\n        return pair[0] + pair[1]\n"
        "def linear():\n    return torch.nn.Linear(4, 4), (torch.ones(2, 4),)\n"
        "def pair():\n    return Pair(), (torch.ones(2, 4), torch.ones(2, 4))\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name, op in (("linear", "aten.linear.default"), ("pair", "aten.add.Tensor")):
        assert op in [node.op for node in opscope.load(f"exported_inputs:{name}").main.nodes]


def test_functions_and_keywords_and_dynamic_shapes() -> None:
    """A plain function is captured like a module; keywords that are not options are passed to it."""
    program = opscope.capture(lambda x, scale: x * scale, torch.ones(3), scale=torch.ones(3))
    assert [node.op for node in program.main] == ["input", "input", "aten.mul.Tensor", "output"]
    batch = {"dynamic_shapes": ({0: torch.export.Dim("batch")},)}
    dynamic = opscope.capture(Block(), torch.ones(2, 8), **batch).main
    assert isinstance(dynamic["x"].outputs[0].shape[0], str)


def test_mistakes_are_reported_in_one_line() -> None:
    """What is wrong and what would help."""
    with pytest.raises(OpscopeError, match=r"Block needs its inputs: opscope.capture\(model, \*inputs\)"):
        opscope.capture(Block())
    with pytest.raises(OpscopeError, match="no stage 'train' for a torch module; choose one of: forward, eager, autograd, joint"):
        opscope.capture(Block(), torch.ones(2, 8), stage="train")
    with pytest.raises(OpscopeError, match="no option 'colour' for the autograd graph of tensors"):
        opscope.capture(torch.ones(2, requires_grad=True), colour="red")
    with pytest.raises(OpscopeError, match=r"torch\.export failed on Winding"):
        opscope.capture(Winding(), torch.ones(2, 4), {"push": torch.ones(4)}, stage="joint")


def test_other_torch_archives_are_refused_with_what_they_are(tmp_path: Path) -> None:
    """Weights, TorchScript and damaged files are not programs; nothing in them is unpickled."""
    torch.save({"weight": torch.ones(2)}, tmp_path / "weights.pt2")
    with pytest.raises(OpscopeError, match="contains pickled weights but no graph"):
        read(Source(tmp_path / "weights.pt2"), format="torch")
    torch.export.save(torch.export.export(Block(), (torch.ones(2, 8),)), tmp_path / "good.pt2")
    data = (tmp_path / "good.pt2").read_bytes()
    (tmp_path / "cut.pt2").write_bytes(data[: len(data) // 2])
    with pytest.raises(OpscopeError, match="damaged archive"):
        read(Source(tmp_path / "cut.pt2"), format="torch")
    entry = data.rindex(b"PK\x01\x02")
    (tmp_path / "newer.pt2").write_bytes(data[: entry + 6] + b"\xff" + data[entry + 7 :])
    with pytest.raises(OpscopeError, match="damaged archive"):
        read(Source(tmp_path / "newer.pt2"), format="torch")
    with zipfile.ZipFile(tmp_path / "odd.pt2", "w") as archive:
        archive.writestr("odd/models/model.json", '{"graph_module": {}, "schema_version": {"major": 9, "minor": 1}}')
    with pytest.raises(
        OpscopeError, match=r"models/model.json in the archive does not have the layout that torch.export writes \(schema 9.1"
    ):
        read(Source(tmp_path / "odd.pt2"), format="torch")


def test_archives_of_older_torch(tmp_path: Path) -> None:
    """Until torch 2.7, the program was at the top of the archive under another name, and nodes had no names."""
    torch.export.save(torch.export.export(Block(), (torch.ones(2, 8),)), tmp_path / "new.pt2")
    with zipfile.ZipFile(tmp_path / "new.pt2") as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("models/model.json")]
        written = json.loads(archive.read(name))
    for node in written["graph_module"]["graph"]["nodes"]:
        del node["name"]
    with zipfile.ZipFile(tmp_path / "old.pt2", "w") as archive:
        archive.writestr("version", "5.1")
        archive.writestr("serialized_exported_program.json", json.dumps(written))
        archive.writestr("serialized_state_dict.pt", b"never looked at")
    (old,), (new,) = (read(Source(tmp_path / f"{age}.pt2"), format="torch") for age in ("old", "new"))
    assert old.main.nodes == new.main.nodes


def test_broken_files_are_reported_and_never_crash(tmp_path: Path) -> None:
    """Three hundred ways to damage a file: each either still reads, down to the last attribute, or is refused in one line."""
    torch.export.save(torch.export.export(Block(), (torch.ones(2, 8),)), tmp_path / "good.pt2")
    with zipfile.ZipFile(tmp_path / "good.pt2") as archive:
        written = {name: json.loads(archive.read(name)) for name in archive.namelist() if name.endswith(".json")}
    chance = random.Random(0)
    refused = 0
    for _ in range(300):
        damaged = copy.deepcopy(written)
        places = []
        waiting: list[Any] = [damaged]
        while waiting:
            inside = waiting.pop()
            keys = inside if isinstance(inside, dict) else range(len(inside)) if isinstance(inside, list) else ()
            places += [(inside, key) for key in keys if inside is not damaged]
            waiting += [inside[key] for key in keys]
        holder, key = chance.choice(places)
        holder[key] = chance.choice([None, -1, "x", [], {"a": 1}, True, 1e9])
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for name, value in damaged.items():
                archive.writestr(name, json.dumps(value))
        try:
            for program in read(Source("damaged.pt2", packed.getvalue()), format="torch"):
                assert str(program)
        except OpscopeError as error:
            refused += 1
            assert "\n" not in str(error)
    assert 30 < refused < 270


class Shifted(nn.Module):
    def forward(self, x: torch.Tensor, module: int, direction: str) -> torch.Tensor:
        return x + module


def test_arguments_of_a_module_keep_their_names() -> None:
    """An argument may have the same name as one of opscope's attributes."""
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_module("shifted", (x,), {"module": 3, "direction": "left"}))
    root = nn.Module()
    root.shifted = Shifted()
    (node,) = (node for node in opscope.capture(torch.fx.GraphModule(root, graph)).main if node.role == "op")
    assert (node.op, node.attrs["module"], node.attrs["direction"]) == ("Shifted", 3, "left")
