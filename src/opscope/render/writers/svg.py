"""SVG: selectable text, tooltips, and an embedded font, so that it looks the same everywhere."""

from __future__ import annotations

from base64 import b64encode
from functools import lru_cache
from pathlib import Path

from opscope.plugin import Progress
from opscope.program import Program
from opscope.render.draw.picture import draw
from opscope.view_options import ViewOptions

FONTS = Path(__file__).parents[1] / "fonts"
FAMILY = "Opscope Sans"
WEIGHTS = {"Regular": 400, "Bold": 600}


def svg_text(program: Program, options: ViewOptions | None = None, *, embed_font: bool = True, progress: Progress | None = None) -> str:
    """The picture of a program as SVG text."""
    return draw(program, options or ViewOptions(), "svg", font_css() if embed_font else "", progress).text


@lru_cache(maxsize=1)
def font_css() -> str:
    """@font-face rules with the bundled fonts in them (50 kB)."""
    rules = []
    for style, weight in WEIGHTS.items():
        data = b64encode((FONTS / f"OpscopeSans-{style}.woff2").read_bytes()).decode()
        source = f'url(data:font/woff2;base64,{data}) format("woff2")'
        rules.append(f'@font-face{{font-family:"{FAMILY}";font-weight:{weight};src:{source}}}')
    return "".join(rules)


def write(programs: list[Program], target: Path, options: ViewOptions, progress: Progress | None = None) -> None:
    target.write_text(svg_text(programs[0], options, progress=progress), encoding="utf-8", errors="backslashreplace")
