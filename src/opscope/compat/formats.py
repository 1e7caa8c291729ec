"""The formats of pictures. Graphviz, which the original tools draw with, has more of them."""

from __future__ import annotations

from pathlib import Path

from opscope.errors import OpscopeError

DRAWN_AT_ONCE = ("svg", "png", "jpg", "jpeg", "webp", "gif", "pdf")
"""Pictures of the whole graph, without a viewer."""
FORMATS = (*DRAWN_AT_ONCE, "dot", "gv", "html", "json")


def check_format(picture: Path) -> str:
    """The format that a picture's suffix means."""
    format = picture.suffix.removeprefix(".").lower()
    if format not in FORMATS:
        raise OpscopeError(
            f"{picture}: cannot write {f'.{format}' if format else 'a file without a suffix'}; use one of {', '.join(FORMATS)}"
        )
    return format
