"""Dispatch modes that see operators of higher order, such as torch.cond."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def entered(mode: Any) -> Iterator[None]:
    """Enter a mode. Where torch does not ask it about torch.cond (2.6), a rule does, as long as the mode is entered."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    cond, kind = torch.ops.higher_order.cond, type(mode)
    asks = hasattr(TorchDispatchMode, "supports_higher_order_operators")
    if not asks:
        cond.python_key_table[kind] = lambda mode, *args, **kwargs: mode.__torch_dispatch__(cond, (), args, kwargs)
    try:
        with mode:
            yield
    finally:
        if not asks:
            del cond.python_key_table[kind]
