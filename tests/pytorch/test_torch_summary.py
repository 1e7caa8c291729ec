"""The summary table: correct where torchsummary and torchinfo are wrong, and torchsummary's own table letter by letter."""

from __future__ import annotations

import csv
import dataclasses
import io
from contextlib import redirect_stdout
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode
from torch_models import ARCHITECTURES

import opscope
from opscope.analysis.summary import Summary
from opscope.compat import torchsummary as ours
from opscope.errors import OpscopeError


def rows(summary: Summary) -> dict[str, dict[str, object]]:
    return {row["path"]: row for row in summary.to_dict()["rows"]}


def flops_of(model: nn.Module, *args: object, **kwargs: object) -> int:
    """torch's counter, with attention as plain matrix products, because it does not cover the fused kernel of the CPU."""
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        model(*args, **kwargs)
    return counter.get_total_flops()


def test_the_critic_of_the_documentation() -> None:
    """Shapes, parameters, share and multiply-adds of a network that can be checked by hand."""
    critic = nn.Sequential(nn.Linear(4, 2, bias=False), nn.Tanh(), nn.Linear(2, 1))
    table = opscope.summary(critic, input_size=(100, 4))
    assert [row["label"] for row in table.to_dict()["rows"]] == ["Sequential", "0: Linear", "1: Tanh", "2: Linear"]
    first, last = rows(table)["0"], rows(table)["2"]
    assert (first["input"], first["output"], first["params"], first["mult_adds"]) == ([[100, 4]], [[100, 2]], 8, 800)
    assert (last["params"], last["mult_adds"], last["share"]) == (3, 200, round(3 / 11, 6))
    assert table.totals["parameters"] == 11
    assert table.totals["activation_bytes"] == 100 * 2 * 4  # the tanh's result; the input is counted on its own


@pytest.mark.parametrize("name", ["BERT", "GPT-2", "Llama", "ViT", "ResNet", "T5", "Whisper", "Mixtral"])
def test_flops_equal_torchs_own_counter(name: str) -> None:
    """Attention and batched products included, on real architectures; and every layer is the sum of what it calls."""
    model, args, kwargs = ARCHITECTURES[name]()
    table = opscope.summary(model, input_data=kwargs, depth=None)
    # Torch's counter does not know grouped products: 2 layers, 6 tokens with 2 experts each, 16 to 2 × 32 and back.
    experts = 2 * 2 * 12 * (16 * 64 + 32 * 16) if name == "Mixtral" else 0
    assert table.totals["flops"] == flops_of(model, *args, **kwargs) + experts
    assert table.totals["parameters"] == sum(parameter.numel() for parameter in model.parameters())
    assert sum(row.parameters for row in table.rows) == table.totals["parameters"]


def test_a_linear_layer_multiplies_every_position() -> None:
    """torchinfo 1.8 ignores all dimensions between the first and the last."""
    assert opscope.summary(nn.Linear(32, 33), input_size=(2, 5, 32)).totals["mult_adds"] == 2 * 5 * 32 * 33


def test_attention_has_multiply_adds() -> None:
    """Projections, scores, and scores times values; torchinfo shows none."""
    model = nn.MultiheadAttention(16, 2, batch_first=True)
    x = torch.rand(3, 7, 16)
    table = opscope.summary(model, input_data=(x, x, x), need_weights=False)
    assert table.totals["flops"] == flops_of(model, x, x, x, need_weights=False)
    assert table.totals["mult_adds"] == 3 * (7 * 16 * 16 * 4 + 2 * 7 * 7 * 16)
    projection = rows(table)["out_proj"]
    assert (projection["called"], projection["params"]) == (False, 16 * 16 + 16)


def test_info_counts_attention_as_torch_does() -> None:
    """`opscope info` of an exported attention, live or from a file, agrees with the measured run."""
    from opscope.analysis.info import info_of

    class Attention(nn.Module):
        def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            return nn.functional.scaled_dot_product_attention(q, k, v)

    inputs = (torch.rand(2, 3, 5, 8), torch.rand(2, 3, 7, 8), torch.rand(2, 3, 7, 4))
    assert info_of(opscope.capture(Attention(), *inputs)).flops == flops_of(Attention(), *inputs)


