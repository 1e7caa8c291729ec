"""Nodes with more results than most: the state of a loop of a training step."""

from __future__ import annotations

import pytest
from support.compared import program

from opscope.recording.diff import Diff, diff_passes

COUNT = 130


def _results(order: list[int]) -> Diff:
    """A call with many results of one type, of which two are used; `order` says which, before and after."""
    types = ", ".join(["f32[8]{0}"] * COUNT)
    texts = []
    for name, (first, second) in (("", order[:2]), ("r", order[2:])):
        texts.append(
            f"""%{name}call.1 = ({types}) custom-call(%x), custom_call_target="step"
                %{name}neg.4 = f32[8]{{0}} negate(%{name}call.1#{first})
                %{name}neg.5 = f32[8]{{0}} negate(%{name}call.1#{second})
                ROOT %{name}subtract.6 = f32[8]{{0}} subtract(%{name}neg.4, %{name}neg.5)"""
        )
    return diff_passes(program(texts[0]), program(texts[1]), ids="positions")


def _pairs(difference: Diff) -> dict[str, str]:
    return {match.a[0][1]: match.b[0][1] for match in difference.matched if len(match.a) == len(match.b) == 1}


@pytest.mark.parametrize("apart", [1, 63, 64, 65, 128])
def test_results_of_a_node_are_told_apart_however_many_there_are(apart: int) -> None:
    paired = _pairs(_results([0, apart, apart, 0]))
    assert paired["neg.4"] == "rneg.5" and paired["neg.5"] == "rneg.4"
