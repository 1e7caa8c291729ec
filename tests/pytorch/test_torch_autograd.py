"""Autograd graphs: the semantics of torchviz, compared with torchviz itself, and what it cannot do."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from torch import nn
from torch_programs import PROGRAMS

import opscope
from opscope.analysis.cost import CostModel
from opscope.analysis.info import info_of
from opscope.compat.torchviz import make_dot
from opscope.program import Graph

REFERENCES = Path(__file__).parents[1] / "corpus" / "torchviz"
KINDS = {None: "function", "lightblue": "leaf", "orange": "saved", "darkolivegreen1": "output", "darkolivegreen3": "base"}

Counts = Counter[str]


def counts_of_dot(source: str) -> Counts:
    """Nodes and edges by kind, from DOT text of torchviz or of ours."""
    counts: Counts = Counter()
    text = re.sub(r'"(?:[^"\\]|\\.)*"', lambda found: found[0].replace("\n", " ").replace("->", "").replace("[", ""), source)
    for line in text.splitlines():
        line = line.strip()
        if "->" in line:
            counts["undirected" if "dir=none" in line else "dotted" if "style=dotted" in line else "solid"] += 1
        elif "label=" in line:
            fill = re.search(r'fillcolor="?(\w+)"?', line)
            counts[KINDS[fill[1] if fill else None]] += 1
    return counts


def counts_of_graph(graph: Graph) -> Counts:
    """Nodes and edges by kind, from a captured graph, where saved tensors and views of bases are control edges."""
    counts: Counts = Counter(node.attrs["kind"] for node in graph)
    for node in graph:
        counts["solid"] += len(node.inputs)
        counts["undirected" if node.role == "saved" else "dotted"] += len(node.control)
    return +counts


@pytest.mark.parametrize("shown", [{}, {"show_attrs": True, "show_saved": True}], ids=["plain", "everything"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_counts_equal_torchviz(name: str, shown: dict[str, bool]) -> None:
    """On the documentation's programs, make_dot draws exactly the nodes and edges that torchviz draws, kind by kind."""
    torchviz = pytest.importorskip("torchviz")
    tensor, params = PROGRAMS[name]()
    theirs = counts_of_dot(torchviz.make_dot(tensor, params=params, **shown).source)
    assert counts_of_dot(make_dot(tensor, params=params, **shown).source) == theirs
    captured = opscope.capture(tensor, params=params, merge_saved=False, show_cuts=False, **shown)
    assert counts_of_graph(captured.main) == theirs


@pytest.mark.parametrize("name", PROGRAMS)
def test_counts_equal_the_sample_files(name: str) -> None:
    """The same against the files that torchviz wrote, so that a change in torchviz or torch does not hide one of ours."""
    tensor, params = PROGRAMS[name]()
    everything = make_dot(tensor, params=params, show_attrs=True, show_saved=True)
    assert counts_of_dot(everything.source) == counts_of_dot((REFERENCES / f"{name}.dot").read_text())
    plain = REFERENCES / f"{name}_plain.dot"
    if plain.exists():
        assert counts_of_dot(make_dot(tensor, params=params).source) == counts_of_dot(plain.read_text())


def test_roles_follow_torchviz_colours() -> None:
    """Role and kind distinguish functions, leaves, saved tensors, outputs and bases: colours depend on them."""
    tensor, params = PROGRAMS["ex1_critic"]()
    graph = opscope.capture(tensor, params=params, show_saved=True).main
    roles = {(node.attrs["kind"], node.role) for node in graph}
    assert roles >= {("function", "op"), ("leaf", "parameter"), ("saved", "saved"), ("output", "output"), ("base", "output")}
    assert {node.attrs["name"] for node in graph if node.attrs["kind"] == "leaf"} == set(params)


def test_lists_dicts_and_dataclasses() -> None:
    """Every tensor of a nested value is an output with its path."""

    @dataclasses.dataclass
    class Pair:
        a: torch.Tensor
        b: torch.Tensor

    x = torch.ones(2, requires_grad=True)
    value = {"loss": x.sum(), "parts": [x * 2, Pair(x * 3, x * 4)]}
    graph = opscope.capture(value).main
    assert [name for name, _ in graph.outputs] == ["loss", "parts[0]", "parts[1].a", "parts[1].b"]
    assert "parts[0]" in make_dot(value).source


