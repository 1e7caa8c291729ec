"""The memory of a run as a picture: the lane, and the largest buffers that are alive at a point, drawn by the core as on the page."""

from __future__ import annotations

import json
from pathlib import Path

from opscope.errors import OpscopeError
from opscope.memory.model import Memory
from opscope.render import find_writer
from opscope.render.draw import host
from opscope.render.draw.picture import Drawn
from opscope.render.wire.memory import encode_memory
from opscope.render.writers.pdf import document
from opscope.render.writers.png import rasterize
from opscope.render.writers.svg import font_css
from opscope.view_options import Theme
from opscope.whole_file import check_target, refuse_to_replace, whole_file

_FORMS = ("svg", "png", "pdf")
_SCALE = 2
"""Pixels of a PNG per unit."""


def check_picture(target: Path, source: Path, force: bool) -> str:
    """The format of a picture; an error if it cannot be written there, or would replace what people would miss without `force`."""
    row = find_writer(target)
    if row.name not in _FORMS:
        raise OpscopeError(f"{target}: the memory lane is written as .svg, .png or .pdf; `opscope export` writes the other formats")
    check_target(target)
    if not force:
        refuse_to_replace(target, row.name, row.begins, source)
    return row.name


def write_picture(memory: Memory, position: int, target: Path, form: str, theme: Theme) -> None:
    """Write the lane with what is alive at a position."""
    request = {
        "form": "pdf" if form == "pdf" else "svg",
        "position": position,
        "theme": theme,
        "title": memory.name,
        "fontCss": font_css() if form == "svg" else "",
    }
    (answer,) = host.run(encode_memory(memory, None), [("memory", request)])
    picture = json.loads(answer)
    text, width, height = picture["text"], picture["width"], picture["height"]
    with whole_file(target) as part:
        if form == "svg":
            part.write_text(text, encoding="utf-8", errors="backslashreplace")
        elif form == "png":
            part.write_bytes(rasterize(Drawn(text, width, height, 0, 0, ()), _SCALE))
        else:
            part.write_bytes(document(text, width, height, 1, memory.name))
