"""The five programs of torchviz's documentation: each returns the tensor and the names of its parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

Made = tuple[Any, dict[str, torch.Tensor]]


def critic() -> Made:
    model = nn.Sequential(nn.Linear(4, 2, bias=False), nn.Tanh(), nn.Linear(2, 1))
    return model(torch.rand(100, 4)).squeeze(), dict(model.named_parameters())


def fan_out() -> Made:
    x = torch.rand(100, 5, requires_grad=True)
    h = x * 2 + 1
    return h.softmax(dim=-1) + h * 3, {"x": x}


def detach() -> Made:
    x = torch.rand(100, 5, requires_grad=True)
    h = x * 2 + 1
    return h.softmax(dim=-1) + (h * 3).detach(), {"x": x}


def categorical() -> Made:
    policy = nn.Sequential(nn.Linear(4, 2, bias=False), nn.Softmax(dim=-1))
    return torch.distributions.Categorical(policy(torch.rand(100, 4))).sample(), dict(policy.named_parameters())


def gumbel() -> Made:
    policy = nn.Sequential(nn.Linear(4, 2, bias=False), nn.Softmax(dim=-1))
    logits = policy(torch.rand(100, 4)).log()
    return F.gumbel_softmax(logits, tau=0.5, hard=True), dict(policy.named_parameters())


PROGRAMS: dict[str, Callable[[], Made]] = {
    "ex1_critic": critic,
    "ex2_fanout": fan_out,
    "ex3_detach": detach,
    "ex4_categorical": categorical,
    "ex5_gumbel": gumbel,
}
