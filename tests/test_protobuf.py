"""The wire format: what is read, and that damaged bytes give one sentence."""

from __future__ import annotations

import random
import struct

import pytest

from opscope.errors import SourceError
from opscope.protobuf.wire import Schema

SCHEMA = Schema("""
message Tree { string name = 1; repeated Tree children = 2; repeated int64 numbers = 3; double weight = 4; bytes blob = 5; bool flag = 6;
  repeated float floats = 7; int64 number = 15; uint64 large = 16; }
""")


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    encoded = b""
    while value > 127:
        encoded += bytes([value & 127 | 128])
        value >>= 7
    return encoded + bytes([value])


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def number(at: int, value: int) -> bytes:
    return varint(at << 3) + varint(value)


def test_every_kind_of_field() -> None:
    data = b"".join(
        [
            field(1, "größe".encode()), field(2, field(1, b"leaf")), field(2, b""), number(3, 7), field(3, varint(300) + varint(-1)),
            varint(4 << 3 | 1) + struct.pack("<d", 1.5), field(5, b"\0\xff"), number(6, 1), field(7, struct.pack("<2f", 0.5, -2)),
            varint(7 << 3 | 5) + struct.pack("<f", 4), number(15, -3), number(16, (1 << 64) - 1), field(99, b"unknown"), number(98, 1),
        ]
    )  # fmt: skip
    assert SCHEMA.decode("Tree", data) == {
        "name": "größe", "children": [{"name": "leaf"}, {}], "numbers": [7, 300, -1], "weight": 1.5, "blob": b"\0\xff", "flag": True,
        "floats": [0.5, -2.0, 4.0], "number": -3, "large": (1 << 64) - 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x0a\x05abc", "ends in the middle of a field"),
        (b"\x0a", "ends in the middle of a field"),
        (b"\x78" + b"\xff" * 11, "more than 10 bytes"),
        (b"\x4b", "cannot be"),
        (b"\x00\x01", "cannot be"),
        (b"\x08\x01", "a name in Tree that is not a string"),
        (b"\x22\x01a", "a weight in Tree that is not a double"),
        (b"\x3a\x03abc", "ends in the middle of a field"),
        (b"\x21\x00", "ends in the middle of a field"),
    ],
    ids=["text", "length", "number", "group", "zero", "kind", "double", "floats", "fixed"],
)
def test_damaged_bytes_are_one_sentence(data: bytes, message: str) -> None:
    with pytest.raises(SourceError, match=message) as error:
        SCHEMA.decode("Tree", data)
    assert "\n" not in str(error.value)


def test_nesting_has_a_limit() -> None:
    data = b""
    for _ in range(99):
        data = field(2, data)
    assert SCHEMA.decode("Tree", data)
    for _ in range(1000):
        data = field(2, data)
    with pytest.raises(SourceError, match="nested more than 100 levels"):
        SCHEMA.decode("Tree", data)


def test_noise_is_a_message_or_a_sentence() -> None:
    dice = random.Random(0)
    for _ in range(2000):
        try:
            SCHEMA.decode("Tree", dice.randbytes(dice.randrange(40)))
        except SourceError as error:
            assert str(error)
