"""Joint graphs of modules: both halves, their modules, and what belongs to what."""

from __future__ import annotations

import inspect
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
from opscope.ops import plain_name
from opscope.program import DIRECTION_ATTR, Program


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
    """Results that are used several times: of a tanh, of additions and subtractions, of what is expanded to its own size, and a weight."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(8, 8))
        self.other = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(x @ self.weight)
        h = h + torch.sin(self.other(h)) * h
        h = h + torch.exp(h @ self.weight)
        low = h.sin()
        h = low + (h - low) * 0.5
        return h + h.cos() + (h.sigmoid().unsqueeze(0) @ h.unsqueeze(0).transpose(1, 2)).sum()


class Dense(nn.Module):
    """Every layer reads all results before it, which have one size: only their places in the concatenation tell them apart."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8 * max(i, 1), 8) for i in range(5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        results = [self.layers[0](x).tanh()]
        for layer in [*self.layers][1:]:
            results.append(layer(torch.cat(results, 1)).tanh())
        return torch.cat(results, 1)


class Cache(nn.Module):
    """As caches of transformers: the first results are concatenated with nothing, which has one dimension."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.first(x).tanh()
        both = torch.cat([torch.zeros(0), h, h.sin()], dim=-2)
        return self.second(both).sum() + (both @ h.transpose(0, 1)).sum()


MODELS = {"fans out": FansOut(), "residual": nn.Sequential(*(Residual() for _ in range(4))), "dense": Dense(), "cache": Cache()}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_sum_of_gradients_belongs_to_the_operation_whose_result_is_used_several_times(model: nn.Module) -> None:
    """PyTorch's own graph says which that is: a function that several edges lead to. What accumulates a gradient is a parameter."""
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
    linked = sorted((graph.position[node.links[0].node] for node in sums if graph[node.links[0].node].role == "op"), reverse=True)
    names = ["".join(word.capitalize() for word in plain_name(graph.nodes[at].op).split("_")) + "Backward0" for at in linked]
    expected = sorted((each for each in several if "AccumulateGrad" not in each[1]), reverse=True)
    assert names == [name for _, name, count in expected for _ in range(count)]
    assert Counter(graph[node.links[0].node].role for node in sums)["parameter"] == len(sums) - len(linked) == of_parameters
    enriched = enrich(opscope.capture(model, x, stage="joint")).main
    assert [node.links for node in enriched if node.attrs.get("is_gradient_acc")] == [node.links for node in sums], "analysis adds none"


def test_a_joint_graph_returns_its_results_and_every_gradient(joint: Program) -> None:
    """A gradient without a user would look superfluous."""
    gradients = [(node.id, 0) for node in joint.main if node.role == "gradient" and node.inputs]
    assert len(gradients) == 8
    output = joint.main["output"]
    assert set(gradients) < set(output.inputs)
    assert output.inputs == joint.main.outputs


def test_results_have_the_names_that_the_model_gives_them() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm1d(4)

        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            y = self.norm(x)
            return {"loss": y.sum(), "logits": y}

    output = opscope.capture(Model(), torch.ones(3, 4), stage="joint").main["output"]
    buffers = ["norm.running_mean", "norm.running_var", "norm.num_batches_tracked"]
    assert output.attrs["names"] == [*buffers, "loss", "logits", "grad.norm.weight", "grad.norm.bias"]
    plain = opscope.capture(nn.Linear(4, 4), torch.ones(3, 4), stage="joint").main["output"]
    assert plain.attrs["names"] == ["output 0", "grad.weight", "grad.bias"]


@pytest.mark.parametrize("name", ["GPT-2", "ResNet"])
def test_joint_graphs_of_real_models(name: str) -> None:
    """Tied weights, buffers, dictionaries as outputs: every backward operation is still linked, and sums are in their blocks."""
    model, args, kwargs = ARCHITECTURES[name]()
    graph = opscope.capture(model, *args, stage="joint", **kwargs).main
    backward = [node for node in graph if node.attrs.get(DIRECTION_ATTR) == "backward" and node.role == "op"]
    assert len(backward) > 50
    of_parameters = [graph[link.node].attrs["name"] for node in backward for link in node.links if graph[link.node].role == "parameter"]
    assert all(node.links for node in backward)
    assert of_parameters == ["transformer.wte.weight"] * (name == "GPT-2"), "nothing computes a tied weight, which is used twice"
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


