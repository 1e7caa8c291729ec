"""Files of a Program: pictures, pages, and files for other tools. This file has the table of writers and the entry point, `save`.

A writer module has `write(programs, target, options, progress)`, where `target` is the path to write. Rows are data, so listing the
formats imports nothing, nor does comparing passes import what reads sources. A suffix means the first row that has it; the others are
chosen by name (`--to`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opscope.errors import OpscopeError
from opscope.naming import suggest
from opscope.plugin import Plugin, Progress
from opscope.program import Program
from opscope.recording.model import Recording
from opscope.view_options import ROWS, ViewOptions
from opscope.whole_file import check_target, refuse_to_replace, titled, whole_file

if TYPE_CHECKING:
    from opscope.analysis.summary import Summary


@dataclass(frozen=True)
class Writer(Plugin):
    """A row of the table of writers. `opscope.view_options` says which view options it honours."""

    begins: tuple[bytes, ...] = ()
    """How its files begin, in lower case, so that another kind of file is not replaced by accident. If empty, no file is replaced."""
    several: bool = False
    """Whether one file can contain several programs."""
    passes: bool = False
    """Whether it writes the passes of a recording. Other writers write the program after the last pass."""
    programs: bool = True
    """Whether it writes programs that are not part of a recording."""


WRITERS: tuple[Writer, ...] = (
    Writer(
        "html", "opscope.render.writers.html", "the viewer in one file, to open anywhere", (".html", ".htm"),
        begins=(b"<!doctype html",), several=True, passes=True,
    ),
    Writer(
        "svg", "opscope.render.writers.svg", "SVG picture with selectable text", (".svg",),
        begins=(b"<svg", b"<?xml"),
    ),
    Writer(
        "png", "opscope.render.writers.png", "PNG picture", (".png",),
        begins=(b"\x89png",),
    ),
    Writer(
        "pdf", "opscope.render.writers.pdf", "PDF picture, vectors with selectable text", (".pdf",),
        begins=(b"%pdf",),
    ),
    Writer(
        "jpg", "opscope.render.writers.jpg", "JPEG picture", (".jpg", ".jpeg"), ("PIL",), "opscope[images]",
        begins=(b"\xff\xd8",),
    ),
    Writer(
        "webp", "opscope.render.writers.webp", "WebP picture", (".webp",), ("PIL",), "opscope[images]",
        begins=(b"riff",),
    ),
    Writer(
        "gif", "opscope.render.writers.gif", "GIF picture", (".gif",), ("PIL",), "opscope[images]",
        begins=(b"gif8",),
    ),
    Writer(
        "json", "opscope.render.writers.json", "opscope's own JSON, readable again", (".json",),
        begins=(b'{"format": "opscope"',), several=True,
    ),
    Writer(
        "dot", "opscope.render.writers.dot", "Graphviz DOT with clusters", (".dot", ".gv"),
        begins=(b"digraph",),
    ),
    Writer(
        "drawio", "opscope.render.writers.drawio", "draw.io diagram with connected boxes, to edit", (".drawio",),
        begins=(b"<mxfile",),
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
    Writer(
        "opscope", "opscope.render.writers.opscope", "recording of a compiler's passes", (".opscope",),
        passes=True, programs=False,
    ),
)  # fmt: skip


def find_writer(target: Path, format: str | None = None) -> Writer:
    """The writer of a format, by name if one is given, otherwise by the suffix of the target."""
    if format is not None:
        for row in WRITERS:
            if row.name == format:
                return row
        raise OpscopeError(f"no writer for format {format!r}{suggest(format, [row.name for row in WRITERS])}")
    for row in WRITERS:
        if target.suffix.lower() in row.suffixes:
            return row
    suffixes = ", ".join(dict.fromkeys(suffix for row in WRITERS for suffix in row.suffixes))
    what = f"unknown suffix {target.suffix!r}" if target.suffix else "has no suffix to choose a format by"
    raise OpscopeError(f"{target}: {what}; use one of {suffixes} (or --to NAME, in Python format=NAME)")


def write(
    shown: Sequence[Program | Recording],
    target: Path,
    options: ViewOptions,
    writer: Writer | None = None,
    progress: Progress | None = None,
) -> None:
    """Write a file with the given writer, or with that of its suffix. It appears under its name only when it is complete."""
    row = writer or find_writer(target)
    if row.refusal:
        raise OpscopeError(f"writing {row.refusal}")
    if any(isinstance(item, Recording) and item.compares for item in shown):
        options = comparison_options(row, options)
    options.require(row.name, f"{titled(row.name)} files")
    programs = [_for_writer(row, item, options) for item in shown]
    if not row.several:
        from opscope.loading import only_program

        only_program("", programs)
    check_target(target)
    with whole_file(target) as part:
        row.load().write(programs, part, options, progress)


def comparison_options(row: Writer, options: ViewOptions) -> ViewOptions:
    """The options for a comparison of two programs: both are drawn in one picture, unless `diff` says otherwise."""
    drawn = next(option.writers for option in ROWS if option.name == "diff")
    if row.name not in drawn and not row.passes:
        raise OpscopeError(f"{titled(row.name)} files cannot contain a comparison; write one of {', '.join((*drawn, 'opscope'))}")
    return options if options.diff is not None or row.name not in drawn else replace(options, diff="overlay")


def _for_writer(row: Writer, shown: Program | Recording, options: ViewOptions) -> Program | Recording:
    """The recording for writers of passes, and for a picture of what a pass did; the program for other writers."""
    if isinstance(shown, Recording):
        return shown if row.passes or options.diff is not None else shown.snapshot(-1).program
    if not row.programs:
        raise OpscopeError(f"{row.name} files contain the passes of a recording, but {shown.name} is a single program; write .json instead")
    return shown


def save(x: Any, path: str | PathLike[str], *inputs: Any, format: str | None = None, overwrite: bool = False, **options: Any) -> None:
    """Write a Program, several, a Recording, a Diff, a Summary, or an object that `capture` accepts with its inputs. The suffix chooses
    the format.

    An existing file is replaced if it has the same format; any other file, and a recording, only with `overwrite`. `options` are the
    fields of ViewOptions: `opscope.save(program, "step.dot", graph="body.3")`; `inside` takes one module: `inside="layers.0.self_attn"`.
    """
    from opscope.analysis.summary import Summary
    from opscope.loading import as_shown

    target = Path(path)
    inside = options.pop("inside", None)
    chosen = ViewOptions.of("save", options, "format", "overwrite", "inside")
    if isinstance(x, Summary) and target.suffix.lower() == ".csv" and format is None:
        chosen.require("csv", "CSV files")
        _save_table(x, target, overwrite)
        return
    row = find_writer(target, format)
    if not overwrite:
        refuse_to_replace(target, row.name, row.begins)
    write(as_shown(x, *inputs, inside=inside), target, chosen, row)


def _save_table(summary: Summary, target: Path, overwrite: bool) -> None:
    text = summary.to_csv()
    if not overwrite:
        refuse_to_replace(target, "csv", (text.partition(",")[0].lower().encode(),))
    with whole_file(target) as part:
        part.write_text(text, encoding="utf-8", newline="")
