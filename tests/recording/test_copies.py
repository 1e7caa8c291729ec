"""Nodes that a pass computes again: they are copies, and not new."""

from __future__ import annotations

from pathlib import Path

from support.compared import compared, links, program

import opscope
from opscope.program import Program
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


def test_two_results_of_one_node_that_a_fusion_takes_are_not_one_value() -> None:
    """XLA writes `%pair#1` for the second result of a loop's state, and a fusion's parameters are such results."""
    before = """%pair = (f32[8]{0}, f32[8]{0}) custom-call(%x, %y), custom_call_target="pair"
                %sin.1 = f32[8]{0} sine(%pair#1)
                %sub.2 = f32[8]{0} subtract(%pair#0, %sin.1)
                ROOT %add.3 = f32[8]{0} add(%sub.2, %sin.1)"""
    after = """%pair = (f32[8]{0}, f32[8]{0}) custom-call(%x, %y), custom_call_target="pair"
               %fusion.4 = f32[8]{0} fusion(%pair#0, %pair#1), kind=kLoop, calls=%g
               %fusion.5 = f32[8]{0} fusion(%fusion.4, %pair#1), kind=kLoop, calls=%h
               ROOT %out = f32[8]{0} negate(%fusion.5)"""
    graphs = """%g (p: f32[8], q: f32[8]) -> f32[8] {
  %p.1 = f32[8]{0} parameter(0)
  %q.1 = f32[8]{0} parameter(1)
  %sin.6 = f32[8]{0} sine(%q.1)
  ROOT %sub.6 = f32[8]{0} subtract(%p.1, %sin.6)
}

%h (p: f32[8], q: f32[8]) -> f32[8] {
  %p.2 = f32[8]{0} parameter(0)
  %q.2 = f32[8]{0} parameter(1)
  %sin.7 = f32[8]{0} sine(%q.2)
  ROOT %add.7 = f32[8]{0} add(%p.2, %sin.7)
}

"""
    difference = diff_passes(program(before), program(after, graphs), ids="names")
    assert {("sin.1", "sin.6"), ("sin.1", "sin.7"), ("sub.2", "sub.6"), ("add.3", "add.7")} <= links(difference)


def test_equal_copies_that_were_fused_are_told_apart_by_who_takes_them() -> None:
    """copy_fusion puts the last of them first."""
    before = """%fusion.5 = f32[8]{0} fusion(%x), kind=kLoop, calls=%g
                %copy.1 = f32[8]{0} copy(%fusion.5)
                %copy.2 = f32[8]{0} copy(%fusion.5)
                %copy.3 = f32[8]{0} copy(%fusion.5)
                ROOT %tuple.4 = (f32[8]{0}, f32[8]{0}, f32[8]{0}) tuple(%copy.1, %copy.2, %copy.3)"""
    after = """%fusion.5 = (f32[8]{0}, f32[8]{0}, f32[8]{0}) fusion(%x), kind=kLoop, calls=%g
               ROOT %tuple.4 = (f32[8]{0}, f32[8]{0}, f32[8]{0}) tuple(%fusion.5#1, %fusion.5#2, %fusion.5#0)"""
    graphs = """%g (p: f32[8]) -> (f32[8], f32[8], f32[8]) {
  %p.1 = f32[8]{0} parameter(0)
  %neg.6 = f32[8]{0} negate(%p.1)
  %copy.7 = f32[8]{0} copy(%neg.6)
  %copy.8 = f32[8]{0} copy(%neg.6)
  %copy.9 = f32[8]{0} copy(%neg.6)
  ROOT %tuple.10 = (f32[8]{0}, f32[8]{0}, f32[8]{0}) tuple(%copy.7, %copy.8, %copy.9)
}

"""
    fused = "%g (p: f32[8]) -> f32[8] {\n  %p.1 = f32[8]{0} parameter(0)\n  ROOT %neg.6 = f32[8]{0} negate(%p.1)\n}\n\n"
    difference = diff_passes(program(before, fused), program(after, graphs), ids="names")
    copies = {(a, b) for a, b in links(difference) if a.startswith("copy.") and b.startswith("copy.")}
    assert copies == {("copy.3", "copy.7"), ("copy.1", "copy.8"), ("copy.2", "copy.9")}


