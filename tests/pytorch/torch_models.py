"""Small random models for the tests: real architectures, tiny sizes, nothing downloaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

IDS = torch.arange(6).reshape(1, 6) % 16
IMAGE = torch.zeros(1, 3, 32, 32)

Example = tuple[nn.Module, tuple[Any, ...], dict[str, Any]]


def _eval(model: Any) -> Any:
    model.config.use_cache = False
    return model.eval()


def bert() -> Example:
    from transformers import BertConfig, BertModel

    config = BertConfig(vocab_size=32, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
    return _eval(BertModel(config)), (), {"input_ids": IDS}


def gpt2(layers: int = 2) -> Example:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=32, n_embd=16, n_layer=layers, n_head=2, n_positions=16)
    return _eval(GPT2LMHeadModel(config)), (), {"input_ids": IDS}


def llama() -> Example:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=32, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1
    )
    return _eval(LlamaForCausalLM(config)), (), {"input_ids": IDS}


def vit() -> Example:
    from transformers import ViTConfig, ViTModel

    config = ViTConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, image_size=32, patch_size=16)
    return _eval(ViTModel(config)), (), {"pixel_values": IMAGE}


def segformer() -> Example:
    from transformers import SegformerConfig, SegformerForSemanticSegmentation

    config = SegformerConfig(
        num_encoder_blocks=2, depths=[1, 1], sr_ratios=[2, 1], hidden_sizes=[8, 16], patch_sizes=[7, 3], strides=[4, 2],
        num_attention_heads=[1, 2], mlp_ratios=[2, 2], decoder_hidden_size=16, num_labels=4,
    )  # fmt: skip
    return _eval(SegformerForSemanticSegmentation(config)), (), {"pixel_values": IMAGE}


def resnet() -> Example:
    from transformers import ResNetConfig, ResNetModel

    config = ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 2], layer_type="basic")
    return _eval(ResNetModel(config)), (), {"pixel_values": IMAGE}


def t5() -> Example:
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(vocab_size=32, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2)
    return _eval(T5ForConditionalGeneration(config)), (), {"input_ids": IDS, "decoder_input_ids": IDS, "use_cache": False}


def whisper() -> Example:
    from transformers import WhisperConfig, WhisperModel

    config = WhisperConfig(
        vocab_size=64, num_mel_bins=8, d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_source_positions=16, max_target_positions=16,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
    )  # fmt: skip
    return _eval(WhisperModel(config)), (), {"input_features": torch.zeros(1, 8, 32), "decoder_input_ids": IDS}


def mixtral() -> Example:
    from transformers import MixtralConfig, MixtralForCausalLM

    config = MixtralConfig(
        vocab_size=32, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
        num_local_experts=2,
    )  # fmt: skip
    return _eval(MixtralForCausalLM(config)), (), {"input_ids": IDS}


def mamba() -> Example:
    from transformers import MambaConfig, MambaForCausalLM

    config = MambaConfig(vocab_size=32, hidden_size=16, state_size=4, num_hidden_layers=2)
    return _eval(MambaForCausalLM(config)), (), {"input_ids": IDS}


ARCHITECTURES: dict[str, Callable[[], Example]] = {
    "BERT": bert, "GPT-2": gpt2, "Llama": llama, "ViT": vit, "ResNet": resnet, "T5": t5, "Whisper": whisper, "Mixtral": mixtral,
    "Mamba": mamba,
}  # fmt: skip


class Block(nn.Module):
    """A module that is called twice below and has a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(2)])
        self.register_buffer("shift", torch.ones(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x + self.shift


class Varied(nn.Module):
    """Everything that a graph can contain, in one small module: reuse, ties, buffers, constants, branches, loops, tuples, symbols."""

    def __init__(self) -> None:
        super().__init__()
        self.block = Block()
        self.head = nn.Linear(8, 4)
        self.tied = nn.Linear(8, 4)
        self.tied.weight = self.head.weight
        self.scale = torch.full((1, 8), 2.0)

    def forward(self, x: torch.Tensor, extra: dict[str, torch.Tensor]) -> dict[str, Any]:
        y = self.block(self.block(x)) * self.scale
        left, _ = torch.split(y, 4, dim=-1)
        values, _ = torch.topk(y, 2, dim=-1)
        z = torch.cond(y.sum() > 0, lambda t: t.sin(), lambda t: t.cos(), (y,))
        _, z = torch.ops.higher_order.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t * 2), (torch.tensor(0), z), ())
        both = self.head(z) + self.tied(z)
        return {"both": both, "parts": [left, values], "wide": y.view(y.shape[0], 2, 4), "sum": extra["k"] + 1.5, "n": y.shape[0]}


VARIED_INPUTS = (torch.ones(3, 8), {"k": torch.ones(2)})


def varied() -> torch.export.ExportedProgram:
    shapes = ({0: torch.export.Dim("batch")}, {"k": None})
    try:
        return torch.export.export(Varied(), VARIED_INPUTS, dynamic_shapes=shapes, strict=False)
    except RuntimeError as error:  # torch 2.6
        if "requires_grad" in str(error):
            pytest.skip("the while_loop of this torch does not carry tensors that need gradients")
        raise
