"""NXP's workflow, with its own quantizer, passes and partitioner: what opscope draws of the result, and what ExecuTorch writes of it."""

from __future__ import annotations

import copy
import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from quantized_models import neutron

import opscope

utils = pytest.importorskip("executorch.devtools.visualization.visualization_utils", reason="needs Model Explorer")

_RECT = r'<rect x="([-\d.]+)" y="([-\d.]+)" width="([\d.]+)" height="([\d.]+)"'


def drawn(picture: str, kind: str, prefix: str) -> dict[str, tuple[float, ...]]:
    """The rectangles of a picture's frames or boxes, by name: left, top, right, bottom."""
    found = re.findall(rf'<g class="{kind}"[^>]* data-key="{prefix}:([^"]*)">.*?{_RECT}', picture, re.S)
    return {name: (float(x), float(y), float(x) + float(w), float(y) + float(h)) for name, x, y, w, h in found}


def is_inside(inner: tuple[float, ...], outer: tuple[float, ...]) -> bool:
    return inner[0] >= outer[0] and inner[1] >= outer[1] and inner[2] <= outer[2] and inner[3] <= outer[3]


@pytest.mark.step("4.9", "4.19", "4.20")
def test_every_operation_is_in_the_frames_that_executorch_names(tmp_path: Path) -> None:
    """Partitions, clusters in them, and a cluster outside of them, whose operation Neutron does not support."""
    utils.visualize_with_clusters(neutron(), json_file_name=str(tmp_path / "theirs.json"))
    theirs = {node["id"]: node["namespace"] for node in json.loads((tmp_path / "theirs.json").read_text())["graphs"][0]["nodes"]}
    frames_there = {space[: match.start()] for space in theirs.values() for match in re.finditer("/|$", space) if space}
    assert len([name for name in frames_there if name.startswith("partition")]) == 2 + 4
    assert "cluster (aten_cumsum_default_cluster)" in frames_there
    picture = tmp_path / "ours.svg"
    opscope.save(opscope.capture(neutron()), picture, group_by="partition", depth=9, all_nodes=True, fold=False, frames=True, wrap=False)
    text = picture.read_text()
    frames, boxes = drawn(text, "frame", "g"), drawn(text, "box", "n")
    assert set(frames) == frames_there
    operations = {node.name for node in neutron().graph.nodes if node.op == "call_function"}
    assert operations <= set(boxes)
    for name in operations:
        around = {frame for frame, place in frames.items() if is_inside(boxes[name], place)}
        space = theirs[name]
        assert around == {space[: match.start()] for match in re.finditer("/|$", space) if space}, name


@pytest.mark.step("4.9")
def test_clusters_that_nobody_marked_are_those_that_nxp_marks() -> None:
    unmarked = copy.deepcopy(neutron())
    marked: dict[str, set[str]] = defaultdict(set)
    for node in unmarked.graph.nodes:
        if cluster := node.meta.pop("cluster", None):
            marked[cluster].add(node.name)
    found: dict[Any, set[str]] = defaultdict(set)
    for node_id, path in opscope.capture(unmarked).main.groupings["qdq cluster"].items():
        found[path[-1]].add(node_id)
    operations = {node.name for node in unmarked.graph.nodes if node.op == "call_function"}
    assert sorted(map(sorted, marked.values())) == sorted(sorted(names & operations) for names in found.values())


@pytest.mark.step("4.19")
def test_a_closed_partition_says_what_is_in_it(tmp_path: Path) -> None:
    """Model Explorer's has only its name."""
    picture = tmp_path / "closed.svg"
    opscope.save(opscope.capture(neutron()), picture, group_by="partition", depth=0)
    tagged: dict[str, int] = defaultdict(int)
    for node in neutron().graph.nodes:
        if node.op == "call_function" and "delegation_tag" in node.meta:
            tagged[node.meta["delegation_tag"]] += 1
    for tag, count in tagged.items():
        assert re.search(rf">partition \d \({tag}\)<.*?>{count} ops", picture.read_text(), re.S), tag
