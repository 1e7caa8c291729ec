"""Nodes that a pass computes again: they are copies, and not new."""

from __future__ import annotations

from pathlib import Path

from support.compared import compared, links, program

import opscope
from opscope.recording.diff import COMPOSED, Diff, diff_passes
from opscope.recording.history import compose
from opscope.recording.sources import open_recording


def body(name: str, op: str) -> str:
    kind = "f32[8]{0}"
    return f"%{name} (p: f32[8]) -> f32[8] {{\n  %p.{name} = {kind} parameter(0)\n  ROOT %{op}.{name} = {kind} {op}(%p.{name})\n}}\n\n"


def fusion(name: str, operand: str, called: str) -> str:
    return f"%{name} = f32[8]{{0}} fusion(%{operand}), kind=kLoop, calls=%{called}"


def test_a_clone_of_a_node_whose_operand_was_rewritten_is_a_copy() -> None:
    difference = compared(
        """%div.1 = f32[8]{0} divide(%x, %y)
           %sin.2 = f32[8]{0} sine(%div.1)
           %cos.3 = f32[8]{0} cosine(%sin.2)
           ROOT %add.4 = f32[8]{0} add(%sin.2, %cos.3)""",
        """%mul.5 = f32[8]{0} multiply(%x, %y)
           %sin.2.clone = f32[8]{0} sine(%mul.5)
           %sin.2 = f32[8]{0} sine(%mul.5)
           %cos.3 = f32[8]{0} cosine(%sin.2.clone)
           ROOT %add.4 = f32[8]{0} add(%sin.2, %cos.3)""",
    )
    assert difference.copied == 1 and [id for _, id in difference.added] == ["mul.5"]
    assert ("sin.2", "sin.2.clone") in links(difference)


def test_a_graph_that_was_copied_for_its_second_caller_has_copies_in_it() -> None:
    """As flatten-call-graph does it. Another graph is equal to it, and called by another node."""
    before, after = (
        program(
            f"""{fusion("f.1", "x", "g")}
                {fusion("f.2", "y", second)}
                {fusion("f.3", "y", "same")}
                %add.4 = f32[8]{{0}} add(%f.1, %f.2)
                ROOT %add.5 = f32[8]{{0}} add(%add.4, %f.3)""",
            body("same", "sine") + body("g", "sine") + clone,
        )
        for second, clone in (("g", ""), ("g.clone", body("g.clone", "sine")))
    )
    difference = diff_passes(before, after, ids="names")
    assert difference.added == () and difference.copied == 2
    assert {("p.g", "p.g.clone"), ("sine.g", "sine.g.clone")} <= links(difference)


def test_a_fusion_of_the_same_operands_with_another_body_is_not_a_copy() -> None:
    before = program(f"{fusion('f.1', 'x', 'g')}\nROOT %add.2 = f32[8]{{0}} add(%f.1, %y)", body("g", "sine"))
    after = program(
        f"""{fusion("f.1", "x", "g")}
            {fusion("f.3", "x", "h")}
            ROOT %add.2 = f32[8]{{0}} add(%f.1, %f.3)""",
        body("g", "sine") + body("h", "tan"),
    )
    difference = diff_passes(before, after, ids="names")
    assert ("main", "f.3") in difference.added and difference.copied == 0


def over(path: Path, *bodies: str) -> Diff:
    """The diff over all passes of a recording."""
    with opscope.record(path) as recorder:
        recorder.set(ids="names")
        for number, text in enumerate(bodies):
            recorder.snapshot(program(text), f"pass {number}")
    recording = open_recording(path)
    first, last = recording[0], recording[-1]
    return diff_passes(first.program, last.program, origins=compose(recording, first, last), ids=COMPOSED)


MERGED = """%exp.1 = f32[8]{0} exponential(%x)
            %neg.3 = f32[8]{0} negate(%exp.1)
            ROOT %add.4 = f32[8]{0} add(%exp.1, %neg.3)"""


def test_a_copy_made_after_common_subexpressions_were_merged_is_one_of_the_node_that_was_left(tmp_path: Path) -> None:
    difference = over(
        tmp_path / "run.opscope",
        """%exp.1 = f32[8]{0} exponential(%x)
           %exp.2 = f32[8]{0} exponential(%x)
           %neg.3 = f32[8]{0} negate(%exp.2)
           ROOT %add.4 = f32[8]{0} add(%exp.1, %neg.3)""",
        MERGED,
        """%exp.1 = f32[8]{0} exponential(%x)
           %exp.2 = f32[8]{0} exponential(%x)
           %neg.3 = f32[8]{0} negate(%exp.1)
           ROOT %add.4 = f32[8]{0} add(%exp.2, %neg.3)""",
    )
    assert [id for _, id in difference.removed] == ["exp.2"] and difference.copied == 1 and difference.added == ()
    assert (("main", "exp.2"), ("main", "exp.2")) not in list(difference.pairs())
    assert ("exp.1", "exp.2") in links(difference)


