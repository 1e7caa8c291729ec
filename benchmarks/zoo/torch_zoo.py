"""PyTorch models that nobody here wrote: torchvision, timm, transformers and diffusers as far as they are installed, and torch.nn.

Weights are random and sizes small: one model of each module of timm, of torchvision none that is only larger than another, and of
transformers the kinds below, whose configurations are made small by the names of their fields. `left_out` says what is not looked at.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial, reduce
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.attention.flex_attention import flex_attention

Example = tuple[nn.Module, tuple[Any, ...], dict[str, Any]]


class Entry(NamedTuple):
    family: str
    name: str
    make: Callable[[], Example]


def entries(quick: bool) -> list[Entry]:
    """A slice of each family, then all others, slice by slice: a run that is stopped has seen some of each."""
    families = [family() for family in _families().values()]
    slices = [(0 if entry.name in _QUICK else number % _SLICES, entry) for family in families for number, entry in enumerate(family)]
    return [entry for number, entry in sorted(slices, key=lambda each: each[0]) if number == 0 or not quick]


def make(family: str, name: str) -> Example:
    """The model of an entry, by its name."""
    return next(entry for entry in _families()[family]() if entry.name == name).make()


def _families() -> dict[str, Callable[[], Iterator[Entry]]]:
    return {
        "torch.nn": _torch_nn,
        "torchvision": _torchvision,
        "timm": _timm,
        "transformers": _transformers,
        "diffusers": _diffusers,
    }


def left_out() -> dict[str, list[str]]:
    """Models of the installed packages that are not part of the zoo, by the reason."""
    reasons = {}
    if find_spec("torchvision") is not None:
        reasons[f"torchvision: over {_LARGE:,} parameters, and a smaller one of its kind is looked at"] = sorted(
            set(_vision_sizes()) - set(_chosen_vision())
        )
    if find_spec("timm") is not None:
        import timm

        reasons["timm: another model of the same module is looked at"] = sorted(set(timm.list_models()) - {each.name for each in _timm()})
    if find_spec("transformers") is not None:
        from transformers import CONFIG_MAPPING

        others = "transformers: parts and variants of others, and what needs several kinds of inputs"
        reasons[others] = sorted(set(CONFIG_MAPPING) - {*_KINDS})
    return reasons


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

_SLICES = 24
"""The first slice, with those above, takes about three minutes on two quiet cores."""

_LARGE = 30_000_000
"""Parameters of a model of torchvision. Those with more are looked at if their module has none with fewer."""

_LARGEST_VISION = 150_000_000
"""Parameters of a model of timm. Those of a module that has only larger ones take minutes and gigabytes each."""

_SMALL_NAMES = ("test_", "atto", "femto", "pico", "nano", "xxt", "xxs", "_xs", "tiny", "mini", "_t", "_s", "small", "_b0", "_050")
"""What names of timm's small models contain, the smallest first."""

_KINDS = Path(__file__).with_name("transformers_kinds.txt").read_text().split()
"""Kinds of transformers: text, images, sound, and images with text."""

_LARGEST = 30_000_000
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

