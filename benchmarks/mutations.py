"""Damages files for `fuzz.py`: bytes and words of any file, values of JSON, entries of archives, rows of recordings."""

from __future__ import annotations

import copy
import io
import json
import random
import re
import sqlite3
import zipfile
import zlib
from contextlib import closing
from typing import Any

VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 2**31, 2**63, 10**400, 1e308, -0.5, "", "\ud800", "\x1b[2J\u202e", "9" * 5000, [], {}, [[]], ["x", 0], {"a": [1]},
)  # fmt: skip
WORDS = (
    b"%", b"{", b"}", b"(", b")", b"[", b"]", b"<", b">", b'"', b"'", b"\\", b"#", b",", b"=", b":", b"\0", b"\n", b"\xff", b"\xed\xa0\x80",
    b"-1", b"0", b"99999999999", b"99999999999999999999", b"9" * 5000, b"(" * 3000, b"\xe2\x80\xae", b"while", b"fusion", b"ROOT",
    b"parameter(0)", b"/*", b"*/",
)  # fmt: skip
_COLUMNS = (
    ("page", "data"), ("program", "data"), ("snapshot", "origins"), ("snapshot", "attrs"), ("snapshot", "pipeline"), ("meta", "value"),
)  # fmt: skip
"""What a recording contains."""
_PUMPED = 1 / 200
_OFTEN = 50_000
_PIECES = ("[", "(", "{", "a", "x", "1", " ", "\n", "/*", "_1", "a.", "a/", '"', "\\")
_WORD = re.compile(rb"[\w.%]+|[^\w\s]")

Files = dict[str, bytes]
"""The contents of a directory, by path."""


def mutated(data: bytes, kind: str, rng: random.Random) -> bytes:
    """The file with one to four damages, by its kind: what `_BY_KIND` names, or anything else."""
    if kind != "dump" and rng.random() < _PUMPED:
        return _pumped(data, kind, rng)
    for _ in range(rng.choice((1, 1, 1, 1, 2, 4))):
        try:
            by_structure = _BY_KIND.get(kind, _words)
            data = by_structure(data, rng) if kind == "dump" or rng.random() < 0.8 else _bytes(data, rng)
        except (ValueError, LookupError, RecursionError, OSError, EOFError, zipfile.BadZipFile, zlib.error, RuntimeError, sqlite3.Error):
            data = _bytes(data, rng)  # an earlier damage has destroyed the structure
    return data


def _pumped(data: bytes, kind: str, rng: random.Random) -> bytes:
    """A short piece very often: what is matched at every place, or in every way, or unpacked once per name, takes for ever then."""
    try:
        document = json.loads(data)
        holder, key = _path(document, rng)[-1]
        old = holder[key] if isinstance(holder[key], str) else rng.choice(_PIECES)
        at, length = rng.randrange(len(old) + 1), rng.randrange(1, 5)
        holder[key] = old[:at] + (old[at : at + length] or rng.choice(_PIECES)) * _OFTEN + rng.choice(("", "!", old[at:]))
        return json.dumps(document).encode()
    except (ValueError, LookupError, RecursionError):
        if kind not in _BY_KIND:
            at, length = rng.randrange(len(data) + 1), rng.randrange(1, 9)
            return data[:at] + data[at : at + length] * _OFTEN + rng.choice((b"", b"!", data[at:]))
        return _bytes(data, rng)


def _bytes(data: bytes, rng: random.Random) -> bytes:
    """Flip, cut, repeat or insert bytes."""
    content = bytearray(data)
    at, length = rng.randrange(len(content) + 1), min(len(content), rng.choice((1, 4, 64, 1024)))
    action = rng.randrange(5)
    if action == 0 and content:
        content[at % len(content)] ^= 1 << rng.randrange(8)
    elif action == 1:
        del content[at : at + length]
    elif action == 2:
        content[at:at] = content[at : at + length] * rng.choice((1, 2, 50))
    elif action == 3:
        content[at:at] = rng.choice(WORDS)
    else:
        del content[at:]
    return bytes(content)


def _words(data: bytes, rng: random.Random) -> bytes:
    """Replace, remove, repeat, copy or exchange words of a text. A copied name makes programs that are well formed and strange: a value
    that is its own operand, a computation that calls itself."""
    words = [match.span() for _ in range(2) if (match := _WORD.search(data, rng.randrange(len(data) + 1)))]
    if len(set(words)) < 2:
        return _bytes(data, rng)
    (a, b), (c, d) = sorted(words)
    action = rng.randrange(6)
    if action == 0:
        return data[:a] + rng.choice(WORDS) + data[b:]
    if action == 4:
        return data[:a] + data[c:d] + data[b:]
    if action == 5:
        return data[:c] + data[a:b] + data[d:]
    if action == 1:
        return data[:a] + data[b:]
    if action == 2:
        return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]
    return data[:d] + data[a:d] + data[d:]