def test_a_copy_that_was_put_before_another_is_new() -> None:
    """As copy insertion does it: the copy that was there takes the new one."""
    difference = compared(
        """%copy.1 = f32[8]{0} copy(%x)
           ROOT %add.2 = f32[8]{0} add(%copy.1, %y)""",
        """%copy.3 = f32[8]{0} copy(%x)
           %copy.1 = f32[8]{0} copy(%copy.3)
           ROOT %add.2 = f32[8]{0} add(%copy.1, %y)""",
    )
    assert [id for _, id in difference.added] == ["copy.3"] and difference.copied == 0


def test_a_node_that_a_pass_made_for_another_operation_is_not_a_copy() -> None:
    first, second = (f'metadata={{op_name="jit(f)/layer_{i}/{name}"}}' for i, name in ((0, "dot"), (1, "sum")))
    difference = compared(
        f"""%bitcast.1 = f32[4,2]{{1,0}} bitcast(%x), {first}
            ROOT %neg.2 = f32[4,2]{{1,0}} negate(%bitcast.1)""",
        f"""%bitcast.1 = f32[4,2]{{1,0}} bitcast(%x), {first}
            %bitcast.3 = f32[4,2]{{1,0}} bitcast(%x), {second}
            %neg.2 = f32[4,2]{{1,0}} negate(%bitcast.1)
            ROOT %add.4 = f32[4,2]{{1,0}} add(%neg.2, %bitcast.3)""",
    )
    assert {id for _, id in difference.added} == {"bitcast.3", "add.4"} and difference.copied == 0


def test_a_comparison_that_is_done_both_ways_round_is_copied_twice() -> None:
    """As stable-sort-expander does it: the comparison of a sort goes into another one, with its values and with these exchanged."""

    def compare(name: str, one: str, other: str, number: int) -> str:
        return f"""  %abs.{number} = f32[] abs(%{one})
  %abs.{number + 1} = f32[] abs(%{other})
  {name} = pred[] compare(%abs.{number}, %abs.{number + 1}), direction=LT
"""

    first = f"""%order (p: f32[], q: f32[]) -> pred[] {{
  %p = f32[] parameter(0)
  %q = f32[] parameter(1)
{compare("ROOT %less.3", "p", "q", 1)}}}

"""
    second = f"""%stable (v: f32[], w: f32[], i: s32[], k: s32[]) -> pred[] {{
  %v = f32[] parameter(0)
  %w = f32[] parameter(1)
  %i = s32[] parameter(2)
  %k = s32[] parameter(3)
{compare("%less.6", "v", "w", 4)}{compare("%less.9", "w", "v", 7)}  %equal.10 = pred[] compare(%less.6, %less.9), direction=EQ
  %earlier.11 = pred[] compare(%i, %k), direction=LT
  ROOT %select.12 = pred[] select(%equal.10, %earlier.11, %less.6)
}}

"""
    before = program("ROOT %sort.13 = f32[8]{0} sort(%x), dimensions={0}, to_apply=%order", first)
    after = program(
        """%iota.14 = s32[8]{0} iota(), iota_dimension=0
           %sort.13 = (f32[8]{0}, s32[8]{0}) sort(%x, %iota.14), dimensions={0}, to_apply=%stable
           ROOT %get-tuple-element.15 = f32[8]{0} get-tuple-element(%sort.13), index=0""",
        first + second,
    )
    found = links(diff_passes(before, after, ids="names"))
    assert found >= {("less.3", "less.6"), ("less.3", "less.9"), ("abs.1", "abs.4"), ("abs.1", "abs.7"), ("abs.2", "abs.8")}
    assert ("abs.2", "abs.7") not in found and not any(new == "earlier.11" for _, new in found)


