"""Live torch values as the model's types and attributes. Torch is not imported here: the values themselves are enough."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opscope.ellipsis import ellipsize
from opscope.program import TensorType
from opscope.program import dimension as written_dimension

LONGEST_TEXT = 4000
DEEPEST = 24
"""Anything nested deeper than this is not a realistic operator argument; it becomes text."""


def dimension(size: Any) -> int | str:
    """A size as a number if it is one, otherwise as torch prints the symbol ("s77", "2*s77 + 1")."""
    if isinstance(size, int):
        return int(size)
    fixed = getattr(getattr(size, "node", None), "maybe_as_int", lambda: None)()
    return int(fixed) if fixed is not None else written_dimension(str(size))


def contiguous(shape: tuple[int | str, ...], strides: tuple[int | str, ...]) -> bool:
    """Whether strides are plain row-major. Symbolic sizes cannot be multiplied here, so they count as contiguous."""
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if not isinstance(size, int) or not isinstance(stride, int):
            return True
        if size != 1 and stride != expected:
            return False
        expected *= max(size, 1)
    return True


def layout_text(shape: tuple[int | str, ...], strides: tuple[int | str, ...]) -> str:
    """Empty for row-major tensors, otherwise the strides, which matter to the next kernel."""
    return "" if contiguous(shape, strides) else f"strides({', '.join(map(str, strides))})"


def is_tensor(value: Any) -> bool:
    """Whether this is a tensor, or fx's description of one. Checks only the class: nested tensors raise on `.shape`."""
    kind = type(value)
    return hasattr(kind, "dtype") and hasattr(kind, "shape")


def sizes(value: Any) -> tuple[int | str, ...]:
    try:
        return tuple(dimension(size) for size in value.shape)
    except RuntimeError:  # nested tensors have no shape
        return ("?",)


def storage_key(tensor: Any) -> Any:
    """The same for a tensor and its views."""
    try:
        return tensor.untyped_storage()._cdata
    except (AttributeError, RuntimeError, NotImplementedError, ValueError):
        return ("object", id(tensor))


def dense_parts(tensor: Any) -> tuple[Any, ...]:
    """What has storage in a tensor: itself, or the indices and values of a sparse one."""
    layout = str(tensor.layout).removeprefix("torch.")
    if layout == "sparse_coo":
        return tensor._indices(), tensor._values()
    if layout in ("sparse_csr", "sparse_bsr"):
        return tensor.crow_indices(), tensor.col_indices(), tensor.values()
    if layout in ("sparse_csc", "sparse_bsc"):
        return tensor.ccol_indices(), tensor.row_indices(), tensor.values()
    return (tensor,)


def tensor_type(value: Any, depth: int = 0) -> TensorType:
    """The type of one value: a tensor, a symbol, a Python number, or something else by the name of its class."""
    if is_tensor(value):
        shape = sizes(value)
        return TensorType(str(value.dtype).removeprefix("torch."), shape, _layout(value, shape))
    if value is None:
        return TensorType("(None)")
    kind = type(value).__name__
    if kind in ("SymInt", "SymFloat", "SymBool"):
        return TensorType(f"({kind} {value})")
    if isinstance(value, tuple | list) and depth < DEEPEST:
        return TensorType(f"({', '.join(str(tensor_type(item, depth + 1)) for item in value)})")
    return TensorType(f"({kind})")


def _layout(value: Any, shape: tuple[int | str, ...]) -> str:
    layout = str(getattr(value, "layout", "torch.strided")).removeprefix("torch.")
    if layout != "strided":
        return layout
    try:
        strides = tuple(dimension(stride) for stride in value.stride())
    except (AttributeError, RuntimeError, TypeError):  # nested and other exotic tensors have no strides; TensorMetadata has no method
        return ""
    return layout_text(shape, strides)


def output_types(value: Any) -> tuple[TensorType, ...]:
    """The output types of a node, from the value that it computes: a tuple has several outputs."""
    if isinstance(value, tuple | list) and not is_tensor(value):
        return tuple(tensor_type(item) for item in value)
    return (tensor_type(value),)


def is_constant(value: Any) -> bool:
    """Whether a result of a program is not computed by it."""
    return value is None or isinstance(value, bool | int | float | complex | str)


def constant_attrs(value: Any) -> dict[str, Any]:
    return {"value": "None" if value is None else plain(value)}


def plain(value: Any, depth: int = 0) -> Any:
    """A value as JSON. What has no JSON form becomes text, so that nothing is lost."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float):
        return value if value == value and abs(value) != float("inf") else str(value)
    if isinstance(value, list | tuple) and depth < DEEPEST:
        return [plain(item, depth + 1) for item in value]
    if isinstance(value, Mapping) and depth < DEEPEST:
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    if is_tensor(value):
        return str(tensor_type(value))
    text = str(getattr(value, "__qualname__", None) or value).removeprefix("torch.")  # functions without their address
    return ellipsize(text, LONGEST_TEXT)
