"""Files of a Program: pictures, pages, and what other tools read. This file is the table of writers and the way in: `save`.

A writer module has `write(programs, target, options, progress)`, where `target` is a Path to be made. Rows are data, so that listing the
formats imports nothing. The first row with a suffix is what that suffix means; the others are asked for by name (`--format`).
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from os.path import realpath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from opscope.analysis.summary import Summary
from opscope.errors import OpscopeError
from opscope.loading import only_program
from opscope.plugin import Plugin, Progress
from opscope.program import Program
from opscope.recording.model import Recording
from opscope.view_options import ViewOptions


@dataclass(frozen=True)
class Writer(Plugin):
    """A row of the table of writers. Which view options it honours is said in `opscope.view_options`."""

    begins: tuple[bytes, ...] = ()
    """How its files begin, lower case, so that a file of another kind is not overwritten by accident."""
    several: bool = False
    """Can one file hold several programs?"""


WRITERS: tuple[Writer, ...] = (
    Writer(
        "html", "opscope.render.writers.html", "the viewer in one file, to open anywhere", (".html", ".htm"),
        begins=(b"<!doctype html",), several=True,
    ),
    Writer(
        "svg", "opscope.render.writers.svg", "SVG picture with selectable text", (".svg",),
        begins=(b"<svg", b"<?xml"), needs=("py_mini_racer",),
    ),
    Writer(
        "png", "opscope.render.writers.png", "PNG picture", (".png",),
        begins=(b"\x89png",), needs=("py_mini_racer", "resvg_py"),
    ),
    Writer(
        "pdf", "opscope.render.writers.pdf", "PDF picture, vectors with selectable text", (".pdf",),
        begins=(b"%pdf",), needs=("py_mini_racer",),
    ),
    Writer(
        "json", "opscope.render.writers.json", "opscope's own JSON, readable again", (".json",),
        begins=(b'{"format": "opscope"',), several=True,
    ),
    Writer(
        "dot", "opscope.render.writers.dot", "Graphviz DOT with clusters", (".dot", ".gv"),
        begins=(b"digraph",), needs=("py_mini_racer",),
    ),
    Writer(
        "netron", "opscope.render.writers.netron", "JSON that Netron opens", (".netron",),
        begins=(b'{"signature": "netron:',),
    ),
    Writer("hidet-netron", "opscope.render.writers.hidet_netron", "hidet's netron JSON", (".json",), begins=(b"{",)),
    Writer(
        "model-explorer", "opscope.render.writers.model_explorer", "Model Explorer's graph JSON", (),
        begins=(b'{"label":', b'[{"label":', b'[{"id":'), several=True,
    ),
    Writer(
        "hlo", "opscope.render.writers.hlo", "HLO text of a part (of sources that are HLO)", (".hlo",), begins=(b"hlomodule",),
    ),
)  # fmt: skip


def find_writer(target: Path, format: str | None = None) -> Writer:
    """By name where one is given, else by the suffix of the file to be made."""
    if format is not None:
        for row in WRITERS:
            if row.name == format:
                return row
        raise OpscopeError(f"no format named {format!r}; there are: {', '.join(row.name for row in WRITERS)}")
    for row in WRITERS:
        if target.suffix.lower() in row.suffixes:
            return row
    known = ", ".join(dict.fromkeys([*(suffix for row in WRITERS for suffix in row.suffixes), ".opscope"]))
    what = f"suffix {target.suffix!r} is unknown" if target.suffix else "has no suffix to choose a format by"
    raise OpscopeError(f"{target}: {what}; there are: {known} (or --format NAME)")


def write(
    programs: list[Program] | list[Recording],
    target: Path,
    options: ViewOptions,
    writer: Writer | None = None,
    progress: Progress | None = None,
) -> None:
    """Make a file with a writer, or with that of its suffix. It appears under its name only when it is complete."""
    row = writer or find_writer(target)
    if not row.several and len(programs) > 1:
        only_program("", [each for each in programs if isinstance(each, Program)])
    if row.missing:
        raise OpscopeError(f"writing {row.what} needs {', '.join(row.missing)}: {row.install_hint}")
    options.require(row.name, f"{row.name} files")
    if not target.parent.is_dir():
        raise OpscopeError(f"{target.parent}: no such folder; make it first")
    target = Path(realpath(target))
    if target.exists() and not target.is_file():
        if target.is_dir():
            raise OpscopeError(f"{target}: is a folder; name a file in it")
        with TemporaryDirectory() as folder, target.open("wb") as device:
            made = Path(folder, "made")
            row.load().write(programs, made, options, progress)
            device.write(made.read_bytes())
        return
    partial = target.with_name(f".{target.name}.part")
    try:
        row.load().write(programs, partial, options, progress)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def save(x: Any, path: str | PathLike[str], *, format: str | None = None, **options: Any) -> None:
    """Write a Program, several, a Recording, a Summary (the viewer opens with its table), or any live object that can be captured,
    by the suffix of the path.

    `options` are the fields of ViewOptions: `opscope.save(program, "step.dot", graph="body.3")`.
    """
    chosen = ViewOptions.of("save", options)
    if isinstance(x, Summary):
        if Path(path).suffix.lower() == ".csv" and format is None and not options:
            x.to_csv(path)
            return
        x = x.program
    row = find_writer(Path(path), format)
    programs: list[Program] | list[Recording]
    if isinstance(x, Recording):
        programs = [x] if row.name == "html" or chosen.diff is not None else [x.snapshot(-1).program]
    elif isinstance(x, Program):
        programs = [x]
    elif isinstance(x, (list, tuple)) and x and all(isinstance(each, Program) for each in x):
        programs = list(x)
    else:
        from opscope.readers import capture_object

        programs = [capture_object(x)]
    write(programs, Path(path), chosen, row)
