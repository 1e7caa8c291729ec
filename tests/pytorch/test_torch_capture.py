"""Modules and functions: how torch.export is asked, what is refused, and the messages."""

from __future__ import annotations

import copy
import io
import json
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch_models import ARCHITECTURES, Block

import opscope
from opscope.errors import OpscopeError
from opscope.readers import read
from opscope.readers.source import Source


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
    inputs = [node.attrs.get("name", node.id) for node in program.main if node.role == "input"]
    assert inputs == list(kwargs), "use_cache is not an input of the call that was asked about"


@pytest.mark.parametrize("stage", ["forward", "joint"])
def test_switches_that_the_call_passes_are_inputs_by_their_names(stage: str) -> None:
    model, _, kwargs = ARCHITECTURES["T5"]()
    kwargs |= {"use_cache": False, "return_dict": False}
    program = opscope.capture(model, **kwargs, stage=stage)
    inputs = [node.attrs.get("name", node.id) for node in program.main if node.role == "input"]
    assert sorted(inputs) == sorted(kwargs)


def test_what_torch_refuses_is_exported_in_another_way() -> None:
    """With the sizes of the inputs instead of symbolic ones, and without Dynamo."""

    class Fixed(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.view(2, 8) * (1 if str(x.dtype) else 2)

    batch = ({0: torch.export.Dim("batch")},)
    program = opscope.capture(Fixed(), torch.ones(2, 8), dynamic_shapes=batch)
    assert program.attrs["notes"][0].startswith("Exported without dynamic_shapes, for the sizes of these inputs only, because ")
    assert program.main["x"].outputs[0].shape == (2, 8)


def test_strict_and_not_strict_are_tried_in_place_of_each_other() -> None:
    """Dynamo translates NumPy, which fake tensors refuse; what ends Dynamo's graph is only run without it."""

    class Numpy(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.from_numpy(np.sin(x.numpy())) + 1

    class Broken(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            torch._dynamo.graph_break()
            return x.sin()

    for model, asked, taken in ((Numpy(), False, True), (Broken(), True, False)):
        program = opscope.capture(model, torch.ones(3), strict=asked)
        assert "aten.sin.default" in [node.op for node in program.main]
        (note,) = program.attrs["notes"]
        assert note.startswith(f"Exported with strict={taken}, because torch.export refuses it otherwise (")


def test_strict_notes_methods_of_tensors_that_are_written_in_c() -> None:
    class Normed(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.data / x.data.norm()

    program = opscope.capture(Normed(), torch.ones(3), strict=True)
    assert "source_fn_stack" in "".join(name for node in program.main for name in node.attrs)


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


@pytest.mark.parametrize("stage", [1, "second"])
def test_a_stage_that_torch_does_not_have_is_meant_for_a_module_that_takes_one(stage: Any) -> None:
    class Part(nn.Module):
        def forward(self, x: Any, stage: Any = None) -> Any:
            return x + 1 if stage else x * 2

    assert [node.op for node in opscope.capture(Part(), torch.ones(2), stage=stage).main if node.role == "op"] == ["aten.add.Tensor"]
    assert opscope.capture(Part(), torch.ones(2), stage="eager").main.nodes, "a name of a stage is always capture's"


def test_a_model_that_raises_is_reported_in_one_line() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(3, 3))
    with pytest.raises(opscope.OpscopeError, match=r"Sequential raised RuntimeError: .*stage='eager' shows the graph"):
        opscope.capture(model, torch.rand(2, 4), stage="autograd")
    with pytest.raises(opscope.OpscopeError, match=r"Sequential raised RuntimeError: .* \(in 1: Linear\)"):
        opscope.summary(model, input_size=(2, 4))


@pytest.mark.parametrize("stage", [None, "eager"])
def test_inputs_that_fail_at_once_are_refused_with_what_would_help(stage: str | None) -> None:
    """A graph of only inputs would hide the mistake: a tuple instead of inputs, or too many of them."""
    for inputs, hint in (
        (((torch.ones(2, 4),),), r"pass inputs one by one, .*opscope\.capture\(model, \*inputs\)"),
        ((torch.ones(2, 4), torch.ones(2, 4)), "pass the inputs that its forward takes: input"),
        (({"input": torch.ones(2, 4)},), r"pass the entries of a dict as keywords: opscope\.capture\(model, \*\*inputs\)"),
        (((2, 4),), r"pass tensors, not sizes: opscope\.capture\(model, torch\.rand\(2, 4\)\)"),
        ((torch.Size((2, 4)),), r"pass tensors, not sizes: opscope\.capture\(model, torch\.rand\(2, 4\)\)"),
        ((2, 4), r"pass tensors, not sizes: opscope\.capture\(model, torch\.rand\(2, 4\)\)"),
        (((2, 4), (2, 5)), r"pass tensors, not sizes: opscope\.capture\(model, torch\.rand\(2, 4\), torch\.rand\(2, 5\)\)"),
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
    with pytest.raises(OpscopeError, match=r"^Block needs its inputs: opscope\.capture\(model, \*inputs\)$"):
        opscope.capture(Block())
    with pytest.raises(OpscopeError, match=r"^input_size is an option of opscope\.summary; pass tensors, .*torch\.rand\(2, 8\)\)$"):
        opscope.capture(Block(), input_size=(2, 8))
    with pytest.raises(OpscopeError, match="no stage 'train' for a torch module; choose one of: forward, eager, autograd, joint"):
        opscope.capture(Block(), torch.ones(2, 8), stage="train")
    with pytest.raises(OpscopeError, match="no option 'colour' for the autograd graph of tensors"):
        opscope.capture(torch.ones(2, requires_grad=True), colour="red")


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
        (name,) = [name for name in archive.namelist() if name.endswith(("models/model.json", "serialized_exported_program.json"))]
        written = json.loads(archive.read(name))
    for node in written["graph_module"]["graph"]["nodes"]:
        node.pop("name", None)  # torch 2.6 writes none
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


class PartlyCalled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.used, self.unused = nn.Linear(4, 4), nn.Linear(4, 4)
        self.tied = self.also_tied = nn.Linear(4, 4)
        self.layers = nn.ModuleList([nn.ReLU(), nn.Sequential(nn.Tanh())])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.tied(self.layers[0](self.used(x)))


@pytest.mark.parametrize("stage", [None, "eager"])
def test_a_module_that_exists_and_is_not_called_is_said_to_be_so(stage: str | None) -> None:
    """Hooks of torch say which modules are called."""
    model, x, called = PartlyCalled(), torch.ones(2, 4), []
    options = {} if stage is None else {"stage": stage}
    names = {name: module for name, module in model.named_modules() if name}
    handles = [module.register_forward_hook(lambda *_, name=name: called.append(name)) for name, module in names.items()]
    model(x)
    for handle in handles:
        handle.remove()
    assert called == ["used", "layers.0", "tied"]
    for name in names:
        if name in called:
            assert opscope.capture(model, x, inside=name, **options).node_count > 0
            continue
        rest = "; in it are: layers.0" if name == "layers" else ""
        with pytest.raises(OpscopeError, match=f"^module '{name}' of PartlyCalled is not called, or has no operations{rest}$"):
            opscope.capture(model, x, inside=name, **options)
    with pytest.raises(OpscopeError, match=r"^no module 'also_tied' in PartlyCalled"):
        opscope.capture(model, x, inside="also_tied", **options)


def test_a_model_that_is_loaded_by_name_says_it_too() -> None:
    with pytest.raises(OpscopeError, match=r"module 'unused' of PartlyCalled is not called"):
        opscope.load(f"{__name__}:made_partly_called", inside="unused")


def made_partly_called() -> tuple[nn.Module, torch.Tensor]:
    return PartlyCalled(), torch.ones(2, 4)