def test_recurrent_layers() -> None:
    """An LSTM is one fused kernel; its outputs are nested, and its products are those of four gates at every step."""
    table = opscope.summary(nn.LSTM(8, 16, num_layers=2, batch_first=True, bidirectional=True), input_size=(2, 5, 8))
    (row,) = table.to_dict()["rows"]
    assert row["output"] == [[2, 5, 32], [4, 2, 16], [4, 2, 16]]
    steps = 2 * 5
    assert table.totals["mult_adds"] == steps * 2 * (4 * 16 * (8 + 16) + 4 * 16 * (32 + 16))


def test_activations_are_what_autograd_saves() -> None:
    """By storage, once each, measured against the saved tensors of the real graph; functional operations included."""

    class Functional(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(64, 64)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = self.layer(x)
            return (h.exp() * h.sigmoid()).softmax(-1)

    model, x = Functional(), torch.rand(32, 64)
    saved: dict[int, torch.UntypedStorage] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        saved[tensor.untyped_storage()._cdata] = tensor.untyped_storage()
        return tensor.detach()

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model(x)
    excluded = {tensor.untyped_storage()._cdata for tensor in (x, *model.parameters())}
    expected = sum(storage.nbytes() for key, storage in saved.items() if key not in excluded)
    assert expected == 3 * 32 * 64 * 4
    assert opscope.summary(model, input_data=x).totals["activation_bytes"] == expected
    with torch.no_grad():
        assert opscope.summary(model, input_data=x).totals["activation_bytes"] == 0


class Sharing(nn.Module):
    """Bare parameters, a tied weight, and a layer that is used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(7))
        self.layer = nn.Linear(4, 4)
        self.first, self.second = nn.Linear(4, 7, bias=False), nn.Linear(4, 7, bias=False)
        self.second.weight = self.first.weight
        for parameter in self.layer.parameters():
            parameter.requires_grad = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.layer(self.layer(x))
        return (self.first(x) + self.second(x)) * self.scale


def test_every_parameter_counts_once() -> None:
    """torchsummary ignores bare parameters and counts reused layers twice."""
    table = opscope.summary(Sharing(), input_size=(1, 4))
    assert table.totals["parameters"] == 7 + 20 + 28
    assert (table.totals["trainable"], table.totals["frozen"]) == (35, 20)
    labels = {row["label"]: row for row in table.to_dict()["rows"]}
    assert labels["Sharing"]["params"] == 7
    assert (labels["layer: Linear"]["params"], labels["layer@1: Linear"]["params"]) == (20, 0)
    assert labels["layer@1: Linear"]["shared"] == 20
    assert (labels["second: Linear"]["params"], labels["second: Linear"]["shared"]) == (0, 28)
    assert labels["layer: Linear"]["trainable"] == "no"
    assert "(28 shared)" in str(table)


def test_hidden_layers_count_where_they_are_hidden() -> None:
    """At any depth, the column of parameters adds up to the total."""
    model = nn.Transformer(16, 2, 2, 2, 32, batch_first=True)
    for depth in (0, 1, 2, 3, None):
        table = opscope.summary(model, input_size=[(2, 5, 16), (2, 4, 16)], depth=depth)
        assert sum(row.parameters for row in table.rows) == table.totals["parameters"]
        assert max(row.layer.depth for row in table.rows) == (4 if depth is None else depth)


def test_transformer_children_are_shown_in_evaluation() -> None:
    """The fused fast path of nn.TransformerEncoderLayer would hide them; afterwards it is enabled again."""
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    with torch.no_grad():
        table = opscope.summary(layer, input_size=(2, 5, 16))
    assert {"self_attn", "linear1", "linear2", "norm1"} <= set(rows(table))
    assert torch.backends.mha.get_fastpath_enabled()


@dataclasses.dataclass
class Batch:
    ids: torch.Tensor
    mask: torch.Tensor


class Dictionaries(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(10, 4)

    def forward(self, batch: Batch, options: dict[str, torch.Tensor]) -> dict[str, Batch]:
        return {"result": Batch(self.table(batch.ids) * options["scale"], batch.mask)}


def test_dicts_dataclasses_and_integers() -> None:
    """Any nesting of inputs and outputs, named by its path."""
    batch = Batch(torch.zeros(2, 3, dtype=torch.long), torch.ones(2, 3))
    table = opscope.summary(Dictionaries(), input_data=(batch, {"scale": torch.ones(1)}))
    root = table.rows[0].layer
    assert [(name, kind.dtype) for name, kind in root.inputs] == [
        ("[0].ids", "int64"), ("[0].mask", "float32"), ("[1].scale", "float32"),
    ]  # fmt: skip
    assert [(name, kind.shape) for name, kind in root.outputs] == [("result.ids", (2, 3, 4)), ("result.mask", (2, 3))]


def test_sizes_of_integers_and_several_inputs() -> None:
    """Sizes become tensors of the model's type; integers have to be requested, and the error for a model that needs them says so."""
    embedding = nn.Embedding(10, 4)
    assert rows(opscope.summary(embedding, input_size=(2, 3), dtypes=[torch.long]))[""]["output"] == [[2, 3, 4]]
    with pytest.raises(OpscopeError, match=r"Embedding takes integers.*dtypes=\[torch.long\]"):
        opscope.summary(embedding, input_size=(2, 3))
    table = opscope.summary(nn.Bilinear(3, 4, 5), input_size=[(2, 3), (2, 4)])
    assert rows(table)[""]["input"] == [[2, 3], [2, 4]]
    with pytest.raises(OpscopeError, match="pass input_size or input_data, not both"):
        opscope.summary(embedding, input_size=(2, 3), input_data=torch.ones(1))


def test_half_precision_and_the_meta_device() -> None:
    """Bytes follow the element size, and a model without weights in memory can be measured too."""
    half = opscope.summary(nn.Linear(8, 8, dtype=torch.bfloat16), input_size=(2, 8))
    assert (half.totals["input_bytes"], half.totals["parameter_bytes"]) == (2 * 8 * 2, (64 + 8) * 2)
    with torch.device("meta"):
        big = nn.Sequential(nn.Linear(50_000, 50_000), nn.ReLU())
    table = opscope.summary(big, input_size=(4, 50_000))
    assert table.totals["parameters"] == 50_000 * 50_000 + 50_000
    assert table.totals["mult_adds"] == 4 * 50_000 * 50_000
    assert table.totals["activation_bytes"] == 4 * 50_000 * 4


def test_without_inputs_there_are_parameters() -> None:
    """Nothing runs: the table is the tree of modules with their parameters."""
    table = opscope.summary(nn.Sequential(nn.Linear(4, 2), nn.Conv2d(3, 8, (3, 5))))
    assert [row["params"] for row in table.to_dict()["rows"]] == [0, 10, 368]
    assert rows(table)["1"]["kernel"] == [3, 5]
    assert "Mult-adds" not in str(table)


def test_columns_text_csv_and_html(tmp_path: Path) -> None:
    """All formats of a table agree; names are text and never HTML."""

    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.add_module("<b>", nn.Linear(4, 2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.get_submodule("<b>")(x)

    table = opscope.summary(Odd(), input_size=(3, 4), columns=("output_size", "num_params", "mult_adds", "saved"))
    lines = str(table).splitlines()
    assert lines[0].split("  ")[0] == "Layer"
    assert lines[3] == "└─ <b>: Linear  [3, 2]          10         24"
    assert "Parameters                    10 (10 trainable, 0 frozen)" in lines
    read = list(csv.DictReader(io.StringIO(table.to_csv(tmp_path / "table.csv"))))
    assert (read[1]["path"], read[1]["output"], read[1]["params"]) == ("<b>", "[3, 2]", "10")
    assert (tmp_path / "table.csv").read_text() == table.to_csv()
    assert "&lt;b&gt;: Linear" in table._repr_html_()
    assert "<b>: Linear" not in table._repr_html_()
    with pytest.raises(OpscopeError, match="no column 'colour'; there are: input, output"):
        opscope.summary(Odd(), columns=["colour"])


class Forked(nn.Module):
    """Two inputs, a shared layer, several outputs, frozen weights: what torchsummary's table shows of them."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Sequential(nn.Linear(4, 8), nn.ReLU()), nn.Linear(6, 8)
        self.shared = nn.Linear(8, 8)
        self.split = Splitter()
        self.right.weight.requires_grad = False

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        parts = self.split(self.shared(self.shared(self.left(a) + self.right(b))))
        return parts[0] + parts[1]


class Splitter(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x[:, :4], x[:, 4:]


@pytest.mark.step("2.14")
@pytest.mark.parametrize(
    ("model", "size", "batch"),
    [
        (nn.Sequential(nn.Linear(4, 2, bias=False), nn.Tanh(), nn.Linear(2, 1)), (4,), 100),
        (nn.Sequential(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 900, 10)), (3, 32, 32), -1),
        (Forked(), [(4,), (6,)], 16),
    ],
    ids=["critic", "convolutions", "forked"],
)
def test_torchsummary_letter_by_letter(model: nn.Module, size: object, batch: int) -> None:
    """Scripts and course notes rely on this table: the drop-in prints the same text."""
    theirs = pytest.importorskip("torchsummary")
    printed = []
    for tool in (theirs.summary, ours.summary):
        out = io.StringIO()
        with redirect_stdout(out):
            tool(model, size, batch_size=batch, device="cpu")
        printed.append(out.getvalue())
    assert printed[1] == printed[0]


@pytest.mark.step("2.14")
@pytest.mark.parametrize(
    ("model", "shape", "parameters"),
    [(nn.Linear(4, 2), "[-1, 2]", 10), (nn.Identity(), "[-1, 4]", 0), (nn.Sequential(), "[-1, 4]", 0), (nn.GroupNorm(2, 4), "[-1, 4]", 8)],
    ids=["linear", "identity", "empty", "norm"],
)
def test_a_model_without_other_modules_has_a_row(model: nn.Module, shape: str, parameters: int) -> None:
    """torchsummary raises an AttributeError on them."""
    theirs = pytest.importorskip("torchsummary")
    with redirect_stdout(io.StringIO()), pytest.raises(AttributeError):
        theirs.summary(model, (4,), device="cpu")
    out = io.StringIO()
    with redirect_stdout(out):
        ours.summary(model, (4,), device="cpu")
    assert f"{type(model).__name__}-1  {shape:>25} {parameters:>15}" in out.getvalue()
    assert f"Total params: {parameters}\nTrainable params: {parameters}\nNon-trainable params: 0" in out.getvalue()


@pytest.mark.step("2.14")
def test_another_device_is_the_error_that_torchsummary_raises() -> None:
    theirs = pytest.importorskip("torchsummary")
    said = []
    for tool in (theirs.summary, ours.summary):
        with pytest.raises(AssertionError) as raised:
            tool(nn.Linear(4, 2), (4,), device="tpu")
        said.append(str(raised.value))
    assert said[0] == said[1] and isinstance(raised.value, OpscopeError)


def test_a_model_that_runs_only_without_the_counter_is_not_blamed() -> None:
    """torch's own FLOP counter refuses flex attention before torch 2.15; the model itself runs."""
    from torch.nn.attention.flex_attention import flex_attention
    from torch.utils.flop_counter import FlopCounterMode

    class Flexible(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return flex_attention(x, x, x)

    x = torch.rand(1, 2, 8, 4)
    try:
        with torch.compiler.set_stance("force_eager"), FlopCounterMode(display=False) as counter:
            Flexible()(x)
    except (TypeError, NotImplementedError):
        with pytest.raises(opscope.OpscopeError, match=r"Flexible runs, but not while torch counts its FLOPs; .*flex_attention"):
            opscope.summary(Flexible(), input_data=x)
    else:
        assert opscope.summary(Flexible(), input_data=x).totals["flops"] == counter.get_total_flops() > 0


def test_sparse_buffers_and_saved_sparse_tensors_are_counted_by_their_parts() -> None:
    class Sparse(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 3)
            self.register_buffer("mask", torch.eye(3).to_sparse())

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.sparse.mm(self.mask * 2, self.layer(x))

    measured = opscope.summary(Sparse(), input_data=torch.rand(3, 3)).measured
    of_indices_and_values = 2 * 3 * 8 + 3 * 4
    assert (measured.buffer_bytes, measured.saved_bytes) == (of_indices_and_values, of_indices_and_values)
