"""The kernel lane: what the device did in a typical step, in order, by stream, and for which node."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import opscope
from opscope.profile.lane import LANE, Piece, lane_facts, typical, with_lane
from opscope.program import Program, ProgramBuilder

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
STEP = [
    Piece("second", ("main", "b"), "stream 7", 10.0 + 3e-6, 2e-6),
    Piece("first", ("main", "a"), "stream 7", 10.0, 1e-6),
    Piece("stranger", ("elsewhere", "z"), "stream 20", 10.0 + 1e-6, 5e-7),
]


def program() -> Program:
    builder = ProgramBuilder("two", "main")
    builder.graph("other").node("p", "parameter", role="parameter")
    main = builder.graph("main")
    main.node("a", "exp")
    main.node("b", "tanh", [("a", 0)])
    main.outputs.append(("b", 0))
    return builder.build()


def test_a_typical_step_is_the_one_in_the_middle() -> None:
    assert typical([5.0, 1.0, 9.0]) == 0 and typical([2.0]) == 0


def test_the_lane_is_in_the_order_of_time_and_names_the_nodes_of_the_program() -> None:
    lane = lane_facts(with_lane(program(), STEP), {"other": 0, "main": 1})["lane"]
    names = [lane["kernels"][number] for number in lane["kernel"]]
    assert names == ["first", "stranger", "second"] and lane["streams"] == ["stream 20", "stream 7"]
    assert (lane["start"], lane["duration"], lane["node"]) == ([0, 1000, 3000], [1000, 500, 2000], [1, -1, 2])
    assert with_lane(program(), []).attrs == {}


@pytest.mark.parametrize(
    "change", [{"node": [7, 0, 0]}, {"kernel": [0]}, {"stream": [0, 9, 0]}, {"nodes": [["main", "gone"]]}, {"start": "now"}]
)
def test_what_a_file_has_instead_of_a_lane_is_not_shown(change: dict[str, Any]) -> None:
    whole = with_lane(program(), STEP)
    lane: dict[str, Any] = whole.attrs[LANE]
    starts = {"other": 0, "main": 1}
    assert lane_facts(whole, starts) and not lane_facts(replace(whole, attrs={LANE: {**lane, **change}}), starts)
    assert not lane_facts(replace(whole, attrs={LANE: 3}), starts)


@pytest.mark.parametrize(
    ("sample", "streams"), [("xplane/loop.xplane.pb", None), ("kineto/eager.json.gz", ["stream 7"]), ("kineto/graphs.json", ["stream 7"])]
)
def test_the_lane_of_a_profile_has_the_time_of_a_step(sample: str, streams: list[str] | None) -> None:
    profiled = opscope.load(SAMPLES / sample)
    lane = profiled.attrs[LANE]
    assert -1 not in lane["node"] and lane["start"] == sorted(lane["start"])
    assert lane["streams"] == streams if streams else all(lane["streams"])
    step = sum(lane["duration"]) * 1e-9
    assert step == pytest.approx(sum(profiled.main.metrics["device time"].values()), rel=0.6), "steps differ, but not by that much"
    ran = {tuple(node) for node in lane["nodes"]}
    assert ran <= {(graph.name, node.id) for graph in profiled for node in graph}
