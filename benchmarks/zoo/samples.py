"""Files of other projects: the test data of StableHLO and the samples of Model Explorer, each against its own text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import opscope
from opscope.loading import load_all
from opscope.readers.mlir import read_mlir

_RESULT = re.compile(r"^\s*%[\w$.-]+(?::\d+)?(?:, %[\w$.:-]+)* = ", re.M)


def entries(quick: bool, directory: Path) -> Iterator[Path]:
    """MLIR files and JSON files with graphs below a directory."""
    files = sorted(path for path in directory.rglob("*") if path.suffix in (".mlir", ".json", ".tflite", ".pb"))
    return iter(files[:: 40 if quick else 1])


def check(path: Path) -> dict[str, Any]:
    """A text defines as many values as the programs have operations with a result."""
    row: dict[str, Any] = {"stages": {}, "wrong": []}
    try:
        programs = [read_mlir(path.read_text())] if path.suffix == ".mlir" else load_all(str(path))
    except opscope.OpscopeError as error:
        return row | {"stages": {"read": f"refused: {error}"}}
    except Exception as error:
        return row | {"stages": {"read": f"failed: {type(error).__name__}: {error}"}}
    nodes = [node for program in programs for graph in program for node in graph]
    row |= {"stages": {"read": "ok"}, "nodes": len(nodes)}
    if path.suffix == ".mlir":
        text = re.sub(r"//.*", "", path.read_text())
        counts = len(_RESULT.findall(text)) + text.count(" applies "), sum(not node.is_argument and bool(node.outputs) for node in nodes)
        row["wrong"] = [] if counts[0] == counts[1] else [f"{counts[1]} of {counts[0]} operations"]
    elif path.suffix == ".json":
        ids = [node["id"] for graph in json.loads(path.read_text())["graphs"] for node in graph["nodes"]]
        row["wrong"] = sorted({*ids} - {node.id for node in nodes})
    return row
