"""PyTorch models that nobody here wrote: torchvision, timm, transformers and diffusers as far as they are installed, and torch.nn.

Weights are random and sizes small. Configurations of transformers are made small by the names of their fields; what does not run with
such a configuration is not part of the zoo.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

Example = tuple[nn.Module, tuple[Any, ...], dict[str, Any]]


class Entry(NamedTuple):
    family: str
    name: str
    make: Callable[[], Example]


def entries(quick: bool) -> list[Entry]:
    """A slice of each family, then all others, slice by slice: a run that is stopped has seen some of each."""
    families = (_torch_nn(), _torchvision(), _timm(), _transformers(), _diffusers())
    slices = [(0 if entry.name in _QUICK else number % 12, entry) for family in families for number, entry in enumerate(family)]
    return [entry for number, entry in sorted(slices, key=lambda each: each[0]) if number == 0 or not quick]


def prepare() -> None:
    """Imports what all models of a package import, once for all processes that are forked."""
    if find_spec("transformers") is not None:
        from transformers import BertConfig, BertModel

        BertModel(BertConfig(hidden_size=4, num_hidden_layers=1, num_attention_heads=1, intermediate_size=4, vocab_size=4))


_LIBRARIES: list[torch.library.Library] = []
"""Operators exist as long as their library."""

_QUICK = frozenset(
    ["bert", "llama", "t5", "whisper", "mamba", "mixtral", "segformer", "resnet18", "fasterrcnn_resnet50_fpn", "inception_v3"]
)

_LARGEST = 20_000_000
"""Parameters of a model of transformers. Those that cannot be made small take gigabytes."""

_SMALL = {
    "hidden_size": 32, "d_model": 32, "n_embd": 32, "embed_dim": 32, "dim": 32, "embedding_size": 32, "decoder_hidden_size": 32,
    "num_hidden_layers": 2, "n_layer": 2, "n_layers": 2, "num_layers": 2, "encoder_layers": 2, "decoder_layers": 2, "num_decoder_layers": 2,
    "num_attention_heads": 4, "n_head": 4, "n_heads": 4, "num_heads": 4, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "d_kv": 8,
    "intermediate_size": 64, "d_ff": 64, "ffn_dim": 64, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "n_inner": 64,
    "moe_intermediate_size": 32,
    "vocab_size": 128, "n_positions": 64, "max_position_embeddings": 64, "max_source_positions": 32, "max_target_positions": 32,
    "image_size": 32, "patch_size": 8, "num_mel_bins": 8, "state_size": 4,
    "num_local_experts": 4, "num_experts": 4, "n_routed_experts": 4, "num_experts_per_tok": 2,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1,
}  # fmt: skip


def _torch_nn() -> Iterator[Entry]:
    x = torch.rand(2, 8, 16)
    yield Entry("torch.nn", "Transformer", lambda: (nn.Transformer(16, 2, 2, 2, 32, batch_first=True), (x, x), {}))
    yield Entry("torch.nn", "TransformerEncoder", lambda: (nn.TransformerEncoder(_layer(), 2), (x,), {}))
    for cls in (nn.LSTM, nn.GRU, nn.RNN):
        yield Entry("torch.nn", cls.__name__, partial(_recurrent, cls, x))
    yield Entry("torch.nn", "MultiheadAttention", lambda: (nn.MultiheadAttention(16, 2), (x, x, x), {}))


def _recurrent(cls: Any, x: torch.Tensor) -> Example:
    return cls(16, 8, 2, bidirectional=True), (x,), {}


def _layer() -> nn.Module:
    return nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)


def _torchvision() -> Iterator[Entry]:
    if find_spec("torchvision") is None:
        return
    _declare_operators()
    from torchvision import models

    for name in models.list_models(models):
        yield Entry("torchvision", name, partial(_vision, name, _image_size(name)))
    for module in (models.segmentation, models.detection):
        for name in models.list_models(module):
            yield Entry("torchvision", name, partial(_vision, name, 64, weights_backbone=None, in_a_list=module is models.detection))


@cache
def _declare_operators() -> None:
    """PyPI's torchvision is built for CUDA. With a PyTorch for CPUs its library does not load, and it can be imported only if these
    operators exist. They are the two that detectors call, in plain Python."""
    package = find_spec("torchvision")
    try:
        torch.ops.load_library(str(Path(str(package and package.origin)).with_name("_C.so")))
        return
    except (OSError, RuntimeError):
        library = torch.library.Library("torchvision", "DEF")
        _LIBRARIES.append(library)
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    library.define("roi_align(Tensor x, Tensor rois, float scale, int height, int width, int sampling_ratio, bool aligned) -> Tensor")
    library.impl("nms", _without_overlaps, "CPU")
    import torchvision
    from torchvision.ops.roi_align import _roi_align

    torchvision.extension._has_ops = lambda: True
    library.impl("roi_align", _roi_align, "CompositeImplicitAutograd")


def _without_overlaps(boxes: torch.Tensor, scores: torch.Tensor, limit: float) -> torch.Tensor:
    """Which boxes stay: the best first, without those that overlap a better one by more than `limit`."""
    from torchvision.ops import box_iou

    overlaps = (box_iou(boxes, boxes) > limit).numpy()
    waiting, kept = scores.argsort(descending=True).numpy(), []
    while len(waiting):
        kept.append(int(waiting[0]))
        waiting = waiting[1:][~overlaps[waiting[0], waiting[1:]]]
    return torch.tensor(kept, dtype=torch.long)


def _vision(name: str, size: int, *, in_a_list: bool = False, **plain: Any) -> Example:
    from torchvision import models

    if in_a_list and not name.startswith("ssd"):
        plain |= {"min_size": size, "max_size": size}
    model = models.get_model(name, weights=None, **plain).eval()
    return model, ([torch.rand(3, size, size)],) if in_a_list else (torch.rand(2, 3, size, size),), {}


def _image_size(name: str) -> int:
    return 224 if name.startswith(("vit", "maxvit")) else 96 if name.startswith(("inception", "googlenet")) else 64


def _timm() -> Iterator[Entry]:
    if find_spec("timm") is None:
        return
    _declare_operators()
    import timm

    for module in timm.list_modules():
        names = sorted(timm.list_models(module=module), key=lambda name: (len(name), name))
        if names:
            yield Entry("timm", names[0], partial(_timm_model, names[0]))


def _timm_model(name: str) -> Example:
    import timm

    model = timm.create_model(name, pretrained=False).eval()
    channels, *size = model.default_cfg.get("input_size", (3, 224, 224))
    try:  # a small image, if any size will do
        with torch.no_grad():
            model(torch.rand(1, channels, 64, 64))
        size = [64, 64]
    except (AssertionError, RuntimeError, ValueError):
        pass
    return model, (torch.rand(1, channels, *size),), {}


def _transformers() -> Iterator[Entry]:
    if find_spec("transformers") is None:
        return
    from transformers import CONFIG_MAPPING

    for kind in sorted(CONFIG_MAPPING.keys()):
        yield Entry("transformers", kind, partial(_transformer, kind))


def _transformer(kind: str) -> Example:
    """A model of this kind, with a head if it has one, and inputs of the kind that it takes."""
    from transformers import CONFIG_MAPPING, AutoModel, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoModelForSpeechSeq2Seq

    config = CONFIG_MAPPING[kind]()
    _shrink(config)
    encoding = (AutoModelForSpeechSeq2Seq, AutoModelForSeq2SeqLM) if config.is_encoder_decoder else ()
    for auto in (*encoding, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoModel):
        if type(config) in auto._model_mapping:
            break
    with torch.device("meta"):
        elements = sum(parameter.numel() for parameter in auto.from_config(copy.deepcopy(config)).parameters())
    if elements > _LARGEST:
        raise ValueError(f"{elements:,} parameters: the names of its fields do not make it small")
    model = auto.from_config(config, attn_implementation="eager").eval()
    ids, size = torch.arange(8).reshape(1, 8) + 3, getattr(config, "image_size", 32)
    main = model.main_input_name
    inputs: dict[str, Any] = {
        "input_ids": {"input_ids": ids},
        "pixel_values": {
            "pixel_values": torch.rand(1, getattr(config, "num_channels", 3), *(size if isinstance(size, tuple | list) else (size, size)))
        },
        "input_features": {"input_features": torch.rand(1, 8, 64)},
        "input_values": {"input_values": torch.rand(1, 2000)},
    }[main]
    if config.is_encoder_decoder:
        inputs["decoder_input_ids"] = ids.clone()  # torch.export takes one tensor for one input
    return model, (), inputs


def _shrink(config: Any) -> None:
    for name, value in _SMALL.items():
        if isinstance(getattr(config, name, None), int):
            setattr(config, name, value)
    for inner in vars(config).values():
        if type(inner).__name__.endswith("Config"):
            _shrink(inner)


def _diffusers() -> Iterator[Entry]:
    if find_spec("diffusers") is None:
        return
    yield Entry("diffusers", "UNet2DConditionModel", _unet)
    yield Entry("diffusers", "AutoencoderKL", _autoencoder)


def _unet() -> Example:
    from diffusers import UNet2DConditionModel

    model = UNet2DConditionModel(
        sample_size=16, block_out_channels=(8, 16), layers_per_block=1, norm_num_groups=4, cross_attention_dim=16, attention_head_dim=2,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
    )  # fmt: skip
    return model.eval(), (torch.rand(1, 4, 16, 16), torch.tensor([1]), torch.rand(1, 5, 16)), {}


def _autoencoder() -> Example:
    from diffusers import AutoencoderKL

    return AutoencoderKL(block_out_channels=(8,), norm_num_groups=4).eval(), (torch.rand(1, 3, 16, 16),), {}


warnings.filterwarnings("ignore")