def loop_body(more: str, doubled: str) -> str:
    kept = "  %kept = f32[8]{0} get-tuple-element(%state), index=1\n  %other = f32[8]{0} get-tuple-element(%state), index=2\n"
    return f"""%always (s: (f32[8], f32[8], f32[8])) -> pred[] {{
  %s = (f32[8]{{0}}, f32[8]{{0}}, f32[8]{{0}}) parameter(0)
  ROOT %true = pred[] constant(true)
}}

%body (state: (f32[8], f32[8], f32[8])) -> (f32[8], f32[8], f32[8]) {{
  %state = (f32[8]{{0}}, f32[8]{{0}}, f32[8]{{0}}) parameter(0)
  %varies = f32[8]{{0}} get-tuple-element(%state), index=0
{kept}{more}  %next = f32[8]{{0}} add(%varies, %{doubled})
  ROOT %tuple.9 = (f32[8]{{0}}, f32[8]{{0}}, f32[8]{{0}}) tuple(%next, %kept, %other)
}}

"""


def test_what_was_moved_out_of_a_loop_is_known_by_the_values_that_the_loop_does_not_change() -> None:
    """As while-loop-invariant-code-motion does it: of two equal operations, each takes another part of the state."""
    state = "(f32[8]{0}, f32[8]{0}, f32[8]{0})"
    start = f"%start = {state} tuple(%x, %x, %y)\n ROOT %while.1 = {state} while(%start), condition=%always, body=%body"
    work = """  %exp.1 = f32[8]{0} exponential(%kept)
  %exp.2 = f32[8]{0} exponential(%other)
  %mul.3 = f32[8]{0} multiply(%exp.1, %exp.2)
"""
    before = program(start, loop_body(work, "mul.3"))
    after = program(
        f"""%exp.7 = f32[8]{{0}} exponential(%y)
            %exp.6 = f32[8]{{0}} exponential(%x)
            %mul.8 = f32[8]{{0}} multiply(%exp.6, %exp.7)
            %start = {state} tuple(%x, %mul.8, %y)
            ROOT %while.1 = {state} while(%start), condition=%always, body=%body""",
        loop_body("", "kept"),
    )
    assert {("exp.1", "exp.6"), ("exp.2", "exp.7"), ("mul.3", "mul.8")} <= links(diff_passes(before, after, ids="names"))


def test_what_was_inlined_is_known_by_parts_of_values_that_other_calls_returned() -> None:
    pair = """%pair (p: f32[8]) -> (f32[8], f32[8]) {
  %p = f32[8]{0} parameter(0)
  %sin.1 = f32[8]{0} sine(%p)
  %cos.1 = f32[8]{0} cosine(%p)
  ROOT %both = (f32[8]{0}, f32[8]{0}) tuple(%sin.1, %cos.1)
}

%last (q: f32[8], r: f32[8]) -> f32[8] {
  %q = f32[8]{0} parameter(0)
  %r = f32[8]{0} parameter(1)
  ROOT %mul.2 = f32[8]{0} multiply(%q, %r), metadata={op_name="mul"}
}

"""
    before = program(
        """%call.4 = (f32[8]{0}, f32[8]{0}) call(%x), to_apply=%pair
           %call.5 = f32[8]{0} call(%call.4#1, %y), to_apply=%last
           ROOT %neg.6 = f32[8]{0} negate(%call.5)""",
        pair,
    )
    after = program(
        """%sin.7 = f32[8]{0} sine(%x)
           %cos.7 = f32[8]{0} cosine(%x)
           %tuple.7 = (f32[8]{0}, f32[8]{0}) tuple(%sin.7, %cos.7)
           %mul.8 = f32[8]{0} multiply(%tuple.7#1, %y), metadata={op_name="jit(f)/mul"}
           ROOT %neg.6 = f32[8]{0} negate(%mul.8)"""
    )
    assert ("mul.2", "mul.8") in links(diff_passes(before, after, ids="names"))


