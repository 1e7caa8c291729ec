"""From a Program and view options to a picture, drawn by the TypeScript core in V8. SVG, PNG, PDF and draw.io all start here."""

from __future__ import annotations

import json
from typing import Any, Literal, NamedTuple

from opscope.analysis.enrich import enrich, enrich_for_picture
from opscope.plugin import Progress
from opscope.program import Program
from opscope.recording.model import Recording
from opscope.render.draw import host
from opscope.render.draw.check_options import check_options, checked_graph
from opscope.render.draw.styling import only_one, style_rules
from opscope.render.wire.program import encode_wire
from opscope.view_options import ViewOptions

_WITHOUT_NUMBERS = frozenset(
    (
        *("graph", "depth", "flatten", "all_nodes", "frames", "calls", "fold", "group_by", "rankdir", "theme", "background", "scale"),
        *("wrap", "operands", "names", "layouts", "values", "overlays"),
    )
)
"""Options with which a picture shows neither numbers of nodes nor links between them, so that they need not be computed: for a very large
program that takes longer than the rest."""


class Drawn(NamedTuple):
    """A picture as text, its size in pixels, and remarks about it ("37 neighbours are not shown")."""

    text: str
    width: int
    height: int
    boxes: int
    edges: int
    remarks: tuple[str, ...]


def draw(
    source: Program | Recording,
    options: ViewOptions,
    form: Literal["svg", "pdf", "drawio"],
    font_css: str = "",
    progress: Progress | None = None,
    *,
    as_: Literal["file", "seen"] = "file",
) -> Drawn:
    """The picture of one program, or of what the last pass of a recording did: SVG text, the content stream of a PDF page, or
    draw.io XML.

    `as_="seen"` draws it as the viewer's Save SVG does: in one piece, with every frame drawn separately.
    """
    program: Program = source.snapshot(-1).program if isinstance(source, Recording) else source
    if isinstance(source, Recording):
        source = source.only(-1)
        if options.diff in (None, "after"):
            checked_graph(options, program)
    else:
        check_options(options, program)
    if progress:
        progress(0)
    details = options.style is not None or bool(options.node_data or options.label) or (options.colour_by or "").startswith("attr:")
    if isinstance(source, Recording):
        from opscope.render.wire.recording import encode_recording  # which compares passes, with much that no other picture needs

        wire = encode_recording(source)
    else:
        enriched = enrich_for_picture if {row.name for row in options.given} <= _WITHOUT_NUMBERS else enrich
        wire = encode_wire(enriched(program), details)
    request = _request(options) | {"as": as_}
    if form == "drawio":  # edges in one piece, between their boxes
        request |= {"wrap": False, "legend": False}
    how = {**options.request, "title": program.name, "fontCss": font_css}
    steps: list[host.Step] = [("load", None), ("draw", request), (form, how)]
    _, drawn, text = host.run(wire, steps, progress and (lambda part: progress(0.2 + 0.8 * part)))
    facts = json.loads(drawn)
    return Drawn(text, facts["width"], facts["height"], facts["boxes"], facts["edges"], tuple(facts["remarks"]))


def _request(options: ViewOptions) -> dict[str, Any]:
    """The request for the drawing core (`FileRequest` in `web/src/core/api.ts`). Options at their default are absent."""
    request: dict[str, Any] = {"spec": options.spec, **options.request}
    if options.style is not None:
        request["style"] = style_rules(options.style)
    if options.node_data:
        request["nodeData"] = only_one(options.node_data)
    return request
