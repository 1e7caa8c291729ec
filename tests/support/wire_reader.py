"""Reads wire bytes back in Python, independently of the viewer, so that tests can say what must be in them."""

from __future__ import annotations

import json
import struct
from typing import Any

_CODES = {"u8": "B", "i8": "b", "u16": "H", "i16": "h", "i32": "i", "f64": "d"}


class WireReader:
    def __init__(self, data: bytes) -> None:
        assert data[:4] == b"OPSW"
        self.version, length, _ = struct.unpack_from("<III", data, 4)
        self.fields: dict[str, Any] = json.loads(data[16 : 16 + length])
        self._data = data
        self._base = 16 + length
        assert self._base % 8 == 0

    def __contains__(self, name: str) -> bool:
        return name in self.fields["sections"]

    def column(self, name: str) -> list[Any]:
        kind, coding, offset, count = self.fields["sections"][name]
        assert offset % 8 == 0
        values: list[Any] = list(struct.unpack_from(f"<{count}{_CODES[kind]}", self._data, self._base + offset))
        if coding == "delta":
            for i in range(1, count):
                values[i] += values[i - 1]
        return values

    def block(self, name: str) -> bytes:
        _, _, offset, count = self.fields["sections"][name]
        return self._data[self._base + offset : self._base + offset + count]

    def rows(self, name: str) -> list[list[int]]:
        values = self.column(f"{name}.value")
        back = self.fields["sections"][f"{name}.value"][1] == "back"
        rows = self._cut(name, values)
        return [[i - value for value in row] for i, row in enumerate(rows)] if back else rows

    def extras(self, name: str) -> list[list[int]]:
        return self._cut(name, self.column(f"{name}.extra")) if f"{name}.extra" in self else self.rows(name)

    def strings(self, name: str) -> list[str]:
        blob, at, texts = self.block(name), 0, []
        for length in self.column(f"{name}.rows"):
            texts.append(blob[at : at + length].decode())
            at += length
        return texts

    def _cut(self, name: str, values: list[int]) -> list[list[int]]:
        at, rows = 0, []
        for length in self.column(f"{name}.rows"):
            rows.append(values[at : at + length])
            at += length
        return rows


def read_details(data: bytes) -> list[dict[str, Any]]:
    """Attributes and source frames, node by node."""
    wire = WireReader(data)
    keys, texts = wire.strings("keys"), wire.strings("texts")
    sets, stacks, values = wire.rows("sets"), wire.rows("stacks"), iter(wire.column("values"))
    files, functions, lines = (wire.column(f"frames.{name}") for name in ("file", "function", "line"))
    details = []
    for keys_of, stack in zip(wire.column("setOf"), wire.column("stackOf"), strict=True):
        attrs = {keys[key]: json.loads(texts[next(values)]) for key in sets[keys_of]}
        source = [(keys[files[frame]], lines[frame], keys[functions[frame]]) for frame in stacks[stack]]
        details.append({"attrs": attrs, "source": source})
    return details