def _json(data: bytes, rng: random.Random) -> bytes:
    document = json.loads(data)
    _damage(document, rng)
    return json.dumps(document).encode()


def _path(document: Any, rng: random.Random) -> list[tuple[Any, Any]]:
    """The way to a value, somewhere: what holds it, and its key there."""
    at = document
    path: list[tuple[Any, Any]] = []
    while isinstance(at, dict | list) and at and (rng.random() < 0.9 or not path):
        key = rng.choice(list(at)) if isinstance(at, dict) else rng.randrange(len(at))
        path.append((at, key))
        at = at[key]
    return path


def _damage(document: Any, rng: random.Random) -> None:
    """Replace, remove, repeat, copy or exchange one value, somewhere."""
    path = _path(document, rng)
    if not path:
        return
    holder, key = path[-1]
    action = rng.randrange(6)
    if action == 0:
        del holder[key]
    elif action == 1 and isinstance(holder, list):
        holder.insert(rng.randrange(len(holder) + 1), holder[key])
    elif action == 2 and len(path) > 1:
        holder[key] = path[rng.randrange(len(path) - 1)][1]
    elif action == 5:
        other, place = _path(document, rng)[-1]
        holder[key] = copy.deepcopy(other[place])
    elif action == 3 and isinstance(holder, dict):
        holder[rng.choice(("", "name", "id", "x" * 300, "\ud800"))] = holder.pop(key)
    else:
        holder[key] = rng.choice(VALUES)


def _archive(data: bytes, rng: random.Random) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(content, "w") as new:
        names = old.namelist()
        chosen = rng.choice([name for name in names if name.endswith(".json")] or names)
        for name in names:
            entry = old.read(name)
            new.writestr(name, _json(entry, rng) if name == chosen else entry)
    return content.getvalue()


def _files(data: bytes, rng: random.Random) -> bytes:
    """Damage a file of a directory, leave it out, repeat it under another name, or exchange the contents of two."""
    files = unpacked(data)
    chosen, other = rng.choice(list(files)), rng.choice(list(files))
    action = rng.randrange(16)
    if action == 0 and len(files) > 1:
        del files[chosen]
    elif action == 1:
        files[re.sub(r"\d+", lambda _: str(rng.choice((0, 1, 7, 10**30))), chosen, count=2)[-200:].lstrip("/")] = files[chosen]
    elif action == 2:
        files[chosen], files[other] = files[other], files[chosen]
    else:
        files[chosen] = mutated(files[chosen], "json" if chosen.endswith(".json") else "", rng)
    return packed(files)


def packed(files: Files) -> bytes:
    """The files of a directory as one: their names and sizes on a line, then their contents. An archive takes ten times as long."""
    return b"\n".join((json.dumps({name: len(content) for name, content in files.items()}).encode(), b"".join(files.values())))


def unpacked(data: bytes) -> Files:
    sizes, _, contents = data.partition(b"\n")
    files: Files = {}
    at = 0
    try:
        named = json.loads(sizes)
    except ValueError:  # an earlier damage was to the directory itself
        return {"damaged": data}
    for name, size in named.items():
        files[name] = contents[at : at + size]
        at += size
    return files


def _recording(data: bytes, rng: random.Random) -> bytes:
    """Damage the JSON in a row, packed or not."""
    if not data:
        raise ValueError("nothing is left of it")
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(data)
        table, column = rng.choice(_COLUMNS)
        rows = connection.execute(f"SELECT {column}, {'key' if table == 'meta' else 'rowid'} FROM {table}").fetchall()
        value, key = rng.choice(rows or [(None, 0)])
        damaged = (
            _packed_json(value, rng) if isinstance(value, bytes) else _json(str(value or "[0]").encode(), rng).decode("utf-8", "replace")
        )
        with connection:
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE {'key' if table == 'meta' else 'rowid'} = ?", (damaged, key))
        return connection.serialize()


def _packed_json(blob: bytes, rng: random.Random) -> bytes:
    try:
        return zlib.compress(_json(zlib.decompress(blob), rng))
    except (zlib.error, ValueError):
        return _bytes(blob, rng)  # columns of numbers


_JSON = ("json", "style", "data", "values", "onnxruntime", "tensorrt", "device")
_BY_KIND = {**dict.fromkeys(_JSON, _json), "pt2": _archive, "dump": _files, "opscope": _recording}
