"""Long texts, shortened for display."""

from __future__ import annotations


def ellipsize(text: str, most: int, *, middle: bool = False) -> str:
    """The text, cut to at most `most` characters: "…" replaces the end, or the middle."""
    if len(text) <= most:
        return text
    if not middle:
        return f"{text[: most - 1]}…"
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"
