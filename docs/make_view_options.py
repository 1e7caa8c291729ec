"""Writes what is made from the table of view options (`src/opscope/view_options.py`): the TypeScript of it, and the table in
docs/cli.md. `make options` runs it; `tests/test_view_options.py` fails where either is out of date."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from opscope.view_options import ROWS, Row

ROOT = Path(__file__).resolve().parent.parent
TYPESCRIPT = ROOT / "web" / "src" / "core" / "program" / "viewOptions.ts"
DOCUMENTATION = ROOT / "docs" / "cli.md"
BEGIN = "<!-- view options: written by `make options` -->\n"
END = "<!-- end of view options -->\n"
TYPES = {"flag": "boolean", "switch": "boolean", "integer": "number", "text": "string", "texts": "readonly string[]"}
TYPES |= {"pair": "readonly [string, string]"}


def typescript() -> str:
    """The options that the drawing core and the page take: their types, defaults and places."""
    rows = [row for row in ROWS if row.goes != "python"]
    fields = "".join(f"  /** {row.help} */\n  readonly {row.camel}: {_type(row)};\n" for row in rows)
    table = "".join(f"  {row.camel}: {{ {', '.join(_entries(row))} }},\n" for row in rows)
    return (
        "/** The view options. Written by `make options` from src/opscope/view_options.py, which is the place to change them. */\n"
        f"export interface ViewOptions {{\n{fields}}}\n\n"
        "/** `url`: its key in the address, empty where it has none. `goes`: into the ViewSpec, or beside it into the request. */\n"
        f"export const VIEW_OPTIONS = {{\n{table}}} as const;\n"
    )


def _type(row: Row) -> str:
    type = " | ".join(map(json.dumps, row.choices)) if row.choices else TYPES[row.kind]
    return type if row.default is not None else f"{type} | undefined"


def _entries(row: Row) -> list[str]:
    entries = [f'kind: "{row.kind}"', f"default: {_literal(row.default)}", f'url: "{row.url}"', f'goes: "{row.goes}"']
    return entries + ([f"choices: {_literal(row.choices)}"] if row.choices else [])


def _literal(value: Any) -> str:
    return "undefined" if value is None else json.dumps(value)


def documentation() -> str:
    """docs/cli.md with the table of today."""
    text = DOCUMENTATION.read_text("utf-8")
    head, found, rest = text.partition(BEGIN)
    _, also_found, tail = rest.partition(END)
    if not found or not also_found:
        raise SystemExit(f"{DOCUMENTATION} has no block between {BEGIN.strip()} and {END.strip()}")
    return f"{head}{BEGIN}{_table()}{END}{tail}"


def _table() -> str:
    lines = ["| option | what it does | address | honoured by |", "|---|---|---|---|"]
    for row in ROWS:
        first, *others = row.flags
        value = "\\|".join(row.choices) or row.metavar
        option = ", ".join(f"`{flag}`" for flag in (f"{first} {value}".strip(), *others))
        default = "" if row.kind in ("flag", "switch") or row.default in (None, ()) else f" (default: {row.default})"
        end = "" if row.help.endswith("…") else "."
        what = f"{row.help.removesuffix('.')}{default}{end}{' ' + row.more if row.more else ''}"
        lines.append(f"| {option} | {what} | {f'`{row.url}`' if row.url else ''} | {', '.join(row.writers)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    TYPESCRIPT.write_text(typescript(), "utf-8")
    DOCUMENTATION.write_text(documentation(), "utf-8")