_LATENT = {"qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8, "head_dim": 8, "kv_lora_rank": 16, "q_lora_rank": 16} | {
    "num_key_value_heads": 4
}
_WINDOWS = {"embed_dim": 32, "num_heads": [2, 4], "depths": [1, 1], "num_layers": 2, "image_size": 32, "patch_size": 4, "window_size": 4}
_ADAPTED: dict[str, dict[str, Any]] = {
    "codegen": {"rotary_dim": 4},
    "convnext": {"image_size": 64, "patch_size": 4},
    "convnextv2": {"image_size": 64, "patch_size": 4},
    "dbrx": {"attn_config.rope_theta": 10_000.0, "attn_config.clip_qkv": 8.0},  # its own defaults lack them
    "deepseek_v2": _LATENT | {"num_experts_per_tok": 2},
    "deepseek_v3": _LATENT,
    "deformable_detr": {"image_size": 128},
    "encodec": {"hidden_size": 128},
    "esm": {"vocab_size": 128, "pad_token_id": 1, "mask_token_id": 4},
    "gptj": {"rotary_dim": 4},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1},
    "levit": {"image_size": 64, "patch_size": 16},
    "luke": {"entity_vocab_size": 128},
    "mamba2": {"head_dim": 16, "n_groups": 1, "num_heads": 4, "hidden_size": 32, "expand": 2},
    "prophetnet": {"num_encoder_layers": 2, "num_encoder_attention_heads": 4, "num_decoder_attention_heads": 4},
    "qwen3_next": {"num_hidden_layers": 2, "layer_types": ["linear_attention", "full_attention"]},
    "recurrent_gemma": {"block_types": ["recurrent", "attention"]},
    "reformer": {"is_decoder": True, "axial_pos_embds": False, "attn_layers": ["local", "lsh"]},
    "rwkv": {"attention_hidden_size": 32},
    "siglip": {"text_config.projection_size": 32},
    "speech_to_text": {"input_feat_per_channel": 8, "conv_channels": 32},
    "swin": _WINDOWS,
    "swin2sr": _WINDOWS | {"patch_size": 1, "num_heads": [2, 2], "window_size": 8},
    "swinv2": _WINDOWS,
    "xmod": {"default_language": "en_XX"},
    "yolos": {"image_size": [32, 64]},
}
"""What kinds of transformers need besides, to run in a small size."""


def _torch_nn() -> Iterator[Entry]:
    x = torch.rand(2, 8, 16)
    yield Entry("torch.nn", "Transformer", lambda: (nn.Transformer(16, 2, 2, 2, 32, batch_first=True), (x, x), {}))
    yield Entry("torch.nn", "TransformerEncoder", lambda: (nn.TransformerEncoder(_layer(), 2), (x,), {}))
    for cls in (nn.LSTM, nn.GRU, nn.RNN):
        yield Entry("torch.nn", cls.__name__, partial(_recurrent, cls, x))
    yield Entry("torch.nn", "MultiheadAttention", lambda: (nn.MultiheadAttention(16, 2), (x, x, x), {}))
    yield Entry("torch.nn", "packed LSTM", lambda: (_Packed(), (x, torch.tensor([8, 5])), {}))
    yield Entry("torch.nn", "EmbeddingBag and Bilinear", lambda: (_Bags(), (torch.arange(8).reshape(2, 4), x[:, 0]), {}))
    yield Entry("torch.nn", "flex attention", lambda: (_Flexible(), (x.reshape(2, 8, 4, 4).transpose(1, 2),), {}))


def _recurrent(cls: Any, x: torch.Tensor) -> Example:
    return cls(16, 8, 2, bidirectional=True), (x,), {}


def _layer() -> nn.Module:
    return nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)


