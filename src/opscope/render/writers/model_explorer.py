"""Model Explorer's graph JSON as a file (`--to model-explorer`)."""

from __future__ import annotations

import json
from pathlib import Path

from opscope.analysis.enrich import enrich
from opscope.plugin import Progress
from opscope.program import Program
from opscope.readers.model_explorer import encode
from opscope.render.draw.check_options import checked_graph
from opscope.view_options import ViewOptions


def write(programs: list[Program], target: Path, options: ViewOptions, progress: Progress | None = None) -> None:
    checked_graph(options, programs[0])
    encoded = [encode(enrich(program), options.group_by) for program in programs]
    several = [item for collection in encoded for item in (collection if isinstance(collection, list) else [collection])]
    whole = encoded[0] if len(encoded) == 1 else several
    target.write_text(json.dumps(whole, ensure_ascii=False), "utf-8", errors="backslashreplace")
