"""Plain aligned columns and short numbers, for people; `--json` is for programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(rows: Iterable[Sequence[str]], right: str = "") -> str:
    """Columns as wide as their widest cell. `right` has an "r" for each column that is aligned right ("lrr")."""
    cells = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    aligned = [str.rjust if right[i : i + 1] == "r" else str.ljust for i in range(len(widths))]
    lines = ("  ".join(align(cell, width) for align, cell, width in zip(aligned, row, widths, strict=True)) for row in cells)
    return "\n".join(line.rstrip() for line in lines)


def short_number(value: float) -> str:
    """1,234 as it is; from a hundred thousand on with K, M, G, T, P."""
    return f"{value:,.0f}" if abs(value) < 100_000 else _scaled(value, 1000, ("", "K", "M", "G", "T", "P"))


def short_bytes(value: float) -> str:
    """Binary units, as memory is counted."""
    return _scaled(value, 1024, ("B", "KiB", "MiB", "GiB", "TiB", "PiB"))


def _scaled(value: float, step: int, units: Sequence[str]) -> str:
    power = 0
    while abs(value) >= step and power < len(units) - 1:
        value /= step
        power += 1
    digits = f"{value:.0f}" if power == 0 or abs(value) >= 100 else f"{value:.3g}"
    return f"{digits} {units[power]}"