def test_what_was_fused_in_a_loop_takes_its_unchanged_state_as_a_parameter() -> None:
    """XLA for GPUs writes `%state#1` for a part of the state."""

    def program_of(inner: str, more: str = "") -> Program:
        three = "(f32[8]{0}, f32[8]{0}, f32[8]{0})"
        body = f"""%body (state: (f32[8], f32[8], f32[8])) -> (f32[8], f32[8], f32[8]) {{
  %state = {three} parameter(0)
  {inner}
  ROOT %tuple.9 = {three} tuple(%next, %state#1, %state#2)
}}

"""
        always = (
            f"%always (s: (f32[8], f32[8], f32[8])) -> pred[] {{\n  %s = {three} parameter(0)\n  ROOT %true = pred[] constant(true)\n}}\n\n"
        )
        start = f"%start = {three} tuple(%x, %x, %y)\n ROOT %while.1 = {three} while(%start), condition=%always, body=%body"
        return program(start, more + always + body)

    fused = """%fused (p: f32[8], q: f32[8]) -> f32[8] {
  %p.1 = f32[8]{0} parameter(0)
  %q.1 = f32[8]{0} parameter(1)
  ROOT %sub.3 = f32[8]{0} subtract(%p.1, %q.1)
}

"""
    before = program_of("%next = f32[8]{0} subtract(%state#1, %state#2)")
    after = program_of("%next = f32[8]{0} fusion(%state#1, %state#2), kind=kLoop, calls=%fused", fused)
    assert ("next", "sub.3") in links(diff_passes(before, after, ids="names"))


def test_a_copy_of_what_calls_a_graph_is_no_fusion_of_what_is_in_the_graph() -> None:
    """As `flatten-call-graph` writes it, a graph has one caller: the copied sum calls a copy of the addition."""

    def texts(*callers: str) -> Program:
        sums = "".join(
            f"%sum{each} (p: f32[], q: f32[]) -> f32[] {{\n  %p{each} = f32[] parameter(0)\n  %q{each} = f32[] parameter(1)\n"
            f"  ROOT %r{each} = f32[] add(%p{each}, %q{each})\n}}\n\n"
            for each in ("", *callers)
        )
        lines = [f"%total{each} = f32[] reduce(%x, %zero), dimensions={{0}}, to_apply=%sum{each}" for each in ("", *callers)]
        return program(
            "\n".join(["%zero = f32[] constant(0)", *lines, f"ROOT %pair = (f32[], f32[]) tuple(%total, %total{callers[0]})"]), sums
        )

    before = program(
        """%zero = f32[] constant(0)
           %total = f32[] reduce(%x, %zero), dimensions={0}, to_apply=%sum
           ROOT %pair = (f32[], f32[]) tuple(%total, %total)""",
        "%sum (p: f32[], q: f32[]) -> f32[] {\n  %p = f32[] parameter(0)\n  %q = f32[] parameter(1)\n  ROOT %r = f32[] add(%p, %q)\n}\n\n",
    )
    difference = diff_passes(before, texts(".clone"), ids="names")
    assert ("total", "total.clone") in links(difference)
    assert difference.fusions == ()