class _Packed(nn.Module):
    """Sequences of several lengths."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(16, 8, batch_first=True)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> Any:
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        return nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)[0]


class _Bags(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bag, self.both = nn.EmbeddingBag(16, 16), nn.Bilinear(16, 16, 4)

    def forward(self, ids: torch.Tensor, x: torch.Tensor) -> Any:
        return self.both(self.bag(ids), x)


class _Flexible(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return flex_attention(x, x, x, score_mod=lambda score, b, h, q, k: score + (q - k))


def _torchvision() -> Iterator[Entry]:
    if find_spec("torchvision") is None:
        return
    _declare_operators()
    from torchvision import models

    for name in _chosen_vision():
        kind = models.get_model_builder(name).__module__.split(".")[2]
        yield Entry("torchvision", name, partial(_vision, name, kind))


def _chosen_vision() -> list[str]:
    """All models that are not large, and the smallest of those modules that have only large ones."""
    from torchvision import models

    sizes, smallest = _vision_sizes(), {}
    for name in sorted(sizes, key=sizes.__getitem__, reverse=True):
        smallest[models.get_model_builder(name).__module__] = name
    return [name for name, size in sizes.items() if size <= _LARGE or name in smallest.values()]


def _vision_sizes() -> dict[str, int]:
    """Parameters of each model that is not quantized, from the descriptions of its weights."""
    _declare_operators()
    from torchvision import models

    modules = (models, models.segmentation, models.detection, models.video, models.optical_flow)
    names = [name for module in modules for name in models.list_models(module)]
    return {name: next(iter(models.get_model_weights(name))).meta["num_params"] for name in names}


@cache
def _declare_operators() -> None:
    """PyPI's torchvision is built for CUDA. With a PyTorch for CPUs its library does not load, and it can be imported only if these
    operators exist. They are the two that detectors call, in plain Python."""
    package = find_spec("torchvision")
    try:
        (path,) = Path(str(package and package.origin)).parent.glob("_C*.so")  # its name differs between versions
        torch.ops.load_library(str(path))
        return
    except (OSError, RuntimeError, ValueError):
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


def _vision(name: str, kind: str) -> Example:
    from torchvision import models

    size = (
        224
        if name.startswith(("vit", "maxvit"))
        else 128
        if kind == "optical_flow"
        else 96
        if name in ("inception_v3", "googlenet")
        else 64
    )
    frames = 16 if name.startswith(("mvit", "s3d")) else 8
    size = 224 if name.startswith(("mvit", "s3d")) else size
    plain: dict[str, Any] = {"weights_backbone": None} if kind in ("segmentation", "detection") else {}
    if kind == "detection" and not name.startswith("ssd"):
        plain |= {"min_size": size, "max_size": size}
    model = models.get_model(name, weights=None, **plain).eval()
    image = torch.rand(1, 3, size, size)
    if kind == "detection":
        return model, ([image[0]],), {}
    if kind == "video":
        return model, (torch.rand(1, 3, frames, size, size),), {}
    return model, (image, image.clone()) if kind == "optical_flow" else (torch.cat([image, image.flip(3)]),), {}


def _timm() -> Iterator[Entry]:
    if find_spec("timm") is None:
        return
    _declare_operators()
    import timm

    for module in timm.list_modules():
        names = timm.list_models(module=module)
        if names:
            name = min(names, key=_by_size)
            yield Entry("timm", name, partial(_timm_model, name))


def _by_size(name: str) -> tuple[int, int, str]:
    """Sorts names of timm's models, roughly from the smallest to the largest."""
    return next((number for number, part in enumerate(_SMALL_NAMES) if part in name), len(_SMALL_NAMES)), len(name), name


def _timm_model(name: str) -> Example:
    import timm

    with torch.device("meta"):
        size = sum(parameter.numel() for parameter in timm.create_model(name, pretrained=False).parameters())
    if size > _LARGEST_VISION:
        raise ValueError(f"{size:,} parameters are too many for minutes")
    model = timm.create_model(name, pretrained=False).eval()
    channels, *shape = model.default_cfg.get("input_size", (3, 224, 224))
    try:  # a small image, if any size will do
        with torch.no_grad():
            model(torch.rand(1, channels, 64, 64))
        shape = [64, 64]
    except (AssertionError, RuntimeError, ValueError):
        pass
    return model, (torch.rand(1, channels, *shape),), {}


def _transformers() -> Iterator[Entry]:
    if find_spec("transformers") is None:
        return
    from transformers import CONFIG_MAPPING

    for kind in _KINDS:
        if kind in CONFIG_MAPPING:
            yield Entry("transformers", kind, partial(_transformer, kind))


def _transformer(kind: str) -> Example:
    """A model of this kind, with a head if it has one, and inputs of the kind that it takes."""
    from transformers import CONFIG_MAPPING, AutoModel, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoModelForSpeechSeq2Seq

    adapted = _ADAPTED.get(kind, {})
    config = CONFIG_MAPPING[kind](**{name: value for name, value in adapted.items() if "." not in name})
    _shrink(config)
    for name, value in adapted.items():
        *outer, last = name.split(".")
        setattr(reduce(getattr, outer, config), last, value)
    encoding = (AutoModelForSpeechSeq2Seq, AutoModelForSeq2SeqLM) if config.is_encoder_decoder else ()
    for auto in (*encoding, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoModel):
        if type(config) in auto._model_mapping:
            break
    with torch.device("meta"):
        elements = sum(parameter.numel() for parameter in auto.from_config(copy.deepcopy(config)).parameters())
    if elements > _LARGEST:
        raise ValueError(f"{elements:,} parameters: the names of its fields do not make it small")
    model = auto.from_config(config, attn_implementation="eager").eval()
    return model, (), _inputs(kind, config, model.main_input_name)