def test_a_view_of_another_output() -> None:
    """The base comes after its view: still one node each, in that order, with the dotted line between them."""
    x = torch.ones(2, 3, requires_grad=True)
    base = x * 2
    graph = opscope.capture([base.view(6), base, x]).main
    assert graph.outputs == (("[0]", 0), ("[1]", 0), ("leaf", 0))
    assert graph["[0]"].control == ("[1]",)
    assert [node.attrs["kind"] for node in graph].count("output") == 3


def test_chains_of_a_hundred_thousand_functions() -> None:
    """Recurrent training creates them; torchviz fails at a thousand. Nothing may recurse."""
    y = torch.ones(2, requires_grad=True)
    for _ in range(100_000):
        y = y.sin()
    graph = opscope.capture(y).main
    assert len(graph) == 100_003
    assert graph[graph.outputs[0][0]].inputs == ((f"SinBackward0_{99_999}", 0),)


def test_negative_dimensions_are_negative() -> None:
    """Autograd returns dim=-1 as 2**64 - 1."""
    x = torch.ones(2, 3, requires_grad=True)
    assert opscope.capture(x.softmax(dim=-1)).main["SoftmaxBackward0"].attrs["dim"] == -1
    assert "dim   :             -1" in make_dot(x.softmax(dim=-1), show_attrs=True).source.replace("\\n", "\n")


def test_long_attributes_are_cut() -> None:
    """`max_attr_chars` limits the length of a function's attributes."""
    x = torch.ones(*[1] * 30, requires_grad=True)
    value = opscope.capture(x.sum(), max_attr_chars=12).main["SumBackward0"].attrs["self_sym_sizes"]
    assert value == "[1, 1, 1,..."


def test_a_tensor_saved_twice_is_drawn_once_with_its_bytes() -> None:
    """Two functions save the same storage: one node, linked to both, and memory counted once."""
    x = torch.ones(10, 10, requires_grad=True)
    program = opscope.capture((x.exp() * 2).tanh().sum() + (y := x.exp()).sum() + (y * y).sum(), show_saved=True)
    saved = {tuple(node.attrs["saved_as"]): node for node in program.main if node.role == "saved"}
    shared = next(node for uses, node in saved.items() if len(uses) == 3)
    assert sorted(use.rpartition(".")[2] for use in shared.attrs["saved_as"]) == ["other", "result", "self"]
    assert shared.attrs["bytes"] == 400
    assert len(shared.control) == 2


def test_a_saved_leaf_is_both() -> None:
    """In torchviz, the last colour wins. Here the leaf stays a leaf, with the functions that saved it and the bytes."""
    x = torch.ones(4, requires_grad=True)
    program = opscope.capture((x * x).sum(), params={"x": x}, show_saved=True)
    leaf = program.main["x"]
    assert (leaf.role, leaf.attrs["kind"]) == ("parameter", "leaf")
    assert leaf.attrs["saved_as"] == ["MulBackward0.other", "MulBackward0.self"]
    assert leaf.attrs["bytes"] == 16
    assert [(link.kind, link.node) for link in leaf.links] == [("saved_by", "MulBackward0")]
    assert not any(node.role == "saved" for node in program.main)


def test_outputs_of_functions_have_their_index() -> None:
    """unbind returns three values; each edge says which one, and every value has its shape."""
    x = torch.ones(3, 4, requires_grad=True)
    parts = (x * 2).unbind()
    graph = opscope.capture(torch.stack([parts[2], parts[0]])).main
    assert graph["StackBackward0"].inputs == (("UnbindBackward0", 2), ("UnbindBackward0", 0))
    assert [str(kind) for kind in graph["UnbindBackward0"].outputs] == ["float32[4]"] * 3


