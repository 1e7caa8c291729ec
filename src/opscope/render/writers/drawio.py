"""draw.io XML: the picture with boxes and edges as connected cells, to edit further in draw.io (diagrams.net)."""

from __future__ import annotations

from pathlib import Path

from opscope.plugin import Progress
from opscope.program import Program
from opscope.render.draw.picture import draw
from opscope.view_options import ViewOptions


def write(programs: list[Program], target: Path, options: ViewOptions, progress: Progress | None = None) -> None:
    target.write_text(draw(programs[0], options, "drawio", progress=progress).text, encoding="utf-8", newline="\n")
