"""Exported programs: every node and edge of torch.export's graph, and what the model adds to them."""

from __future__ import annotations

import re
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.fx.passes.shape_prop
from support.exported_truth import edges_of, expected_graph, wrong_scopes, wrong_types
from torch import nn
from torch_models import ARCHITECTURES, Varied, varied

from opscope.program import Program
from opscope.readers import capture_object, read
from opscope.readers.source import Source
from opscope.render.draw.picture import draw
from opscope.view_options import ViewOptions


@cache
def exported(name: str) -> torch.export.ExportedProgram:
    if name == "varied":
        return varied()
    model, args, kwargs = ARCHITECTURES[name]()
    return torch.export.export(model, args, kwargs, strict=False)


@cache
def captured(name: str) -> Program:
    return capture_object(exported(name))


@pytest.mark.parametrize("name", [*ARCHITECTURES, "varied"])
def test_every_node_and_edge_of_the_exported_graph(name: str) -> None:
    """Nothing is missing, nothing is added, and every output index is right."""
    program = exported(name)
    nodes, edges = expected_graph(program, program.graph)
    main = captured(name).main
    assert [node.id for node in main] == nodes
    assert edges_of(main) == edges
    assert wrong_types(program, main) == []


class Constants(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return {"sum": x + 1, "none": None, "two": 2}, "text", True, x * 0.5


def test_results_that_nothing_computes_are_constants_in_their_place(tmp_path: Path) -> None:
    """None, 2 and "text" are results like the others, from the live object and from the file."""
    program = torch.export.export(Constants(), (torch.ones(2),))
    results = program.graph.output_node().args[0]
    try:
        torch.export.save(program, tmp_path / "saved.pt2")
    except AssertionError as error:  # torch 2.6
        pytest.skip(f"this torch cannot save such results: {error}")
    for each in (capture_object(program), *read(Source(tmp_path / "saved.pt2"), format="torch")):
        graph = each.main
        shown = [graph[name].attrs.get("value", name) for name, _ in graph.outputs]
        assert shown == [result.name if isinstance(result, torch.fx.Node) else "None" if result is None else result for result in results]
        assert graph["output"].inputs == graph.outputs
        text = re.sub("<[^>]+>", " ", draw(each, ViewOptions(), "svg").text)
        assert all(re.search(rf"\b{value}\b", text) for value in ("None", "2", "text", "True")), text


@pytest.mark.parametrize("name", [*ARCHITECTURES, "varied"])
def test_groups_and_names_come_from_the_modules(name: str) -> None:
    """Every operation is in its module's group, and every parameter has its qualified name."""
    program, main = exported(name), captured(name).main
    assert wrong_scopes(program, main) == []
    named = {n for node in main for n in node.attrs.get("tied", [node.attrs.get("name")])}
    assert named >= set(program.graph_signature.parameters) | set(program.graph_signature.buffers)


@pytest.mark.parametrize("name", [*ARCHITECTURES, "varied"])
def test_a_saved_file_is_the_same_program(name: str, tmp_path: Path) -> None:
    """The reader without torch finds what the live object shows, node by node, with attributes, groups and frames."""
    path = tmp_path / "saved.pt2"
    torch.export.save(exported(name), path)
    (saved,) = read(Source(path), format="torch")
    live = captured(name)
    if any("tied" in node.attrs for node in live.main) and any(
        "serialized_state_dict" in each for each in zipfile.ZipFile(path).namelist()
    ):
        pytest.skip("an older torch keeps the weights of an archive in a pickle, so the file does not say which ones are tied")
    assert list(saved.graphs) == list(live.graphs)
    for graph in live:
        for ours, theirs in zip(saved[graph.name], graph, strict=True):
            if ours.op == "getitem":  # the file folds these into their producer, with its frames
                assert ours[:-1] == theirs[:-1]
                assert ours.scope == theirs.scope
            else:
                assert ours == theirs
    assert saved.main.outputs == live.main.outputs
    assert saved.attrs["modules"] == live.attrs["modules"]


def test_inner_graphs_are_called_graphs() -> None:
    """Branches and loop bodies open in place: each is a graph of its own with all its nodes."""
    program = captured("varied")
    assert program.main["cond"].calls == ("true_graph_0", "false_graph_0")
    assert program.main["while_loop"].calls == ("while_loop_cond_graph_0", "while_loop_body_graph_0")
    for name in program.graphs:
        if name != program.entry:
            inner = getattr(exported("varied").graph_module, name).graph
            nodes, edges = expected_graph(exported("varied"), inner)
            assert [node.id for node in program[name]] == nodes
            assert edges_of(program[name]) == edges


def test_parameters_buffers_constants_and_ties() -> None:
    """Tied parameters are one node with both names; buffers, constants and inputs are distinguished."""
    main = captured("varied").main
    kinds = {node.attrs.get("name", node.id): (node.op, node.role) for node in main if not node.inputs}
    assert kinds["head.weight"] == ("parameter", "parameter")
    assert "tied.weight" not in kinds
    assert kinds["block.shift"] == ("buffer", "buffer")
    assert kinds["scale"] == ("constant", "constant")
    assert kinds["x"] == ("input", "input")
    (shared,) = [node for node in main if node.attrs.get("tied")]
    assert shared.attrs["tied"] == ["head.weight", "tied.weight"]
    assert main.users[shared.id] == ("linear_4", "linear_5")
    assert shared.scope == ("head: Linear",)


def test_repeated_calls_of_one_module_are_groups_of_their_own() -> None:
    """Otherwise the second call would feed its own group, and a collapsed picture would show a false loop."""
    main = captured("varied").main
    assert main["linear"].scope == ("block: Block", "layers.0: Linear")
    assert main["linear_2"].scope == ("block@1: Block", "layers.0@1: Linear")


def test_symbols_attributes_and_source_lines() -> None:
    """Symbolic sizes stay text, arguments keep the schema's names, and frames lead to the line in the model, innermost first."""
    main = captured("varied").main
    batch = main["x"].outputs[0].shape[0]
    assert isinstance(batch, str)
    assert main["view"].outputs[0].shape == (batch, 2, 4)
    assert main["view"].attrs["size"] == ["%sym_size_int_1", 2, 4]
    assert main["split"].attrs["dim"] == -1
    assert main["linear"].source[0].file.endswith("linear.py")
    assert main["linear"].source[-1].function == "forward"
    assert main["linear"].source[-1].line == Varied.forward.__code__.co_firstlineno + 1
    assert main["getitem_1"].inputs == (("split", 1),)


def test_graph_modules_that_were_only_traced() -> None:
    """Without types and with module calls: what fx has is shown, and nothing else is needed."""
    main = capture_object(torch.fx.symbolic_trace(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))).main
    assert [(node.id, node.op, node.inputs) for node in main] == [
        ("input_1", "input", ()),
        ("_0", "Linear", (("input_1", 0),)),
        ("_1", "ReLU", (("_0", 0),)),
        ("output", "output", (("_1", 0),)),
    ]
    assert main["_0"].attrs["module"] == "0"


