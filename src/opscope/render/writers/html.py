"""One HTML file with the whole viewer: it opens anywhere and makes no network requests.

The page contains one script (viewer and engine), the programs as compressed text in inert elements, and a Content-Security-Policy that
allows exactly this script and no request. Nothing of a program is ever part of the markup: names are inside the base64.
"""

from __future__ import annotations

import gzip
import html
import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from opscope.analysis.enrich import enrich
from opscope.analysis.source_files import SOURCES, recorded_texts, source_texts
from opscope.analysis.summary import MEASURED
from opscope.ellipsis import ellipsize
from opscope.errors import OpscopeError
from opscope.plugin import Progress
from opscope.program import CHANGE, Program
from opscope.readers.torch_memory import ALLOCATOR
from opscope.recording.model import Recording
from opscope.render.draw.check_options import check_options
from opscope.render.draw.predefined import PREDEFINED_STYLES
from opscope.render.draw.styling import first_run, page_settings
from opscope.render.wire.memory import packed_memory, programs_with_memory
from opscope.render.wire.program import encode_wire
from opscope.render.wire.recording import encode_recording
from opscope.view_options import ViewOptions

STYLE = (
    "html,body{margin:0;height:100%;background:#FCFCFD}#opscope{height:100%}"
    "@media(prefers-color-scheme:dark){html,body{background:#131316}}"
)
NO_SCRIPT = "A script in this file draws the picture. Enable JavaScript to see it."
_TITLE_LENGTH = 200


@cache
def viewer_script() -> str:
    """The bundled viewer. `node build.mjs` in web/ builds it, and it is part of every wheel."""
    script = files("opscope").joinpath("static", "viewer.js")
    try:
        text = script.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise OpscopeError("the viewer is not built; in a checkout, run: cd web && npm ci && node build.mjs") from None
    if "</script" in text.lower() or "<!--" in text:
        raise OpscopeError("the viewer's script cannot be embedded in a page; build it with web/build.mjs")
    return text


def policy(script: str, connect: str = "", worker: str = "blob:") -> str:
    """A Content-Security-Policy that allows only what the page itself contains."""
    rules = {
        "default-src": "'none'",
        "script-src": script,
        "worker-src": worker,
        "style-src": _hash(STYLE),
        "img-src": "blob: data:",
        "connect-src": connect or "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def page(title: str, config: Mapping[str, Any], script: str, body: Iterable[str] = (), csp: str = "") -> Iterator[str]:
    """The page in pieces. `script` is the whole element that starts the viewer, `csp` a policy for pages without HTTP headers.

    It is ASCII: with one other character in it, a browser keeps all of it at twice the size, and takes twice as long to begin.
    """
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    if csp:
        yield f'<meta http-equiv="Content-Security-Policy" content="{html.escape(csp)}">\n'
    shown = html.escape(f"{ellipsize(title, _TITLE_LENGTH)} · opscope").encode("ascii", "xmlcharrefreplace").decode()
    yield f'<meta name="viewport" content="width=device-width">\n<title>{shown}</title>\n'
    yield f'<style>{STYLE}</style>\n</head>\n<body>\n<div id="opscope"></div>\n<noscript>{NO_SCRIPT}</noscript>\n'
    yield from body
    config = {**config, "predefinedStyles": [style._asdict() for style in PREDEFINED_STYLES.values()]}
    yield f'<script type="application/json" id="opscope-config">{json_for_script(config)}</script>\n{script}\n</body>\n</html>\n'


def document(
    programs: Sequence[Program | Recording], options: ViewOptions | None = None, *, progress: Progress | None = None, **config: Any
) -> Iterator[str]:
    """The self-contained page of some programs and recordings, in pieces, so that a large one is not in memory twice."""
    script = viewer_script()
    sources: list[dict[str, Any]] = []
    data: dict[str, Callable[[], bytes]] = {}
    for i, program in enumerate(programs):
        sources.append({"name": program.name, "data": f"opscope-data-{i}", "memory": {}})
        data[f"opscope-data-{i}"] = partial(packed_wire, program, progress=progress, sources=options is not None and options.source_files)
        recording = program if isinstance(program, Recording) else None
        for index, snapshot in programs_with_memory(program).items():
            sources[i]["memory"][index] = f"opscope-memory-{i}-{index}"
            data[f"opscope-memory-{i}-{index}"] = partial(packed_memory, snapshot, recording)
    settings = {"sources": sources, "url": True, **initial(options or ViewOptions(), programs[0]), **config}
    if isinstance(programs[0], Program) and isinstance(programs[0].attrs.get(MEASURED), Mapping):
        settings["table"] = "modules"
    blocks = (
        f'<script type="application/octet-stream" id="{name}">{b64encode(packed()).decode("ascii")}</script>\n'
        for name, packed in data.items()
    )
    yield from page(programs[0].name, settings, f"<script>{script}</script>", blocks, policy(_hash(script)))


def packed_wire(program: Program | Recording, details: bool = True, progress: Progress | None = None, sources: bool = False) -> bytes:
    """The compressed wire of a program or recording. The same program always has the same bytes, unless they include `sources`: the files
    that nodes come from. Those that were recorded are always in it."""
    texts = recorded_texts(program.attrs)
    if sources:
        programs = (snapshot.program for snapshot in program) if isinstance(program, Recording) else [program]
        texts |= source_texts(programs, texts)
    fields = {SOURCES: texts} if texts else {}
    if isinstance(program, Recording):
        wire = encode_recording(program, progress, to_read=True, **fields)
    else:
        wire = encode_wire(enrich(program), details, own_text=details, **fields)
    return gzip.compress(wire, compresslevel=7, mtime=0)


def initial(options: ViewOptions, shown: Program | Recording | None = None) -> dict[str, Any]:
    """What the viewer shows first: the part of its state (`web/src/ui/state/view.ts`) that view options set, and the page's settings."""
    state = options.spec | options.request
    if isinstance(shown, Recording) and (options.diff is not None or shown.compares):
        state["pass"] = shown[-1].index  # as in a picture: what its last pass did
        state.setdefault("diff", "overlay")
        change = _time_change(shown[-1].program) if shown.compares else None
        if change is not None and not options.node_data:  # two profiles are compared to see what got slower
            state.setdefault("colourBy", change)
    theme = state.pop("theme", None)
    run = first_run(options.node_data)
    if run is not None:
        state.setdefault("colourBy", f"data:{run}")
    config: dict[str, Any] = {"initial": state} if state else {}
    config |= page_settings(options.style, options.node_data)
    if isinstance(shown, Program) and ALLOCATOR in shown.attrs:
        config["dock"] = "memory"
    if isinstance(shown, Recording) and shown.compares and _time_change(shown[-1].program) is not None:
        config["dock"] = "cost"
    if theme is not None:
        config["theme"] = theme
    return config


def _time_change(program: Program) -> str | None:
    """The name of the measured time, or else the first, whose change since another program the program has."""
    changes = [metric for metric in program.metrics.values() if metric.name.endswith(CHANGE)]
    return min(changes, key=lambda metric: metric.origin != "measured").name if changes else None


def write(programs: Sequence[Program | Recording], target: Path, options: ViewOptions, progress: Progress | None = None) -> None:
    """The writer's entry point (see `opscope.render`)."""
    check_options(options, programs[0])
    with target.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        file.writelines(document(programs, options, progress=progress))


def json_for_script(value: Any) -> str:
    """JSON that is safe inside a script element: it contains no markup, whatever the names are."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode('ascii')}'"
