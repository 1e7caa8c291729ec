"""`opscope formats`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from opscope.cli.table import table
from opscope.terminal import say, say_json

if TYPE_CHECKING:
    from opscope.plugin import Plugin
    from opscope.readers import Reader


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """List the supported formats and what to install for the rest.

    SOURCE is recognized by its contents; --from NAME overrides that. The suffix chooses the format to write; --to NAME overrides that.
    """
    from opscope.readers import readers
    from opscope.recording.dumps import dumps
    from opscope.render import WRITERS

    reads = [_reader(row) for row in readers()]
    writes = [_row(row) for row in WRITERS]
    passes = [_row(row) for row in dumps()]
    if as_json:
        old_names = {"readers": reads, "writers": writes, "dumps": passes}  # what 0.1 called these lists
        say_json({"reads": reads, "writes": writes, "passes": passes, **old_names}, indent=1)
        return
    blocks = (
        ("reads (--from NAME)", [_cells(row, *(f"{name} objects" for name in row["objects"])) for row in reads]),
        ("writes (--to NAME)", [_cells(row) for row in writes]),
        ("passes", [("opscope", ".opscope", "recordings, read and written", ""), *(_cells(row, "directories") for row in passes)]),
    )
    for title, rows in blocks:
        say(title, *(f"  {line}" for line in table(rows)))


def _cells(row: dict[str, Any], *others: str) -> tuple[str, str, str, str]:
    """Its name, its suffixes or objects, its description, and how to install it."""
    install = row["install"]
    if install and row["available"]:
        install = f"for {row['objects'][0]} objects: {install}"
    return row["name"], " ".join([*row["suffixes"], *others]), row["what"], install


def _row(row: Plugin) -> dict[str, Any]:
    return {
        "name": row.name,
        "what": row.what,
        "suffixes": list(row.suffixes),
        "available": not row.missing,
        "install": row.install_hint if row.missing else "",
    }


def _reader(row: Reader) -> dict[str, Any]:
    """A reader may be able to read files although the framework of its objects is not installed."""
    files = bool(row.suffixes) and not row.missing
    missing = row.missing or row.objects_missing
    return {
        **_row(row),
        "available": files or not missing,
        "install": row.install_hint if missing else "",
        "objects": list(row.objects),
        "objects_available": bool(row.objects) and not row.objects_missing,
    }
