"""Programs in notebooks, and `opscope.show`.

A notebook gets the whole viewer in its own frame, so that one page can have many of them (in Jupyter, VS Code, Colab and marimo), a static
SVG where scripts do not run, and text where pictures are not shown.
"""

from __future__ import annotations

import html
import sys
import webbrowser
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

from opscope.errors import OpscopeError
from opscope.loading import as_shown
from opscope.program import Program
from opscope.recording.model import Recording
from opscope.render.draw.check_options import check_options
from opscope.render.writers.html import document
from opscope.temporary import temporary_directory
from opscope.terminal import say
from opscope.view_options import ViewOptions
from opscope.whole_file import whole_file

HEIGHT = 520
_MOST_NODES_IN_SVG = 20_000
_MOST_NODES_AS_TEXT = 200
_MOST_FALLBACK_CHARACTERS = 400_000
_FRAME_STYLE = f"width:100%;height:{HEIGHT}px;border:1px solid rgba(128,128,140,.3);border-radius:8px"


def mimebundle(program: Program | Recording, *others: Program | Recording, options: ViewOptions | None = None) -> dict[str, Any]:
    """The notebook output for a Program or a Recording, or for several to switch between."""
    bundle: dict[str, Any] = {"text/plain": "\n".join(map(repr, (program, *others)))}
    svg = _static(program, options) if isinstance(program, Program) else None
    try:
        bundle["text/html"] = frame((program, *others), options, svg)
    except OpscopeError:
        if isinstance(program, Program) and program.node_count <= _MOST_NODES_AS_TEXT:
            bundle["text/plain"] = str(program)
    if svg:
        bundle["image/svg+xml"] = svg
    return bundle


def frame(programs: Sequence[Program | Recording], options: ViewOptions | None = None, svg: str | None = None) -> str:
    """The viewer in an isolated frame, as HTML for a notebook's output.

    The content of the iframe element is a fallback: a notebook that is reopened without being trusted loses its frames and keeps their
    content.
    """
    page = "".join(document(programs, options, url=False, compact=True))
    name = html.escape(programs[0].name[:200])
    return (
        f'<iframe title="{name}" sandbox="allow-scripts allow-downloads" allow="clipboard-write" '
        f'style="{_FRAME_STYLE}" srcdoc="{html.escape(page)}">{_fallback(name, svg)}</iframe>'
    )


def _fallback(name: str, svg: str | None) -> str:
    if svg is None or len(svg) > _MOST_FALLBACK_CHARACTERS:
        return f"To see the graph of {name}, trust this notebook or run the cell again."
    return f'<img alt="{name}" src="data:image/svg+xml;base64,{b64encode(svg.encode()).decode("ascii")}">'


def _static(program: Program, options: ViewOptions | None) -> str | None:
    """A picture for pages without scripts; None if it would be too large or cannot be drawn."""
    if program.node_count > _MOST_NODES_IN_SVG:
        return None
    try:
        from opscope.render.writers.svg import svg_text

        return svg_text(program, options)
    except (ImportError, OpscopeError):
        return None


def show(x: Any, *inputs: Any, **options: Any) -> None:
    """Show anything that `opscope.save` can write: in the notebook, or else in the browser.

    `options` are those of `opscope view` (`graph`, `depth`, `flatten`, …). The browser opens a temporary file, so the script can continue,
    or end, while the page stays open.
    """
    inside = options.pop("inside", None)
    chosen = ViewOptions.of("show", options, "inside")
    chosen.require("html", "the viewer")
    shown = as_shown(x, *inputs, inside=inside)
    check_options(chosen, shown[0])
    if _displayed(shown, chosen):
        return
    path = temporary_directory("opscope-show-") / "page.html"  # for a day: the browser may load it again
    with whole_file(path) as part, part.open("w", encoding="utf-8", errors="backslashreplace") as file:
        file.writelines(document(shown, chosen))
    address = path.as_uri()
    if not webbrowser.open(address):
        say(address)


def _displayed(shown: Sequence[Program | Recording], options: ViewOptions) -> bool:
    """Show it in the current notebook; False if there is none."""
    marimo = sys.modules.get("marimo")
    if marimo is not None and marimo.running_in_notebook():
        marimo.output.append(marimo.Html(mimebundle(*shown, options=options)["text/html"]))
        return True
    if in_notebook():
        from IPython.display import display

        display(mimebundle(*shown, options=options), raw=True)
        return True
    return False


def in_notebook() -> bool:
    """Whether this is a notebook kernel, not a terminal."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    return shell is not None and type(shell).__name__ != "TerminalInteractiveShell"
