"""PNG: the SVG rendered by resvg with the bundled font, so that neither a system font nor a browser is needed."""

from __future__ import annotations

import re
from pathlib import Path

from opscope.errors import OpscopeError
from opscope.plugin import Progress, dependency
from opscope.program import Program
from opscope.render.draw.picture import Drawn, draw
from opscope.render.writers.svg import FAMILY, FONTS
from opscope.view_options import ViewOptions

MOST_PIXELS = 400_000_000
"""A picture of 20,000 × 20,000 pixels. Few programs open larger ones, and memory runs out."""

_BEYOND_FONT = re.compile(r"[\u0400-\u1fff\u2e80-\ud7ff\uf900-\ufaff\U00010000-\U0010ffff]")


def png_bytes(program: Program, options: ViewOptions | None = None, progress: Progress | None = None) -> bytes:
    """The picture of a program, with `options.scale` pixels per unit."""
    chosen = options or ViewOptions()
    return rasterize(draw(program, chosen, "svg", progress=progress), chosen.scale)


def rasterize(drawn: Drawn, scale: float) -> bytes:
    """A drawn SVG as PNG."""
    resvg_py = dependency("resvg_py", "resvg-py", "PNG files")

    pixels = drawn.width * scale * drawn.height * scale
    if pixels > MOST_PIXELS:
        fitting = (MOST_PIXELS / (drawn.width * drawn.height)) ** 0.5
        raise OpscopeError(
            f"the picture would have {drawn.width * scale:.0f} × {drawn.height * scale:.0f} pixels; "
            f"use a scale of {fitting:.2g} or less, show less of the program, or write .svg or .pdf"
        )
    image: bytes = resvg_py.svg_to_bytes(
        svg_string=drawn.text,
        width=max(1, round(drawn.width * scale)),
        height=max(1, round(drawn.height * scale)),
        font_files=[str(path) for path in sorted(FONTS.glob("*.ttf"))],
        # Names in scripts that the bundled font lacks are drawn with system fonts.
        skip_system_fonts=_BEYOND_FONT.search(drawn.text) is None,
        sans_serif_family=FAMILY,
    )
    return bytes(image)


def write(programs: list[Program], target: Path, options: ViewOptions, progress: Progress | None = None) -> None:
    target.write_bytes(png_bytes(programs[0], options, progress))
