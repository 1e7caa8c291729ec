"""Dispatch modes that see operators of higher order, such as torch.cond, and the mode in which gradients are recorded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any


@contextmanager
def entered(mode: Any) -> Iterator[None]:
    """Enter a mode. Where torch does not ask it about operators of higher order (2.6), rules do, as long as the mode is entered."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    asks = hasattr(TorchDispatchMode, "supports_higher_order_operators")
    operators = [] if asks else [*torch._ops._higher_order_ops.values()]
    for operator in operators:
        operator.python_key_table[type(mode)] = partial(_asked, operator)
    try:
        with mode:
            yield
    finally:
        for operator in operators:
            del operator.python_key_table[type(mode)]


def _asked(operator: Any, mode: Any, *args: Any, **kwargs: Any) -> Any:
    return mode.__torch_dispatch__(operator, (), args, kwargs)


@contextmanager
def gradients_on() -> Iterator[None]:
    """Gradients are recorded, whatever the caller has set: what is shown is what training runs."""
    import torch

    with torch.inference_mode(False), torch.enable_grad():
        yield
