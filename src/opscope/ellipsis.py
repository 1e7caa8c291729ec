"""Long texts, shortened for people."""

from __future__ import annotations


def ellipsize(text: str, most: int, *, middle: bool = False) -> str:
    """A text of at most so many characters: "…" stands for the end that was cut off, or for the middle."""
    if len(text) <= most:
        return text
    if not middle:
        return f"{text[: most - 1]}…"
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"
