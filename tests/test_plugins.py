"""Readers and dump readers of other packages: built from CONTRIBUTING's examples, found through real entry points."""

from __future__ import annotations

import json
import os
import re
import textwrap
from pathlib import Path

import pytest
from conftest import ROOT, Run

ROWS = """
from opscope.readers import Reader
from opscope.recording.dumps import Dump

EDGES = Reader("edges", "edges_plugin.reader", "lists of edges", (".edges",))
EDGEC = [Dump("edgec", "edges_plugin.dump", "dumps of edgec")]
NEEDY = Reader("needy", "edges_plugin.reader", "edges that need more", (".needy",), ("no_such_module",), "needy-edges")
WRONG = "not a row"
MIXED = EDGEC
UNTUPLED = Reader("untupled", "edges_plugin.reader", "one suffix", (".edges"))
"""
ENTRY_POINTS = """[opscope.readers]
edges = edges_plugin:EDGES
needy = edges_plugin:NEEDY
wrong = edges_plugin:WRONG
mixed = edges_plugin:MIXED
untupled = edges_plugin:UNTUPLED
absent = edges_plugin.nowhere:ROW

[opscope.dumps]
edgec = edges_plugin:EDGEC
"""


def example(title: str) -> str:
    """The code under a heading of CONTRIBUTING."""
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    code = re.search(rf"^### {title}\n.*?```python\n(.*?)```", page, re.M | re.S)
    assert code, f"CONTRIBUTING.md has no example under {title!r}"
    return textwrap.dedent(code[1])


@pytest.fixture
def plugin(tmp_path: Path) -> dict[str, str]:
    """An environment with the package installed."""
    site = tmp_path / "site"
    package, metadata = site / "edges_plugin", site / "edges_plugin-1.0.dist-info"
    package.mkdir(parents=True)
    metadata.mkdir()
    (package / "__init__.py").write_text(ROWS)
    (package / "reader.py").write_text(example("Add a format"))
    (package / "dump.py").write_text(example("Add a dump reader"))
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: edges-plugin\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    return {"PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])}


@pytest.mark.slow
def test_a_reader_of_another_package_reads(run: Run, tmp_path: Path, plugin: dict[str, str]) -> None:
    (tmp_path / "net.edges").write_text("EDGES\na <- \nb <- a\nc <- a b\n")
    info = run("info", "net.edges", "--json", env=plugin)
    assert info.returncode == 0 and json.loads(info.stdout)["nodes"] == 3, info.stderr
    (tmp_path / "bad.edges").write_text("EDGES\na\n")
    assert "bad.edges:2: expected `name <- input input …`" in run("info", "bad.edges", env=plugin).stderr


@pytest.mark.slow
def test_a_dump_of_another_package_is_a_recording(run: Run, tmp_path: Path, plugin: dict[str, str]) -> None:
    dump = tmp_path / "dump"
    dump.mkdir()
    (dump / "00-start.edges").write_text("EDGES\na <- \nb <- a\nc <- a b\n")
    (dump / "01-fold.edges").write_text("EDGES\na <- \nc <- a\n")
    rows = json.loads(run("passes", "dump", "--json", env=plugin).stdout)
    assert [(row["pass"], row["nodes"]) for row in rows] == [("start", 3), ("fold", 2)]
    assert json.loads(run("info", "dump@0", "--json", env=plugin).stdout)["nodes"] == 3
    exported = run("export", "dump", "-o", "run.opscope", env=plugin)
    assert json.loads(run("passes", "run.opscope", "--json").stdout) == rows, exported.stderr


def test_formats_lists_them_and_says_what_is_wrong_with_others(run: Run, plugin: dict[str, str]) -> None:
    done = run("formats", "--json", env=plugin)
    formats = json.loads(done.stdout)
    needy = next(row for row in formats["reads"] if row["name"] == "needy")
    assert (needy["available"], needy["install"]) == (False, "pip install needy-edges")
    assert "edges" in [row["name"] for row in formats["reads"]] and "edgec" in [row["name"] for row in formats["passes"]]
    assert formats["readers"] == formats["reads"] and formats["writers"] == formats["writes"] and formats["dumps"] == formats["passes"]
    complaint = "plug-in {} (opscope.readers) could not be loaded: "
    assert complaint.format("wrong") + "'not a row' is a str, but opscope.readers takes Reader(…)" in done.stderr
    assert complaint.format("mixed") + "Dump(name='edgec', " in done.stderr and "is a Dump, but opscope.readers takes" in done.stderr
    assert complaint.format("untupled") + "suffixes of 'untupled' is a str, not a tuple; write ('.edges',)" in done.stderr
    assert "plug-in absent (opscope.readers) could not be loaded: No module named 'edges_plugin.nowhere'" in done.stderr