class Halved(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.factor = 0.5
        ctx.kind = "exact"
        ctx.name = "half"
        return x / 2

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor


def test_custom_functions() -> None:
    """Their saved tensors are always drawn, as in torchviz, and the attributes of their `ctx` are shown."""
    x = torch.ones(3, requires_grad=True)
    graph = opscope.capture(Halved.apply(x * 2)).main
    attrs = graph["HalvedBackward"].attrs
    assert (attrs["factor"], attrs["name"]) == (0.5, "half")
    assert (attrs["kind"], attrs["ctx.kind"]) == ("function", "exact"), "neither word takes the other's place"
    assert [node.attrs["saved_as"] for node in graph if node.role == "saved"] == [["HalvedBackward.saved[0]"]]


def test_after_backward_the_structure_remains() -> None:
    """Where torchviz raises, the graph is still shown, with a note about what is gone."""
    x = torch.ones(3, requires_grad=True)
    y = (Halved.apply(x) * x).exp().sum()
    y.backward()
    assert opscope.capture(y).attrs["notes"] == opscope.capture(y, show_saved=True).attrs["notes"]
    program = opscope.capture(y, show_saved=True)
    assert [node.op for node in program.main if node.role == "op" and node.attrs["kind"] == "function"] == [
        "AccumulateGrad", "HalvedBackward", "MulBackward0", "ExpBackward0", "SumBackward0",
    ]  # fmt: skip
    assert program.main["MulBackward0"].attrs["freed"] is True
    assert program.attrs["notes"][0].startswith("backward() has freed the saved tensors of 3 functions")
    assert "MulBackward0" in make_dot(y, show_attrs=True, show_saved=True).source


class Branches(nn.Module):
    """Every way to lose a gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(4, 4)
        self.head = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        h = self.encoder(x)
        with torch.no_grad():
            target = h.exp()
        return {"y": self.head(h.detach()) * h + target, "choice": h.argmax(-1)}


def test_functions_have_the_module_and_line_that_created_them() -> None:
    """Sequence numbers and forward hooks identify the module call; anomaly mode has the line."""
    model = Branches()
    graph = opscope.capture(model, torch.ones(2, 4), stage="autograd").main
    assert graph["AddmmBackward0"].scope == ("encoder: Linear",)
    assert graph["AddmmBackward0_1"].scope == ("head: Linear",)
    assert graph["encoder.weight"].scope == ("encoder: Linear",)
    assert graph["MulBackward0"].scope == ()
    first = Branches.forward.__code__.co_firstlineno
    assert (graph["MulBackward0"].source[0].file, graph["MulBackward0"].source[0].line) == (__file__, first + 4)
    assert graph["AddmmBackward0"].source[-1].line == first + 1


def test_cuts_are_marked_with_a_reason() -> None:
    """detach, no_grad and integer results each add a node between the producer and the user of the value."""
    program = opscope.capture(Branches(), torch.ones(2, 4), stage="autograd")
    cuts = {node.op: node for node in program.main if node.attrs["kind"] == "cut" and node.inputs}
    assert set(cuts) == {"cut: detach", "cut: no_grad", "cut: int64"}
    assert all(node.inputs == (("AddmmBackward0", 0),) for node in cuts.values())
    assert not set(cuts) & set(CostModel(program).unknown_flops_ops), "a mark computes nothing"
    assert program.main.users[cuts["cut: detach"].id] == ("AddmmBackward0_1",)
    assert program.main.users[cuts["cut: no_grad"].id] == ("AddBackward0",)
    assert program.main.users[cuts["cut: int64"].id] == ("choice",)
    assert "detach() takes the value out of the graph" in cuts["cut: detach"].attrs["cut"]
    assert program.attrs["notes"] == [
        "choice has no gradient: argmax returns int64, and only floating-point and complex tensors have gradients"
    ]


class Positions(nn.Module):
    """One weight is behind a detach, one is used under no_grad, and one is not used."""

    def __init__(self) -> None:
        super().__init__()
        self.word, self.pos, self.frozen, self.idle = (nn.Linear(4, 4, bias=False) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.word(x) + self.pos(x).detach()
        with torch.no_grad():
            h = h + self.frozen(x)
        return h.sum() + self.word(x).sum()


def test_parameters_without_a_gradient_are_named_with_the_line_that_cut_them(tmp_path: Path) -> None:
    model, x = Positions(), torch.rand(2, 4)
    first = Positions.forward.__code__.co_firstlineno
    program = opscope.capture(model, x, stage="autograd")
    (note,) = program.attrs["notes"]
    assert note.startswith("3 of 4 parameters get no gradient: pos.weight (detach, test_torch_autograd.py:")
    assert f"pos.weight (detach, test_torch_autograd.py:{first + 1})" in note
    assert f"frozen.weight (no_grad, test_torch_autograd.py:{first + 3})" in note and note.endswith("idle.weight (not used)")
    model(x).backward()
    gradients = {name for name, parameter in model.named_parameters() if parameter.grad is not None}
    assert gradients == {"word.weight"}, "torch itself agrees"
    opscope.save(program, tmp_path / "autograd.svg")
    assert "3 of 4 parameters get no gradient" in (tmp_path / "autograd.svg").read_text("utf-8")
    assert info_of(program).notes == (note,)


def test_the_line_that_cuts_a_gradient_is_one_of_the_model() -> None:
    """torch.nn.functional.embedding calls itself again through whoever follows torch's functions, such as opscope."""

    class Embedded(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.pos, self.layer = nn.Embedding(4, 4), nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                positions = self.pos(torch.arange(4))
            return self.layer(x + positions)

    line = Embedded.forward.__code__.co_firstlineno + 2
    note = f"1 of 3 parameters gets no gradient: pos.weight (no_grad, test_torch_autograd.py:{line})"
    assert opscope.capture(Embedded(), torch.rand(4, 4), stage="autograd").attrs["notes"] == [note]
    assert note in str(opscope.summary(Embedded(), input_data=torch.rand(4, 4)))


def test_named_parameters_that_a_loss_does_not_reach() -> None:
    """Behind a loss, opscope knows only what it is given: which parameters there are."""
    model, x = Positions(), torch.rand(2, 4)
    model.requires_grad_(True).idle.requires_grad_(False)
    (note,) = opscope.capture(model(x), params=model).attrs["notes"]
    assert note == "2 of 3 parameters get no gradient: pos.weight, frozen.weight"
    assert "notes" not in opscope.capture(model.word(x).sum(), params=dict(model.word.named_parameters())).attrs


def test_cuts_inside_torchs_own_functions() -> None:
    """A hard Gumbel-softmax passes its gradient straight through: the one-hot is cut off, the softmax is not. `data` cuts too."""

    class Straight(nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return nn.functional.gumbel_softmax(x * 2, hard=True), (x * 3).data * x

    x = torch.rand(4, 3, requires_grad=True)
    graph = opscope.capture(Straight(), x, stage="autograd").main
    hard, data = (node for node in graph if node.attrs["kind"] == "cut")
    assert (hard.op, hard.inputs) == ("cut: int64, detach", (("SoftmaxBackward0", 0),))
    assert graph.users["SoftmaxBackward0"] == (hard.id, "AddBackward0_1")
    assert data.op == "cut: detach"
    assert graph[data.inputs[0][0]].attrs["cut"].startswith("reaches the outputs only through a cut")


def test_tensors_without_a_gradient_say_so() -> None:
    """An isolated box needs a reason: the sample of a distribution, and a result under no_grad."""
    sample, _ = PROGRAMS["ex4_categorical"]()
    program = opscope.capture(sample)
    assert "only floating-point and complex tensors have gradients" in program.main["output"].attrs["cut"]
    with torch.no_grad():
        result = nn.Linear(2, 2)(torch.ones(1, 2))
    assert "computed under no_grad" in opscope.capture(result).attrs["notes"][0]


def test_capturing_does_not_change_the_model() -> None:
    """Batch norm statistics, the random state and attributes are as before, however the model was run."""

    class Cache(nn.Module):
        seen: torch.Tensor | None = None
        calls = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.seen, self.calls = x, self.calls + 1
            return x

    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(), Cache())
    before = {name: value.clone() for name, value in model.state_dict().items()}
    state = torch.get_rng_state()
    for stage in ("autograd", "eager", "joint", "forward"):
        opscope.capture(model, torch.rand(3, 4), stage=stage)
        state_now = torch.get_rng_state()
        torch.set_rng_state(state)
        torch.rand(3, 4)
        assert torch.equal(state_now, torch.get_rng_state()), stage
        torch.set_rng_state(state)
        for name, value in model.state_dict().items():
            assert torch.equal(value, before[name]), (stage, name)
    opscope.summary(model, input_size=(3, 4))
    assert model[3].seen is None and model[3].calls == 0
    assert all(not module._forward_hooks and not module._forward_pre_hooks for module in model.modules())


def test_make_dot_renders_without_graphviz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The drop-in writes pictures itself, without `dot` on the path and without the graphviz package."""
    monkeypatch.setenv("PATH", "")
    tensor, params = PROGRAMS["ex1_critic"]()
    dot = make_dot(tensor, params=params)
    dot.format = "svg"
    picture = Path(dot.render("critic", directory=str(tmp_path)))
    assert picture == tmp_path / "critic.svg"
    assert "TanhBackward0" in picture.read_text()
    assert (tmp_path / "critic").read_text() == dot.source
    assert Path(dot.render(str(tmp_path / "small"), format="png", cleanup=True)).read_bytes().startswith(b"\x89PNG")
    assert not (tmp_path / "small").exists()
    assert Path(dot.save(str(tmp_path / "text.gv"))).read_text().startswith("digraph {")


def test_make_dot_accepts_the_arguments_of_graphviz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A drop-in honours its arguments or refuses them, and displaying it in a notebook changes nothing."""
    monkeypatch.chdir(tmp_path)
    tensor, params = PROGRAMS["ex1_critic"]()
    dot = make_dot(tensor, params=params)
    upright = ElementTree.fromstring(dot._repr_svg_())
    dot.attr(rankdir="LR")
    sideways = ElementTree.fromstring(dot.pipe(format="svg", encoding="utf-8"))
    assert float(upright.attrib["height"]) > float(upright.attrib["width"])
    assert float(sideways.attrib["width"]) > float(sideways.attrib["height"])
    assert dot.render(outfile="deep/critic.svg", quiet=True) == str(Path("deep", "critic.svg")) and Path("deep", "critic.svg").exists()
    assert dot.render("critic", format="png") == "critic.png", "earlier displays and renders leave no trace"
    with pytest.raises(opscope.OpscopeError, match=r"cannot write \.ps; use one of svg, png"):
        dot.render("critic", format="ps")
    with pytest.raises(opscope.OpscopeError, match="neato"):
        dot.render("critic", engine="neato")


@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_unusual_tensors(layout: torch.layout) -> None:
    """Nested tensors have no shape and sparse ones no storage: they are shown with what they have."""
    nested = torch.nested.nested_tensor([torch.rand(2), torch.rand(3)], requires_grad=True, layout=layout)
    graph = opscope.capture(nested * 2, show_saved=True).main
    assert "?" in graph["leaf"].outputs[0].shape or layout is torch.jagged
    x = torch.rand(3, requires_grad=True)
    product = torch.eye(3).to_sparse() @ x.unsqueeze(1)
    assert any(node.role == "saved" for node in opscope.capture(product, show_saved=True).main)


def test_a_leaf_outside_its_module_has_its_full_name(tmp_path: Path) -> None:
    """Ten boxes labelled "weight" say nothing; inside the group of its module, "weight" is enough."""
    model = nn.Sequential(nn.Sequential(nn.Linear(4, 4)), nn.Sequential(nn.Linear(4, 4)))
    x = torch.rand(2, 4)

    def shown(program: opscope.Program) -> set[str]:
        opscope.save(program, tmp_path / "loss.svg", depth=9)
        return set(re.findall(r">([\w.]*weight)</text>", (tmp_path / "loss.svg").read_text("utf-8")))

    assert shown(opscope.capture(model(x).sum(), params=dict(model.named_parameters()))) == {"0.0.weight", "1.0.weight"}
    assert shown(opscope.capture(model, x, stage="autograd")) == {"weight"}