def test_what_was_merged_into_a_node_is_not_its_copy(tmp_path: Path) -> None:
    difference = over(
        tmp_path / "run.opscope",
        """%t.1 = f32[8]{0} transpose(%x), dimensions={0}
           %dot.2 = f32[8]{0} dot(%t.1, %y), lhs_contracting_dims={0}
           %neg.3 = f32[8]{0} negate(%dot.2)
           ROOT %add.4 = f32[8]{0} add(%dot.2, %neg.3)""",
        """%dot.2 = f32[8]{0} dot(%x, %y), lhs_contracting_dims={1}
           %neg.3 = f32[8]{0} negate(%dot.2)
           ROOT %add.4 = f32[8]{0} add(%dot.2, %neg.3)""",
        """%dot.2 = f32[8]{0} dot(%x, %y), lhs_contracting_dims={1}
           %dot.5 = f32[8]{0} dot(%x, %y), lhs_contracting_dims={1}
           %neg.3 = f32[8]{0} negate(%dot.5)
           ROOT %add.4 = f32[8]{0} add(%dot.2, %neg.3)""",
    )
    assert difference.merged == 1 and difference.copied == 1 and difference.added == difference.removed == ()
    assert ("t.1", "dot.5") not in links(difference)


def test_what_is_in_a_graph_that_was_inlined_on_other_values_is_a_copy() -> None:
    """As select_and_scatter_expander does it: the comparison is in a new graph, and the old graph is there, uncalled."""
    name = 'metadata={op_name="jit(f)/ge"}'

    def graph(id: str, compare: str, more: str = "") -> str:
        return f"""%{id} (p: f32[], q: f32[]) -> pred[] {{
  %p.{id} = f32[] parameter(0)
  %q.{id} = f32[] parameter(1)
{more}  ROOT %{compare} = pred[] compare(%{f"n.{id}" if more else f"p.{id}"}, %q.{id}), direction=GE, {name}
}}

"""

    old = graph("old", "ge.1")
    before = program("ROOT %sort.1 = f32[8]{0} custom-call(%x, %y), to_apply=%old", old)
    after = program(
        "ROOT %reduce.2 = f32[8]{0} custom-call(%x), to_apply=%new", old + graph("new", "ge.0", "  %n.new = f32[] negate(%p.new)\n")
    )
    difference = diff_passes(before, after, ids="names")
    assert ("ge.1", "ge.0") in links(difference) and ("new", "ge.0") not in difference.added


def test_branches_with_other_weights_are_told_apart_when_they_are_fused() -> None:
    """Weights of the same shape are not equal, so that each fused product is the one with its weights, and so is what it takes."""
    before = "\n".join(
        f"""%weights.{i} = f32[8]{{0}} constant({{...}})
            %neg.{i} = f32[8]{{0}} negate(%x)
            %dot.{i} = f32[8]{{0}} dot(%neg.{i}, %weights.{i})"""
        for i in (1, 2)
    )
    after = "\n".join(
        f"""%weights.{i} = f32[8]{{0}} constant({{...}})
            %fusion.{i} = f32[8]{{0}} fusion(%weights.{i}, %x), kind=kLoop, calls=%g{i}"""
        for i in (2, 1)
    )
    graphs = "".join(
        f"""%g{i} (p: f32[8], q: f32[8]) -> f32[8] {{
  %p.{i} = f32[8]{{0}} parameter(0)
  %q.{i} = f32[8]{{0}} parameter(1)
  %neg.{i}0 = f32[8]{{0}} negate(%q.{i})
  ROOT %dot.{i}0 = f32[8]{{0}} dot(%neg.{i}0, %p.{i})
}}

"""
        for i in (2, 1)
    )
    root = "ROOT %sub.9 = f32[8]{{0}} subtract(%{0}.1, %{0}.2)"
    difference = diff_passes(program(f"{before}\n{root.format('dot')}"), program(f"{after}\n{root.format('fusion')}", graphs), ids="names")
    assert {("dot.1", "dot.10"), ("dot.2", "dot.20"), ("neg.1", "neg.10"), ("neg.2", "neg.20")} <= links(difference)
    assert not {("dot.1", "dot.20"), ("dot.2", "dot.10"), ("neg.1", "neg.20"), ("neg.2", "neg.10")} & links(difference)
