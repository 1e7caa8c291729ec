"""What a device can do at best: its peak rates and its memory bandwidth. `devices.json` has some; others come from a file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from opscope.ellipsis import ellipsize
from opscope.errors import OpscopeError, in_source
from opscope.json_text import parsed_json
from opscope.naming import suggest
from opscope.readers.source import Source

_KEYS = ("title", "bandwidth", "vector", "products", "source")


@dataclass(frozen=True)
class Device:
    """Rates per second. `products` has the FLOPs of products by the type of their operands, `vector` those of everything else."""

    name: str
    title: str
    bandwidth: float
    products: Mapping[str, float] = field(default_factory=dict)
    vector: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """As in `devices.json`."""
        rates: dict[str, Any] = {"title": self.title, "bandwidth": self.bandwidth, "products": dict(self.products)}
        return rates if self.vector is None else {**rates, "vector": self.vector}

    def product_rate(self, dtype: str, is_xla: bool) -> float | None:
        """The rate of products of this type. XLA computes those of 32-bit numbers with TF32 if the device has it."""
        name = _short(dtype)
        names = ["tf32", name] if is_xla and name == "f32" else [name]
        return next((self.products[each] for each in names if each in self.products), self.vector)


@cache
def _short(dtype: str) -> str:
    """The name of a type in `products`, which are XLA's: PyTorch and others write `bfloat16` and `int8`; all types of 8 bits are `f8`."""
    name = re.sub(r"^(b?)float(?=\d)", r"\1f", dtype)
    return "f8" if name.startswith("f8") else re.sub(r"^int(?=\d)", "s", name)


def device_names() -> list[str]:
    return list(_table())


def device_of(name: str) -> Device:
    """A device by its name, or from a JSON file with the same keys as a row of `devices.json`."""
    rows = _table()
    if name.lower() in rows:
        return device_from(name.lower(), rows[name.lower()])
    if not name.endswith(".json"):
        raise OpscopeError(f"{name!r} is not a known device, nor a JSON file of one{suggest(name, list(rows))}")
    with in_source(name):
        row = parsed_json(Source(name).read_text())
    return device_from(Path(name).stem, row, f"{name}: ")


def device_from(name: str, row: Any, where: str = "") -> Device:
    """A device from JSON, checked."""
    if not isinstance(row, dict):
        raise OpscopeError(
            f'{where}a device is an object such as {{"bandwidth": 4.8e12, "vector": 6.7e13, "products": {{"bf16": 9.9e14}}}}'
        )
    unknown = [key for key in row if key not in _KEYS]
    if unknown:
        raise OpscopeError(f"{where}a device has no {unknown[0]!r}{suggest(unknown[0], _KEYS)}")
    products = row.get("products", {})
    if not isinstance(products, dict):
        raise OpscopeError(f'{where}"products" must be an object of rates by type, such as {{"bf16": 9.9e14}}')
    rates = {key: _rate(value, f"{where}products.{key}") for key, value in products.items()}
    vector = _rate(row["vector"], f"{where}vector") if "vector" in row else None
    return Device(name, str(row.get("title", name)), _rate(row.get("bandwidth"), f"{where}bandwidth"), rates, vector)


def _rate(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e30:
        raise OpscopeError(f"{where} must be a positive number per second, not {ellipsize(repr(value), 60)}")
    return float(value)


@cache
def _table() -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = json.loads(files("opscope.analysis").joinpath("devices.json").read_text(encoding="utf-8"))
    return rows
