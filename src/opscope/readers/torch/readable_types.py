"""The types in torch's readable graphs: `"f32[64, 32][32, 1]cpu"`, `"Sym(s77)"`."""

from __future__ import annotations

import re
from functools import lru_cache

from opscope.program import TensorType, dimension
from opscope.readers.torch.values import layout_text

_DTYPES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "c32": "complex32", "c64": "complex64",
    "c128": "complex128", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16",
    "u32": "uint32", "u64": "uint64", "b8": "bool", "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
    "f8e4m3fnuz": "float8_e4m3fnuz", "f8e5m2fnuz": "float8_e5m2fnuz", "f8e8m0fnu": "float8_e8m0fnu",
}  # fmt: skip
_TENSOR = re.compile(r"(?P<dtype>[a-z]\w*)\[(?P<shape>[^\]]*)\](?:\[(?P<strides>[^\]]*)\])?(?P<device>[a-z]+(?::\d+)?)?(?P<rest>.*)")


@lru_cache(maxsize=4096)
def type_of(text: str) -> tuple[TensorType, str]:
    """The type, and the device unless it is the CPU."""
    match = _TENSOR.fullmatch(text)
    if match is None:
        symbol = re.fullmatch(r"Sym\((.*)\)", text)
        return TensorType(f"(SymInt {symbol[1]})" if symbol else f"({text})"), ""
    shape, strides = _sizes(match["shape"]), _sizes(match["strides"] or "")
    layout = layout_text(shape, strides) if len(strides) == len(shape) else ""
    device = match["device"] or ""
    return TensorType(_DTYPES.get(match["dtype"], match["dtype"]), shape, layout), "" if device == "cpu" else device


def _sizes(text: str) -> tuple[int | str, ...]:
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    return tuple([dimension(part) for part in parts])