def test_a_node_that_stays_is_not_copied_by_a_new_one_on_an_equal_constant() -> None:
    """As algsimp folds a reshape: two broadcasts of the second constant replace the one that is gone."""
    difference = compared(
        """%c.1 = f32[] constant(1)
           %b.1 = f32[8]{0} broadcast(%c.1), dimensions={}
           %c.2 = f32[] constant(1)
           %b.2 = f32[8]{0} broadcast(%c.2), dimensions={}
           %copy.3 = f32[8]{0} copy(%b.2)
           %mul.4 = f32[8]{0} multiply(%x, %b.1)
           %div.5 = f32[8]{0} divide(%mul.4, %copy.3)
           ROOT %sub.6 = f32[8]{0} subtract(%div.5, %b.1)""",
        """%c.1 = f32[] constant(1)
           %b.1 = f32[8]{0} broadcast(%c.1), dimensions={}
           %c.2 = f32[] constant(1)
           %b.7 = f32[8]{0} broadcast(%c.2), dimensions={}
           %mul.4 = f32[8]{0} multiply(%x, %b.1)
           %div.5 = f32[8]{0} divide(%mul.4, %b.7)
           ROOT %sub.6 = f32[8]{0} subtract(%div.5, %b.1)
           %b.8 = f32[8]{0} broadcast(%c.2), dimensions={}""",
    )
    assert {(a, b) for a, b in links(difference) if a.startswith("b.")} == {("b.1", "b.1"), ("b.2", "b.7"), ("b.2", "b.8")}


def test_a_constant_value_is_not_copied_from_the_body_of_another_loop() -> None:
    """Both bodies have a constant of their own, and only what its users say tells which value is whose."""
    body = """%{name} (p.{name}: f32[8]) -> f32[8] {{
  %p.{name} = f32[8]{{0}} parameter(0)
  %c.{name} = bf16[] constant(2)
  %convert.{number} = f32[] convert(%c.{name})
  %b.{number} = f32[8]{{0}} broadcast(%convert.{number}), dimensions={{}}, metadata={{op_name="jit(f)/{scope}/while/body/{op}"}}
  ROOT %{op}.{name} = f32[8]{{0}} {op}(%p.{name}, %b.{number})
}}

"""
    calls = """%call.1 = f32[8]{0} call(%x), to_apply=%forward
               ROOT %call.2 = f32[8]{0} call(%call.1), to_apply=%backward"""
    before, after = (
        program(
            calls,
            body.format(name="forward", number=3 if new else 1, scope="jvp()", op="add")
            + body.format(name="backward", number=4 if new else 2, scope="transpose(jvp())", op="multiply").replace(
                "ROOT", "%convert.5 = f32[] convert(%c.backward)\n  ROOT" if new else "ROOT"
            ),
        )
        for new in (False, True)
    )
    found = links(diff_passes(before, after, ids="names"))
    assert not {(a, b) for a, b in found if a in ("convert.1", "b.1") and b in ("convert.4", "convert.5", "b.4")}
    assert {("convert.2", "convert.4"), ("convert.2", "convert.5")} <= found


def test_what_a_fusion_takes_tells_which_of_two_equal_branches_it_contains() -> None:
    """The other branch is gone. Both begin with a parameter, and that of the fusion has the number of the wrong one."""
    before = program("""%exp.1 = f32[8]{0} exponential(%x)
                        %neg.1 = f32[8]{0} negate(%exp.1)
                        %exp.2 = f32[8]{0} exponential(%y)
                        %neg.2 = f32[8]{0} negate(%exp.2)
                        ROOT %t = (f32[8]{0}, f32[8]{0}) tuple(%neg.1, %neg.2)""")
    fused = """%g (q: f32[8]) -> f32[8] {
  %q = f32[8]{0} parameter(0)
  %exp.5 = f32[8]{0} exponential(%q)
  ROOT %neg.5 = f32[8]{0} negate(%exp.5)
}

"""
    after = program(
        f"""%zero = f32[] constant(0)
            %zeros = f32[8]{{0}} broadcast(%zero), dimensions={{}}
            {fusion("fusion.3", "y", "g")}
            ROOT %t = (f32[8]{{0}}, f32[8]{{0}}) tuple(%zeros, %fusion.3)""",
        fused,
    )
    difference = diff_passes(before, after, ids="names")
    assert [{id for _, id in each.old} for each in difference.fusions] == [{"exp.2", "neg.2"}]
    assert {("exp.2", "exp.5"), ("neg.2", "neg.5")} <= links(difference)
