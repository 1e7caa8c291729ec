"""Inputs for a module from what a person says about them: sizes, tensors, or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opscope.errors import OpscopeError

Inputs = tuple[tuple[Any, ...] | None, dict[str, Any]]


class UnsuitableInput(OpscopeError):
    """Sizes or data that cannot be inputs."""


def make_inputs(module: Any, input_size: Any, input_data: Any, dtypes: Any, device: Any, kwargs: dict[str, Any]) -> Inputs:
    """Arguments and keywords; None for arguments where there is nothing to call the module with."""
    if input_size is not None and input_data is not None:
        raise UnsuitableInput("give input_size or input_data, not both")
    if input_data is not None:
        return _of_data(module, input_data, device, kwargs)
    if input_size is None:
        return (() if kwargs else None), kwargs
    where = device if device is not None else _device_of(module)
    if isinstance(input_size, Mapping):
        kinds = dtypes if isinstance(dtypes, Mapping) else dict.fromkeys(input_size, _first(dtypes))
        named = {name: _tensor(module, size, kinds.get(name), where) for name, size in input_size.items()}
        return (), {**named, **kwargs}
    if not isinstance(input_size, list | tuple):
        raise UnsuitableInput(f"{input_size!r} is no size: a size is whole numbers with the batch first, such as (1, 3, 224, 224)")
    sizes = [input_size] if all(isinstance(number, int) for number in input_size) else list(input_size)
    chosen = list(dtypes) if isinstance(dtypes, list | tuple) else [dtypes] * len(sizes)
    if len(chosen) != len(sizes):
        raise UnsuitableInput(f"{len(sizes)} input sizes, but {len(chosen)} dtypes; give one for each")
    return tuple(_tensor(module, size, kind, where) for size, kind in zip(sizes, chosen, strict=True)), kwargs


def _of_data(module: Any, data: Any, device: Any, kwargs: dict[str, Any]) -> Inputs:
    moved = _moved(data, device) if device is not None else data
    if isinstance(moved, Mapping) and not _takes_one_mapping(module):
        return (), {**moved, **kwargs}
    return (tuple(moved) if isinstance(moved, tuple | list) else (moved,)), kwargs


def _takes_one_mapping(module: Any) -> bool:
    """Whether a dict is the module's one argument rather than its keywords, as far as its annotation says."""
    import inspect

    try:
        parameters = list(inspect.signature(module.forward).parameters.values())
    except (TypeError, ValueError):
        return False
    required = [p for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    return len(required) == 1 and "dict" in str(required[0].annotation).lower()


def _moved(data: Any, device: Any) -> Any:
    from torch.utils._pytree import tree_map

    return tree_map(lambda item: item.to(device) if hasattr(item, "to") else item, data)


def _first(dtypes: Any) -> Any:
    return dtypes[0] if isinstance(dtypes, list | tuple) and dtypes else dtypes


def _device_of(module: Any) -> Any:
    tensor = next(iter([*module.parameters(), *module.buffers()]), None)
    return tensor.device if tensor is not None else "cpu"


def _dtype_of(module: Any) -> Any:
    """The module's own floating-point type: a model in half precision takes half precision."""
    import torch

    found = next((parameter.dtype for parameter in module.parameters() if parameter.is_floating_point()), None)
    return found or torch.get_default_dtype()


def _tensor(module: Any, size: Any, dtype: Any, device: Any) -> Any:
    """Random numbers; zeros for integers, which are indices more often than not."""
    import torch

    if not all(isinstance(number, int) and number >= 0 for number in size):
        raise UnsuitableInput(f"{size!r} is no size: a size is whole numbers with the batch first, such as (1, 3, 224, 224)")
    kind = dtype or _dtype_of(module)
    if not (kind.is_floating_point or kind.is_complex):
        return torch.zeros(*size, dtype=kind, device=device)
    generator = None if str(device) == "meta" else torch.Generator(device=device).manual_seed(0)
    return torch.randn(*size, dtype=kind, device=device, generator=generator)
