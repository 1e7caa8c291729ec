"""What panels of the viewer show as pictures, drawn by the core as on the page: the memory of a run, and what a program costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from opscope.errors import OpscopeError
from opscope.memory.model import Memory
from opscope.program import Program
from opscope.render import find_writer
from opscope.render.draw import host
from opscope.render.draw.picture import Drawn
from opscope.render.wire.memory import encode_memory
from opscope.render.wire.program import encode_wire
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
        raise OpscopeError(f"{target}: this picture is written as .svg, .png or .pdf; `opscope export` writes the other formats")
    check_target(target)
    if not force:
        refuse_to_replace(target, row.name, row.begins, source)
    return row.name


def write_memory(memory: Memory, position: int, target: Path, form: str, theme: Theme) -> None:
    """Write the memory lane with what is alive at a position."""
    (answer,) = host.run(encode_memory(memory, None), [("memory", {"position": position, **_request(memory.name, form, theme)})])
    _write(answer, memory.name, target, form)


def write_cost(program: Program, by: str | None, target: Path, form: str, theme: Theme) -> None:
    """Write where the cost is: modules as wide as their share of a metric, the roofline, and the kernels of a step."""
    request = {**({} if by is None else {"by": by}), **_request(program.name, form, theme)}
    *_, answer = host.run(encode_wire(program), [("load", None), ("cost", request)])
    _write(answer, program.name, target, form)


def _request(title: str, form: str, theme: Theme) -> dict[str, Any]:
    return {
        "form": "pdf" if form == "pdf" else "svg",
        "theme": theme,
        "title": title,
        "fontCss": font_css() if form == "svg" else "",
    }


def _write(answer: str, title: str, target: Path, form: str) -> None:
    picture = json.loads(answer)
    text, width, height = picture["text"], picture["width"], picture["height"]
    with whole_file(target) as part:
        if form == "svg":
            part.write_text(text, encoding="utf-8", errors="backslashreplace")
        elif form == "png":
            part.write_bytes(rasterize(Drawn(text, width, height, 0, 0, ()), _SCALE))
        else:
            part.write_bytes(document(text, width, height, 1, title))
