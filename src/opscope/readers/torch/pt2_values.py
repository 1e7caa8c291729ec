"""Types and arguments in `.pt2` files (the schema of torch.export's serializer, versions 5 to 8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opscope.program import TensorType
from opscope.readers.torch.symbols import symbol_text
from opscope.readers.torch.values import layout_text

DTYPES = {
    1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32", 8: "float64",
    9: "complex32", 10: "complex64", 11: "complex128", 12: "bool", 13: "bfloat16", 28: "uint16",
    29: "float8_e4m3fn", 30: "float8_e5m2", 31: "float8_e4m3fnuz", 32: "float8_e5m2fnuz", 33: "float8_e8m0fnu",
    34: "uint32", 35: "uint64",
}  # fmt: skip
LAYOUTS = {1: "sparse_coo", 2: "sparse_csr", 3: "sparse_csc", 4: "sparse_bsr", 5: "sparse_bsc", 6: "_mkldnn", 7: "strided"}
MEMORY_FORMATS = {1: "contiguous_format", 2: "channels_last", 3: "channels_last_3d", 4: "preserve_format"}

STRIDED = 7

Json = Mapping[str, Any]


def size(value: Json) -> int | str:
    """One size or stride: a number or an expression."""
    number = value.get("as_int")
    if number is not None:
        return int(number)
    return symbol_text(value["as_expr"]["expr_str"])


def tensor_type(meta: Json) -> TensorType:
    """An entry of `tensor_values`."""
    shape = tuple([size(value) for value in meta["sizes"]])
    if meta["layout"] != STRIDED:
        layout = LAYOUTS.get(meta["layout"], "")
    else:
        layout = layout_text(shape, tuple([size(value) for value in meta["strides"]]))
    return TensorType(DTYPES.get(meta["dtype"], "unknown"), shape, layout)


def symbol_type(kind: str, symbol: Json) -> TensorType:
    """An entry of `sym_int_values` and its siblings."""
    expression = symbol.get("as_expr")
    value = symbol_text(expression["expr_str"]) if expression else next(iter(symbol.values()))
    return TensorType(f"({kind} {value})")


def device_text(device: Json) -> str:
    return device["type"] if device.get("index") is None else f"{device['type']}:{device['index']}"


def variant(union: Json) -> tuple[str, Any]:
    """The one set field of a union."""
    for key, value in union.items():
        if value is not None:
            return key, value
    return "as_none", True


_NAMED_VALUES = {"as_sym_int": "as_int", "as_sym_float": "as_float", "as_sym_bool": "as_bool"}
"""Unions of a name and a number, with the number's field."""


class Argument:
    """One argument of a node, split into the names and graphs it refers to and plain data."""

    __slots__ = ("graphs", "names", "only_names", "plain")

    def __init__(self, argument: Json) -> None:
        self.names: list[str] = []
        self.graphs: list[tuple[str, Json]] = []
        kind, value = variant(argument)
        self.plain = self._take(kind, value)
        listed = kind in ("as_tensors", "as_optional_tensors")
        self.only_names = bool(self.names) and (isinstance(self.plain, str) or (listed and len(self.names) == len(self.plain)))

    def _name(self, name: str) -> str:
        self.names.append(name)
        return f"%{name}"

    def _take(self, kind: str, value: Any) -> Any:
        if kind == "as_tensor" or kind == "as_custom_obj" or kind == "as_token":
            return self._name(value["name"])
        if kind == "as_tensors":
            return [self._name(item["name"]) for item in value]
        if kind == "as_nested_tensors":
            return [[self._name(item["name"]) for item in items] for items in value]
        if kind in _NAMED_VALUES:
            return self._symbol(value)
        if kind in ("as_sym_ints", "as_sym_floats", "as_sym_bools"):
            return [self._symbol(item) for item in value]
        if kind in ("as_optional_tensor", "as_optional_tensors"):
            items = [self._optional(item) for item in (value if isinstance(value, list) else [value])]
            return items if isinstance(value, list) else items[0]
        if kind == "as_graph":
            self.graphs.append((value["name"], value["graph"]))
            return f"%{value['name']}"
        return constant(kind, value)

    def _symbol(self, value: Json) -> Any:
        kind, held = variant(value)
        return self._name(held) if kind == "as_name" else held

    def _optional(self, value: Json) -> Any:
        kind, held = variant(value)
        return self._name(held["name"]) if kind == "as_tensor" else None


def constant(kind: str, value: Any) -> Any:
    """An argument without references. Fields added by later schemas stay as they are."""
    if kind == "as_none":
        return None
    if kind == "as_scalar_type":
        return DTYPES.get(value, str(value))
    if kind == "as_memory_format":
        return MEMORY_FORMATS.get(value, str(value))
    if kind == "as_layout":
        return LAYOUTS.get(value, str(value))
    if kind == "as_device":
        return device_text(value)
    if kind == "as_complex":
        return str(complex(value["real"], value["imag"]))
    return value