def _inputs(kind: str, config: Any, main: str) -> dict[str, Any]:
    ids, size = torch.arange(8).reshape(1, 8) + 3, getattr(getattr(config, "vision_config", config), "image_size", 32)
    image = torch.rand(1, getattr(config, "num_channels", 3), *(size if isinstance(size, tuple | list) else (size, size)))
    if kind == "audio-spectrogram-transformer":
        return {"input_values": torch.rand(1, config.max_length, config.num_mel_bins)}
    sound = torch.rand(1, 1, 2000) if kind == "encodec" else torch.rand(1, 2000)
    features = torch.rand(1, 64, 8) if kind == "speech_to_text" else torch.rand(1, 8, 64)
    every = {"input_ids": ids, "pixel_values": image, "input_features": features, "input_values": sound}
    inputs = {main: every[main]}
    if kind in ("vilt", "blip", "git") or (hasattr(config, "vision_config") and hasattr(config, "text_config")):
        inputs = {"input_ids": ids, "pixel_values": image}
    if config.is_encoder_decoder:
        inputs["decoder_input_ids"] = ids.clone()  # torch.export takes one tensor for one input
    return inputs


def _shrink(config: Any) -> None:
    for name, value in _SMALL.items():
        if isinstance(getattr(config, name, None), int):
            with suppress(AttributeError, NotImplementedError):  # a property that follows from other fields
                setattr(config, name, value)
    for inner in vars(config).values():
        if type(inner).__name__.endswith("Config"):
            _shrink(inner)


def _diffusers() -> Iterator[Entry]:
    if find_spec("diffusers") is None:
        return
    latent, image, text, when = torch.rand(1, 4, 16, 16), torch.rand(1, 3, 16, 16), torch.rand(1, 5, 16), torch.tensor([1])
    around = {"block_out_channels": (8, 16), "layers_per_block": 1, "norm_num_groups": 4, "sample_size": 16}
    crossed = {
        "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"), "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D"),
        "cross_attention_dim": 16, "attention_head_dim": 2,
    }  # fmt: skip
    plain = {
        "down_block_types": ("DownBlock2D", "AttnDownBlock2D"),
        "up_block_types": ("AttnUpBlock2D", "UpBlock2D"),
        "attention_head_dim": 4,
    }
    heads = {"num_attention_heads": 2, "attention_head_dim": 8, "num_layers": 2, "sample_size": 16, "patch_size": 2}
    joint = {"in_channels": 4, "joint_attention_dim": 16, "pooled_projection_dim": 16}
    for name, options, args, kwargs in (
        ("UNet2DConditionModel", around | crossed, (latent, when, text), {}),
        ("UNet2DModel", around | plain, (image, when), {}),
        ("AutoencoderKL", {"block_out_channels": (8,), "norm_num_groups": 4}, (image,), {}),
        ("VQModel", {"block_out_channels": (8,), "norm_num_groups": 4, "num_vq_embeddings": 16}, (image,), {}),
        ("DiTTransformer2DModel", heads | {"num_embeds_ada_norm": 16}, (latent, when, when.clone()), {}),
        (
            "SD3Transformer2DModel", heads | joint | {"caption_projection_dim": 16, "pos_embed_max_size": 16},
            (), {"hidden_states": latent, "encoder_hidden_states": text, "pooled_projections": text[:, 0].clone(), "timestep": when},
        ),
    ):  # fmt: skip
        yield Entry("diffusers", name, partial(_diffuser, name, options, args, kwargs))


def _diffuser(name: str, options: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Example:
    import diffusers

    return getattr(diffusers, name)(**options).eval(), args, kwargs


warnings.filterwarnings("ignore")