def test_graph_modules_with_propagated_shapes() -> None:
    """fx's own shape propagation describes tensors without being tensors."""
    traced = torch.fx.symbolic_trace(nn.Sequential(nn.Linear(4, 2), nn.ReLU()))
    torch.fx.passes.shape_prop.ShapeProp(traced).propagate(torch.ones(3, 4))
    assert [str(kind) for kind in capture_object(traced).main["_1"].outputs] == ["float32[3, 2]"]


def test_tags_and_custom_metadata_are_kept() -> None:
    """Partitioners and quantizers write metadata, and other parts of opscope group by it."""
    program = torch.export.export(nn.Linear(4, 4), (torch.ones(1, 4),))
    (node,) = [node for node in program.graph.nodes if node.op == "call_function"]
    node.meta.update(delegation_tag="tag0", cluster="q1", custom={"note": [1, 2]})
    attrs = capture_object(program).main["linear"].attrs
    assert (attrs["delegation_tag"], attrs["cluster"], attrs["custom"]) == ("tag0", "q1", {"note": [1, 2]})


def test_mutated_buffers_are_named_on_the_output() -> None:
    """A batch norm in training writes its statistics: the picture must not show them as plain results."""
    model = nn.BatchNorm1d(3).train()
    program = torch.export.export(model, (torch.ones(4, 3),)).run_decompositions()
    effects = capture_object(program).main["output"].attrs["effects"]
    assert {(effect["kind"], effect["target"]) for effect in effects} == {
        ("buffer_mutation", "running_mean"),
        ("buffer_mutation", "running_var"),
        ("buffer_mutation", "num_batches_tracked"),
    }


def test_info_distinguishes_parameters_from_inputs_and_buffers() -> None:
    """Neither the input nor the running means of a norm are parameters: the count equals that of the summary."""
    from opscope.analysis.info import info_of

    model, x = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)).eval(), torch.rand(2, 3)
    info = info_of(capture_object(model, x))
    assert (info.parameters, info.parameter_elements) == (4, sum(parameter.numel() for parameter in model.parameters()))
    assert (info.inputs, info.input_elements, info.input_bytes) == (1, 6, 24)
    assert info.buffers == 3 and info.buffer_elements == 9


class Named(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(2))

    def forward(self, x: torch.Tensor) -> dict[str, Any]:
        self.seen.add_(1)
        return {"logits": x + 1, "cache": (x * 2, [x - 1, None])}


def test_results_have_the_names_that_the_model_gives_them(tmp_path: Path) -> None:
    """Keys of what it returns, after the buffer that a functional program returns too; in a saved program as in a live one."""
    traced = torch.export.export(Named(), (torch.ones(2),))
    for program in (traced, traced.run_decompositions()):
        torch.export.save(program, tmp_path / "saved.pt2")
        mutated = list(program.graph_signature.buffers_to_mutate.values())
        for each in (capture_object(program), *read(Source(tmp_path / "saved.pt2"), format="torch")):
            output = each.main["output"]
            assert output.attrs["names"] == [*mutated, "logits", "cache.0", "cache.1.0", "cache.1.1"]
            made_by = [each.main[name].op.removeprefix("aten.").removesuffix(".Tensor") for name, _ in output.inputs]
            assert made_by == ["add"] * len(mutated) + ["add", "mul", "sub", "constant"]
            assert "logits, cache ×3" in draw(each, ViewOptions(), "svg").text
    assert mutated == ["seen"]
