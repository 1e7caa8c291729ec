"""`opscope formats`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from opscope.cli.table import table

if TYPE_CHECKING:
    from opscope.plugin import Plugin


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """What can be read and written here, and what to install for the rest.

    Readers are tried on every SOURCE and the surest one reads it; `--reader NAME` chooses by hand. Writers go by the suffix of
    the output file; `--format NAME` chooses by hand.
    """
    from opscope.readers import readers
    from opscope.recording.sources import DUMPS
    from opscope.render import WRITERS

    reads = [{**_row(row), "objects": list(row.objects)} for row in readers()]
    writes = [_row(row) for row in WRITERS]
    dumps = [_row(row) for row in DUMPS]
    if as_json:
        click.echo(json.dumps({"readers": reads, "writers": writes, "dumps": dumps}, indent=1))
        return
    blocks = (
        ("reads", [(*_kinds(row, *(f"{name} objects" for name in row["objects"])), row["install"]) for row in reads]),
        ("writes", [(*_kinds(row), row["install"]) for row in writes]),
        ("passes", [("opscope", ".opscope", "recordings, read and written"), *(_kinds(row, "folders") for row in dumps)]),
    )
    click.echo("\n".join(f"{title}\n  " + table(rows).replace("\n", "\n  ") for title, rows in blocks))


def _kinds(row: dict[str, Any], *others: str) -> tuple[str, str, str]:
    """Its name, what it comes as, and what it is."""
    return row["name"], " ".join([*row["suffixes"], *others]), row["what"]


def _row(row: Plugin) -> dict[str, Any]:
    return {
        "name": row.name,
        "what": row.what,
        "suffixes": list(row.suffixes),
        "available": not row.missing,
        "install": row.install_hint if row.missing else "",
    }
