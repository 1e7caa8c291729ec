"""Tables of nodes and values with a unit, as CSV or JSON: times, or any other metric."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from opscope.errors import OpscopeError
from opscope.naming import listed
from opscope.profile.model import MOST_SECONDS
from opscope.program import Metric
from opscope.program.metric import number

UNITS: Mapping[str, float] = {
    **dict.fromkeys(("s", "sec", "seconds"), 1.0),
    **dict.fromkeys(("ms", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "µs", "μs", "microseconds"), 1e-6),
    **dict.fromkeys(("ns", "nanoseconds"), 1e-9),
}
"""Seconds of the units of time."""
_COLUMNS = 'the columns "node" and one of seconds, ms, us or ns, such as node,ms, or the columns node,value,unit'
_SHAPES = (
    '{"unit": "ms", "values": {"NODE": 0.5}}, {"unit": "ms", "NODE": 0.5}, [{"node": "NODE", "ms": 0.5}] '
    'or [{"node": "NODE", "value": 0.5, "unit": "ms"}]'
)
_NO_TABLE = f"is neither a profile nor a table of nodes and values with a unit, which is one of {_SHAPES}"
_MOST_SHOWN = 80


class Table(NamedTuple):
    """The values of nodes; several of one node add up."""

    metric: Metric | None
    """What they are; None for times, which are in seconds."""
    rows: list[tuple[str, float]]


class _Row(NamedTuple):
    where: str
    node: Any
    value: Any
    unit: Any
    shown: str


def seconds(value: float) -> float:
    if not 0 <= value <= MOST_SECONDS:
        raise ValueError("must be a time")
    return value


def is_csv(head: bytes) -> bool:
    """Whether a file begins with the header of such a table, whatever its name is."""
    first = head.lstrip().partition(b"\n")[0]
    if b"node" not in first.lower():  # most files, and quick to see
        return False
    header = _header(first.decode("utf-8-sig", "replace"))
    return "node" in header and bool({"value", *UNITS} & set(header))


def _separator(first: str) -> str:
    """What separates the cells of a table: a comma, or else what some programs write instead of it."""
    return next((each for each in ",;\t" if each in first), ",")


def _header(first: str) -> list[str]:
    return [cell.strip().strip('"').lower() for cell in first.split(_separator(first))]


def read_csv(data: bytes) -> Table:
    """A table with a header."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise OpscopeError(f"is not text; expected a table with {_COLUMNS}") from None
    texts = text.splitlines()
    blank = next((i for i, line in enumerate(texts) if line.strip()), len(texts))
    texts = texts[blank:]
    if not texts:
        raise OpscopeError(f"is empty; expected a table with {_COLUMNS}")
    lines = _cells(texts)
    header = [cell.strip().lower() for cell in next(lines, [])]
    units = [name for name in header if name in UNITS]
    if "node" not in header or not (len(units) == 1 or {"value", "unit"} <= set(header)):
        raise OpscopeError(f"has the columns {listed(header)}; expected {_COLUMNS}")

    def rows() -> Iterator[_Row]:
        for line, cells in enumerate(lines, start=blank + 2):
            if cells:
                cell = dict(zip(header, (each.strip() for each in cells), strict=False))
                value = cell.get(units[0] if len(units) == 1 else "value")
                unit = units[0] if len(units) == 1 else cell.get("unit")
                yield _Row(f"line {line}", cell.get("node"), _as_number(value), unit, ",".join(cells))

    return _table(rows(), "value")


def _cells(texts: list[str]) -> Iterator[list[str]]:
    try:
        yield from csv.reader(texts, delimiter=_separator(texts[0]))
    except csv.Error as error:  # a cell of more than 131,072 characters
        raise OpscopeError(f"is not a table with {_COLUMNS}: {error}") from None


def _as_number(text: str | None) -> Any:
    try:
        return float(text or "")
    except ValueError:
        return text


def is_json(head: bytes) -> bool:
    return head.lstrip()[:1] in (b"{", b"[")


def read_json(data: bytes) -> Table:
    """One of `_SHAPES`."""
    try:
        content = json.loads(data)
    except UnicodeDecodeError:
        raise OpscopeError("is not text, so it is not JSON; write or download it again") from None
    except (ValueError, RecursionError) as error:
        raise OpscopeError(f"is not complete JSON: {error}") from None
    if isinstance(content, list):
        return _table((_row_of(entry, f"entry {i}") for i, entry in enumerate(content, start=1)), "value")
    values = content.get("values") if isinstance(content.get("values"), dict) else content
    about = {key: content.get(key) for key in ("unit", "metric")}
    named = {key: value for key, value in values.items() if values is not content or key not in about}
    if about["unit"] is None:
        raise OpscopeError(_NO_TABLE)
    rows = (_Row(f"node {node[:_MOST_SHOWN]!r}", node, value, about["unit"], json.dumps(value)) for node, value in named.items())
    return _table(rows, str(about["metric"] or "value"))


def _row_of(entry: Any, where: str) -> _Row:
    cells = entry if isinstance(entry, dict) else {}
    units = [name for name in cells if name in UNITS]
    if "node" not in cells or not (len(units) == 1 or {"value", "unit"} <= cells.keys()):
        raise OpscopeError(f"{where}: {_NO_TABLE}")
    unit = units[0] if len(units) == 1 else cells["unit"]
    return _Row(where, cells["node"], cells[units[0]] if len(units) == 1 else cells["value"], unit, json.dumps(entry))


def _table(rows: Iterable[_Row], metric: str) -> Table:
    found: list[tuple[str, float]] = []
    kinds: dict[str, None] = {}
    for row in rows:
        scale = UNITS.get(str(row.unit).lower())
        try:
            if not isinstance(row.node, str) or not isinstance(row.unit, str) or not row.unit:
                raise ValueError
            found.append((row.node, number(row.value) if scale is None else seconds(number(row.value) * scale)))
        except ValueError:
            what = "a time" if scale is not None else "a value with its unit"
            raise OpscopeError(f"{row.where}: expected a node and {what}, not {row.shown[:_MOST_SHOWN]!r}") from None
        kinds["s" if scale is not None else row.unit] = None
    if not found:
        raise OpscopeError("is a table without rows: it names no node")
    if len(kinds) > 1:
        raise OpscopeError(f"has values of different units: {', '.join(kinds)}; put each into a file of its own")
    unit = next(iter(kinds), "s")
    return Table(None if unit == "s" else Metric(metric, unit, "sum", "measured"), found)
