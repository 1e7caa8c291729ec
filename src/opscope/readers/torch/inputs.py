"""Inputs for a module, made from what the user specifies: sizes, tensors, or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opscope.errors import OpscopeError

Inputs = tuple[tuple[Any, ...] | None, dict[str, Any]]


class UnsuitableInput(OpscopeError):
    """Sizes or data that cannot be inputs."""


def make_inputs(module: Any, input_size: Any, input_data: Any, dtypes: Any, device: Any, kwargs: dict[str, Any]) -> Inputs:
    """Arguments and keywords. The arguments are None if there is nothing to call the module with."""
    if input_size is not None and input_data is not None:
        raise UnsuitableInput("pass input_size or input_data, not both")
    if input_data is not None:
        return _of_data(module, input_data, device, kwargs)
    if input_size is None:
        return (() if kwargs else None), kwargs
    where = device if device is not None else _device_of(module)
    if isinstance(input_size, Mapping):
        kinds = dtypes if isinstance(dtypes, Mapping) else dict.fromkeys(input_size, _first(dtypes))
        tensors = {name: _tensor(module, size, kinds.get(name), where) for name, size in input_size.items()}
        return (), {**tensors, **kwargs}
    if not isinstance(input_size, list | tuple):
        raise UnsuitableInput(f"{input_size!r} is not a size; expected integers with the batch first, such as (1, 3, 224, 224)")
    sizes = [input_size] if all(isinstance(number, int) for number in input_size) else list(input_size)
    chosen = list(dtypes) if isinstance(dtypes, list | tuple) else [dtypes] * len(sizes)
    if len(chosen) != len(sizes):
        raise UnsuitableInput(f"{len(sizes)} input sizes but {len(chosen)} dtypes; pass one dtype per size")
    return tuple(_tensor(module, size, kind, where) for size, kind in zip(sizes, chosen, strict=True)), kwargs


def _of_data(module: Any, data: Any, device: Any, kwargs: dict[str, Any]) -> Inputs:
    moved = _moved(data, device) if device is not None else data
    if isinstance(moved, Mapping) and not _takes_one_mapping(module):
        return (), {**moved, **kwargs}
    return (tuple(moved) if isinstance(moved, tuple | list) else (moved,)), kwargs


def _takes_one_mapping(module: Any) -> bool:
    """Whether a dict is the module's only argument rather than its keywords, judging by the annotation."""
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
    """The floating-point type of the module's parameters: a model in half precision takes half precision."""
    import torch

    dtype = next((parameter.dtype for parameter in module.parameters() if parameter.is_floating_point()), None)
    return dtype or torch.get_default_dtype()


def _tensor(module: Any, size: Any, dtype: Any, device: Any) -> Any:
    """Random numbers, or zeros for integer types, which are usually indices."""
    import torch

    if not all(isinstance(number, int) and number >= 0 for number in size):
        raise UnsuitableInput(f"{size!r} is not a size; expected integers with the batch first, such as (1, 3, 224, 224)")
    kind = dtype or _dtype_of(module)
    if not (kind.is_floating_point or kind.is_complex):
        return torch.zeros(*size, dtype=kind, device=device)
    generator = None if str(device) == "meta" else torch.Generator(device=device).manual_seed(0)
    return torch.randn(*size, dtype=kind, device=device, generator=generator)
