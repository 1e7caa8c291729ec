"""Readable sizes and counts: decimal units (a megabyte is a million bytes), k M G T P E, three digits.

The viewer writes them the same way (`web/src/core/text/quantities.ts`), so a size from the terminal can be found in the picture.
"""

from __future__ import annotations

_LARGEST = 1e300
"""Python counts further than floats do."""
_PREFIXES = ("", "k", "M", "G", "T", "P", "E")


def short_number(value: float) -> str:
    """1,234 in full; from a hundred thousand on, with k, M, G, T, P or E."""
    return f"{value:,.0f}" if abs(value) < 100_000 else _scaled(value).rstrip()


def short_bytes(value: float) -> str:
    """733 B, 8.19 kB, 16.8 MB."""
    return f"{_scaled(value)}B"


def short_seconds(value: float) -> str:
    """8.63 ms, 21.7 µs, 1.2 s."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def _scaled(value: float) -> str:
    if abs(value) > _LARGEST:
        return "∞ "
    power = 0
    while abs(value) >= 999.5 and power < len(_PREFIXES) - 1:
        value /= 1000
        power += 1
    digits = 0 if power == 0 or abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2
    return f"{value:.{digits}f} {_PREFIXES[power]}"