def test_parameters_without_a_gradient_are_named_in_joint_graphs_and_tables() -> None:
    """With the line that cut them off, where the graph shows it."""

    class Cut(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.kept, self.cut, self.unused = nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False)
            self.tied = nn.Linear(2, 2, bias=False)
            self.tied.weight = self.kept.weight  # counts once

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.tied(self.kept(x)) + self.cut(x).detach()

    class Unused(Cut):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.kept(x)

    (note,) = opscope.capture(Cut(), torch.ones(1, 2), stage="joint").attrs["notes"]
    line = inspect.getsourcelines(Cut.forward)[1] + 1
    assert note == f"2 of 3 parameters get no gradient: cut.weight (detach, test_torch_joint.py:{line}), unused.weight (not used)"
    assert opscope.capture(Cut(), torch.ones(1, 2)).attrs["notes"] == [note]
    table = opscope.summary(Cut(), input_size=(1, 2))
    assert table.total_lines()[-1] == ("Note", note)
    assert "notes" not in opscope.capture(Unused(), torch.ones(1, 2)).attrs, "a graph for inference, in which nothing is cut"
    assert [name for name, _ in opscope.summary(nn.Linear(2, 2), input_size=(1, 2)).total_lines()][-1] != "Note"


def test_sums_of_the_gradients_of_a_norm_that_is_used_twice_are_linked() -> None:
    """Those of its weight and its bias have the same shape; the order of the results tells which is which."""

    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.LayerNorm(4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.norm(self.norm(x))

    graph = opscope.capture(Twice(), torch.rand(2, 4), stage="joint").main
    sums = [node for node in graph if node.attrs.get("is_gradient_acc")]
    assert {graph[node.links[0].node].attrs["name"] for node in sums} == {"norm.weight", "norm.bias"}


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


class Counted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.steps, self.chosen = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)
        self.threshold = nn.Parameter(torch.rand(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        steps = self.steps(x).long()
        chosen = self.chosen(x).argmax(-1)
        return (self.layer(x) * steps).masked_fill(x > self.threshold, 0.0)[chosen % 3]


@pytest.mark.parametrize("stage", ["forward", "joint", "autograd"])
def test_integers_that_cut_a_parameter_off_are_named_with_their_line(stage: str) -> None:
    """A joint graph named these parameters without a reason, and the graph for inference did not."""
    notes = opscope.capture(Counted(), torch.rand(3, 4), stage=stage).attrs["notes"]
    first = Counted.forward.__code__.co_firstlineno
    lines = {"threshold": f"(bool, test_torch_joint.py:{first + 3})"}
    lines |= {f"steps.{part}": f"(int64, test_torch_joint.py:{first + 1})" for part in ("weight", "bias")}
    lines |= {f"chosen.{part}": f"(int64, test_torch_joint.py:{first + 2})" for part in ("weight", "bias")}
    assert notes == [f"5 of 7 parameters get no gradient: {', '.join(' '.join(each) for each in _in_order(notes[0], lines))}"]


def _in_order(note: str, lines: dict[str, str]) -> list[tuple[str, str]]:
    return sorted(lines.items(), key=lambda each: note.find(each[0]))


class OnViews(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.layer(x)
        part = y[:, :4]
        part += x
        y = y * 2
        y[:, 0] = x[:, 0] * x.sum()
        return torch.tanh(y)


def test_operations_in_place_on_a_view_keep_their_backward() -> None:
    """autograd makes one function for the whole tensor after such an operation, with a number that no operation has."""
    graph = opscope.capture(OnViews(), torch.rand(3, 4), stage="joint").main
    backward = [node for node in graph if node.role == "op" and node.attrs.get("partitioner_tag") == "is_backward"]
    of = {node.id: {link.node for link in node.links if link.kind == "backward_of"} for node in backward}
    assert all(of.values())
    assert {"slice_scatter", "select_scatter", "tanh", "addmm"} <= {name for names in of.values() for name in names}
    assert of["slice_scatter_1"] == {"slice_scatter"} and of["select_scatter_1"] == {"select_scatter"}


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


@pytest.mark.parametrize("name", ["code", "graph", "meta"])
def test_a_submodule_with_a_name_of_fx_is_refused_in_one_line(name: str) -> None:
    """torch.export itself cannot make a module again of what it exported."""

    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            setattr(self, name, nn.Linear(4, 4))

        def forward(self, x: torch.Tensor) -> Any:
            return getattr(self, name)(x)

    x = torch.rand(2, 4)
    with pytest.raises(RuntimeError, match="nonexistent attribute"):
        torch.export.export(Named(), (x,)).module()
    with pytest.raises(opscope.OpscopeError, match=f"a submodule named '{name}'.*rename it, or use stage='autograd'"):
        opscope.capture(Named(), x, stage="joint")
    assert opscope.capture(Named(), x, stage="autograd").node_count > 1
