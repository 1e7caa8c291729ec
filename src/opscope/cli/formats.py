"""`opscope formats`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from opscope.cli.table import table

if TYPE_CHECKING:
    from opscope.readers import Reader
    from opscope.render import Writer


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """What can be read and written here, and what to install for the rest.

    Readers are tried on every SOURCE and the surest one reads it; `--reader NAME` chooses by hand. Writers go by the suffix of
    the output file; `--format NAME` chooses by hand.
    """
    from opscope.readers import readers
    from opscope.render import WRITERS

    reads = [{**_row(row), "objects": list(row.objects)} for row in readers()]
    writes = [_row(row) for row in WRITERS]
    if as_json:
        click.echo(json.dumps({"readers": reads, "writers": writes}, indent=1))
        return
    for title, rows in (("reads", reads), ("writes", writes)):
        cells = []
        for row in rows:
            kinds = [*row["suffixes"], *(f"{name} objects" for name in row.get("objects", ()))]
            cells.append((row["name"], " ".join(kinds), row["what"], row["install"]))
        click.echo(f"{title}\n  " + table(cells).replace("\n", "\n  "))


def _row(row: Reader | Writer) -> dict[str, Any]:
    return {
        "name": row.name,
        "what": row.what,
        "suffixes": list(row.suffixes),
        "available": not row.missing,
        "install": row.install_hint if row.missing else "",
    }
