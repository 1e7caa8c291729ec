"""Style rules and node data, from files or Python data. The drawing core interprets them.

A style is a list of rules in Model Explorer's format, a file of such rules, or the name of a predefined style. Node data is a file in
Model Explorer's node-data format, or such data.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from opscope.errors import OpscopeError, SourceError, in_source
from opscope.json_text import parsed_json
from opscope.readers.source import Source
from opscope.render.draw.predefined import PREDEFINED_STYLES
from opscope.view_options import NodeData, Style


def style_rules(style: Style) -> list[Any]:
    """The rules in the form that the core expects."""
    if not isinstance(style, (str, PathLike)):
        return [dict(rule) for rule in style]
    name = fspath(style)
    if name in PREDEFINED_STYLES and not Path(name).exists():
        return PREDEFINED_STYLES[name].rules
    help = f"; predefined styles: {', '.join(PREDEFINED_STYLES)}"
    rules = _read_json(name, help)
    if not isinstance(rules, list):
        raise SourceError(f"expected a list of style rules, as Model Explorer's style editor exports them{help}", name)
    return rules


def data_files(node_data: NodeData | Sequence[NodeData]) -> list[dict[str, Any]]:
    """Each file with its name, in the form that the core expects."""
    several = [node_data] if isinstance(node_data, (str, PathLike, Mapping)) else list(node_data)
    return [
        {"name": "node data", "file": dict(one)} if isinstance(one, Mapping) else {"name": Path(one).name, "file": _read_json(fspath(one))}
        for one in several
    ]


def page_settings(style: Style | None, node_data: Sequence[NodeData]) -> dict[str, Any]:
    """Style rules and node data for a page's settings. The page starts with the colours of the first run."""
    settings: dict[str, Any] = {} if style is None else {"styles": style_rules(style)}
    files = data_files(node_data)
    if files:
        settings["nodeData"] = [{"name": one["name"], "text": json.dumps(one["file"])} for one in files]
    return settings


def first_run(node_data: Sequence[NodeData]) -> str | None:
    """The name of the first run, by the core's rule: its own name, or the file's without the suffix."""
    for one in data_files(node_data)[:1]:
        file = one["file"]
        runs = file if isinstance(file, dict) else {}
        run = runs if "results" in runs else next(iter(runs.values()), None)
        name = run.get("name") if isinstance(run, dict) else None
        return str(name) if name is not None else one["name"].removesuffix(".json")
    return None


def _read_json(name: str, help: str = "") -> Any:
    """The data in a file, which may be a pipe, and has the limits of a source."""
    try:
        source = Source(name)
        if source.is_directory:
            raise SourceError("is a directory; expected a JSON file", name)
        text = source.read_text()
    except SourceError as error:
        raise SourceError(f"cannot be read: {error.message}{help}", name) from None
    with in_source(name):
        return parsed_json(text)


def only_one(node_data: Sequence[NodeData]) -> dict[str, Any]:
    """The only file of node data: a picture has one colour per box."""
    if len(node_data) > 1:
        raise OpscopeError(f"a picture shows one file of node data, not {len(node_data)}; write .html to switch between them")
    return data_files(node_data)[0]
