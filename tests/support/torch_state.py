"""Everything that looking at a model could change: in the model, and in the process."""

from __future__ import annotations

import logging
import random
import warnings
from collections import deque
from typing import Any

import numpy as np
import torch
from torch import nn


def state_of(model: nn.Module) -> dict[int, Any]:
    """Each module's class, and the contents of each of its containers, in order: keys, and the identity of everything else."""
    state: dict[int, Any] = {}
    waiting: list[Any] = [model]
    while waiting:
        item = waiting.pop()
        if id(item) in state:
            continue
        if isinstance(item, nn.Module):
            state[id(item)] = type(item)
            waiting.append(vars(item))
        elif isinstance(item, dict):
            state[id(item)] = [(key, id(value)) for key, value in item.items()]
            waiting.extend(item.values())
        elif isinstance(item, list | tuple | deque | set):
            inner = [id(value) for value in item]
            state[id(item)] = set(inner) if isinstance(item, set) else inner
            waiting.extend(item)
    return state


def tensors_of(model: nn.Module) -> list[Any]:
    """The bits of buffers, and of each parameter its gradient and how often it was written to."""
    buffers = [(name, buffer.detach().clone()) for name, buffer in model.named_buffers()]
    return [*((p.requires_grad, p.grad, p._version) for p in model.parameters()), *((name, _bits(buffer)) for name, buffer in buffers)]


def _bits(tensor: torch.Tensor) -> Any:
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def registries() -> list[dict[Any, Any]]:
    from torch.fx import _pytree as fx_pytree
    from torch.utils import _pytree as pytree

    of_pytree = (pytree.SUPPORTED_NODES, pytree.SUPPORTED_SERIALIZED_TYPES, pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE)
    return [dict(each) for each in (*of_pytree, fx_pytree.SUPPORTED_NODES, fx_pytree.SUPPORTED_NODES_EXACT_MATCH)]


def world() -> dict[str, Any]:
    """What belongs to the process, not to a model."""
    of_numpy: Any = np.random.get_state()
    return {
        "random numbers": (torch.get_rng_state().numpy().tobytes(), random.getstate(), of_numpy[1].tobytes(), of_numpy[2:]),
        "gradients": (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_anomaly_enabled()),
        "numbers": (torch.get_default_dtype(), torch.get_float32_matmul_precision(), torch.is_autocast_enabled("cpu")),
        "kernels": (torch.are_deterministic_algorithms_enabled(), torch.backends.mha.get_fastpath_enabled(), torch.get_num_threads()),
        "hooks": (len(nn.modules.module._global_forward_hooks), len(nn.modules.module._global_forward_pre_hooks)),
        "messages": (logging.root.manager.disable, warnings.filters[:]),
        "pytrees": registries(),
    }


def differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    return [name for name in before if before[name] != now[name]]
