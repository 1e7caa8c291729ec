"""Sources of random numbers that an object keeps for itself: generators of torch, Python and NumPy."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from functools import partial
from typing import Any


def random_sources() -> tuple[type, ...]:
    """The classes of generators that can be put back."""
    import torch

    numpy_random = getattr(sys.modules.get("numpy"), "random", None)
    of_numpy = (numpy_random.Generator, numpy_random.RandomState, numpy_random.BitGenerator) if numpy_random else ()
    return (torch.Generator, random.Random, *of_numpy)


def rewind(source: Any) -> Callable[[], Any] | None:
    """What puts a generator back to where it is now; None if it has no state of its own, as that of the system has not."""
    import torch

    try:
        if isinstance(source, torch.Generator):
            return partial(source.set_state, source.get_state())
        if isinstance(source, random.Random):
            return partial(source.setstate, source.getstate())
    except (RuntimeError, NotImplementedError):
        return None
    if hasattr(source, "get_state"):  # NumPy's older kind, which keeps half of a pair of numbers besides its bits
        return partial(source.set_state, source.get_state(legacy=False))
    bits = getattr(source, "bit_generator", source)
    return partial(setattr, bits, "state", bits.state)
