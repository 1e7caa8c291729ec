"""Graphviz DOT: the view that a picture would show, for papers and tools that read DOT.

Everything is expanded unless `--depth` or `--flatten` says otherwise, and repeats are not folded, because DOT is for the whole graph. The
TypeScript core (`web/src/core/writers/dot.ts`) writes it, so that one place decides what a view shows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from opscope.analysis.enrich import enrich
from opscope.plugin import Progress
from opscope.program import Program
from opscope.render.draw import host
from opscope.render.draw.check_options import checked_graph
from opscope.render.wire.program import encode_wire
from opscope.view_options import ViewOptions

EVERYTHING = 1_000_000


def write(programs: list[Program], target: Path, options: ViewOptions, progress: Progress | None = None) -> None:
    target.write_text(dot_of(programs[0], options, progress), "utf-8", errors="backslashreplace", newline="\n")


def dot_of(program: Program, options: ViewOptions, progress: Progress | None = None) -> str:
    checked_graph(options, program)
    rules = {"stubs": False, "liftSingles": False}
    depth = {} if options.flatten else {"depth": EVERYTHING}  # flat, calls are boxes in every format
    spec: dict[str, Any] = {**depth, **options.spec, "fold": False, "rules": rules}
    request = {"spec": spec, **options.request, "title": program.name}
    _, text = host.run(encode_wire(enrich(program), details=bool(options.label)), [("load", None), ("dot", request)], progress)
    return text
