"""Inputs for a JAX module, made from what the user specifies: arrays, or sizes, which become shapes without data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opscope.errors import OpscopeError

Inputs = tuple[tuple[Any, ...], dict[str, Any]]


def abstract_inputs(input_size: Any, input_data: Any, dtypes: Any) -> Inputs:
    """Arguments and keywords."""
    if input_size is not None and input_data is not None:
        raise OpscopeError("pass input_size or input_data, not both")
    if input_data is not None:
        if isinstance(input_data, Mapping):
            return (), dict(input_data)
        return (tuple(input_data) if isinstance(input_data, tuple | list) else (input_data,)), {}
    if input_size is None:
        return (), {}
    if isinstance(input_size, Mapping):
        kinds = dtypes if isinstance(dtypes, Mapping) else dict.fromkeys(input_size, dtypes)
        return (), {name: _shape(size, kinds.get(name)) for name, size in input_size.items()}
    sizes = [input_size] if all(isinstance(number, int) for number in input_size) else list(input_size)
    chosen = list(dtypes) if isinstance(dtypes, tuple | list) else [dtypes] * len(sizes)
    if len(chosen) != len(sizes):
        raise OpscopeError(f"{len(sizes)} input sizes but {len(chosen)} dtypes; pass one dtype per size")
    return tuple(_shape(size, kind) for size, kind in zip(sizes, chosen, strict=True)), {}


def _shape(size: Any, dtype: Any) -> Any:
    import jax

    return jax.ShapeDtypeStruct(tuple(size), dtype or "float32")
