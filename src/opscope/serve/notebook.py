"""Programs in notebooks, and `opscope.show`.

A notebook gets the whole viewer in a frame of its own (so that many can stand on one page, in Jupyter, VS Code, Colab and marimo
alike), a static SVG for places that run no scripts, and text for those that show no pictures.
"""

from __future__ import annotations

import html
import sys
import tempfile
import webbrowser
from pathlib import Path
from typing import Any

from opscope.analysis.summary import Summary
from opscope.errors import OpscopeError
from opscope.program import Program
from opscope.recording.model import Recording
from opscope.render.html import document
from opscope.render.options import ViewOptions

HEIGHT = 520
_MOST_NODES_IN_SVG = 20_000
_FRAME_STYLE = f"width:100%;height:{HEIGHT}px;border:1px solid rgba(128,128,140,.3);border-radius:8px"


def mimebundle(program: Program) -> dict[str, Any]:
    """What a notebook shows for a Program."""
    bundle: dict[str, Any] = {"text/plain": repr(program)}
    try:
        bundle["text/html"] = frame(program)
    except OpscopeError:
        bundle["text/plain"] = str(program) if len(program) <= 200 else repr(program)
    svg = _static(program)
    if svg:
        bundle["image/svg+xml"] = svg
    return bundle


def frame(program: Program | Recording, options: ViewOptions | None = None) -> str:
    """The viewer in an isolated frame, as HTML for a notebook's output."""
    page = "".join(document([program], options, url=False, compact=True))
    return (
        f'<iframe title="{html.escape(program.name[:200])}" sandbox="allow-scripts allow-downloads" allow="clipboard-write" '
        f'style="{_FRAME_STYLE}" srcdoc="{html.escape(page)}"></iframe>'
    )


def _static(program: Program) -> str | None:
    """A picture for places without scripts; none if it would be too much for them, or cannot be drawn here."""
    if len(program) > _MOST_NODES_IN_SVG:
        return None
    try:
        from opscope.render.svg import svg_text

        return svg_text(program)
    except (ImportError, OpscopeError):
        return None


def show(x: Any, *inputs: Any, **options: Any) -> None:
    """Show a Program, a Recording, a Summary, or anything that `opscope.capture` takes: inside a notebook there, else in the browser.

    `options` are those of `opscope view` (`graph`, `depth`, `flatten`, …). The browser gets a file of its own, so that a script can
    go on, or end, while one looks at it.
    """
    if isinstance(x, Summary):
        x = x.program
    program = x if isinstance(x, (Program, Recording)) else _captured(x, *inputs)
    chosen = ViewOptions(**options)
    if isinstance(program, Program):
        chosen.check(program)
    if in_notebook():
        from IPython.display import HTML, display

        display(HTML(frame(program, chosen)) if chosen.given or isinstance(program, Recording) else program)  # type: ignore[no-untyped-call]
        return
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", prefix="opscope-", suffix=".html", delete=False) as file:
        file.writelines(document([program], chosen))
    address = Path(file.name).as_uri()
    if not webbrowser.open(address):
        print(address)


def _captured(x: Any, *inputs: Any) -> Program:
    from opscope.readers import capture_object

    return capture_object(x, *inputs)


def in_notebook() -> bool:
    """Is this a kernel with a page in front of it, and not a terminal?"""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    return shell is not None and type(shell).__name__ != "TerminalInteractiveShell"
