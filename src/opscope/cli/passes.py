"""`opscope passes`."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import click

from opscope.cli.progress import progress
from opscope.cli.source import from_option, module_option
from opscope.cli.table import table

if TYPE_CHECKING:
    from opscope.recording.model import Recording
    from opscope.recording.rows import Row

_BARS = "▁▂▃▄▅▆▇█"
_FILE, _SECONDS = 1, 4
_NUMBER = re.compile(r"\.(\d{4,})\..+\.after_")


@click.command()
@click.argument("source", metavar="SOURCE", type=click.Path())
@module_option
@from_option
@click.option("--all", "everything", is_flag=True, help="Also the passes that changed nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every pass.")
def command(source: str, module: str | None, from_format: str | None, everything: bool, as_json: bool) -> None:
    """One row per pass: what it added, removed and changed.

    SOURCE is a recording (.opscope) or a folder that a compiler wrote: XLA's xla_dump_to, hidet's outs, AITemplate's debug dumps,
    torch's TORCH_TRACE logs.
    """
    from opscope.recording.sources import open_recording
    from opscope.render.wire.compare_passes import compared_rows

    with progress(f"reading {source}") as report:
        recording = open_recording(source, report, format=from_format)
    if module is not None:
        module = recording.module_named(module)
    with progress("comparing passes") as report:
        found = [row for row in compared_rows(recording, report) if module in (None, row.snapshot.module)]
    if as_json:
        click.echo(json.dumps([row.to_json() for row in found], indent=1, ensure_ascii=False))
        return
    for name in recording.modules:
        own = [row for row in found if row.snapshot.module == name]
        if own:
            click.echo((f"{name}\n" if name else "") + _text(own, everything) + "\n")
    click.echo(_remarks(recording, found, everything), nl=False)


def _text(rows: list[Row], everything: bool) -> str:
    timed = any(row.snapshot.seconds is not None for row in rows)
    most = max(row.snapshot.nodes for row in rows) or 1
    shown = [row for row in rows if everything or not row.unchanged or row.aside or row is rows[0]]
    numbered = any(_file_number(row) for row in rows)
    head = ["#", "file", "pipeline", "pass", "seconds", "nodes", "", "added", "removed", "changed"]
    kept = [i for i in range(len(head)) if (i != _FILE or numbered) and (i != _SECONDS or timed)]
    cells = [head, *(_cells(row, most) for row in shown)]
    return table([[row[i] for i in kept] for row in cells], "".join("rrllrrlrrr"[i] for i in kept))


def _file_number(row: Row) -> str:
    """The number that the compiler itself gave to the pass, where its file says it: XLA counts from the first pass on."""
    found = _NUMBER.search(str(row.snapshot.attrs.get("file", "")))
    return found[1] if found else ""


def _cells(row: Row, most: int) -> list[str]:
    s = row.snapshot
    bar = _BARS[min(7, s.nodes * 8 // (most + 1))]
    seconds = "" if s.seconds is None else f"{s.seconds:.3f}"
    pipeline = "  " * max(0, len(s.pipeline) - 1) + (s.pipeline[-1] if s.pipeline else "")
    counts = [f"{sign}{count:,}" if count else "" for sign, count in (("+", row.added), ("−", row.removed), ("~", row.changed))]
    return [str(s.index), _file_number(row), pipeline, s.name, seconds, f"{s.nodes:,}", bar, *counts[:2], row.aside or counts[2]]


def _remarks(recording: Recording, rows: list[Row], everything: bool) -> str:
    from opscope.recording.model import NOTHING_RECORDED

    quiet = sum(row.unchanged and not row.aside for row in rows)
    remarks = [f"{len(rows):,} passes, {quiet:,} of them changed nothing" + ("" if everything or not quiet else " (--all lists them)")]
    if not recording:
        remarks = [NOTHING_RECORDED]
    if recording.skipped:
        remarks.append(
            f"{len(recording.skipped)} files left out: " + "; ".join(recording.skipped[:3]) + "; …" * (len(recording.skipped) > 3)
        )
    remarks += recording.attrs.get("remarks", ())
    if "finished" not in recording.attrs:
        remarks.append("the recording was cut short: this is what was recorded until then")
    return "\n".join(remarks) + "\n"
