"""opscope's own JSON as a file."""

from __future__ import annotations

from pathlib import Path

from opscope.analysis.enrich import enrich
from opscope.native import chunks
from opscope.plugin import Progress
from opscope.program import Program
from opscope.view_options import ViewOptions


def write(programs: list[Program], target: Path, options: ViewOptions, progress: Progress | None = None) -> None:
    with target.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
        stream.writelines(chunks(enrich(programs[0]) if len(programs) == 1 else map(enrich, programs)))
