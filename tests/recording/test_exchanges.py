"""Operands that changed places while a pass replaced them: positions do not say which replaced which."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.compared import compared, links, program, replaced, undecided

import opscope


def layer(number: int, name: str) -> str:
    return f'metadata={{op_name="jit(f)/layer_{number}/{name}"}}'


def test_exchanged_branches_of_a_select_are_undecided_however_deep_they_are() -> None:
    difference = compared(
        """%p = pred[8]{0} compare(%x, %y), direction=LT
           %sin.1 = f32[8]{0} sine(%x)
           %neg.2 = f32[8]{0} negate(%sin.1)
           %cos.3 = f32[8]{0} cosine(%y)
           %abs.4 = f32[8]{0} abs(%cos.3)
           ROOT %select.5 = f32[8]{0} select(%p, %neg.2, %abs.4)""",
        """%p = pred[8]{0} compare(%x, %y), direction=LT
           %not.6 = pred[8]{0} not(%p)
           %sqrt.7 = f32[8]{0} sqrt(%y)
           %tan.8 = f32[8]{0} tan(%sqrt.7)
           %exp.9 = f32[8]{0} exponential(%x)
           %log.10 = f32[8]{0} log(%exp.9)
           ROOT %select.5 = f32[8]{0} select(%not.6, %tan.8, %log.10)""",
    )
    assert replaced(difference) == []
    assert undecided(difference) == [(["neg.2", "abs.4"], ["tan.8", "log.10"])]


def test_one_operand_that_crosses_is_enough() -> None:
    """The second operand takes y, as both new ones do; the first takes x too, as only the second new one does."""
    difference = compared(
        """%mul.1 = f32[8]{0} multiply(%x, %y)
           %neg.2 = f32[8]{0} negate(%mul.1)
           %cos.3 = f32[8]{0} cosine(%y)
           ROOT %sub.4 = f32[8]{0} subtract(%neg.2, %cos.3)""",
        """%tan.5 = f32[8]{0} tan(%y)
           %div.6 = f32[8]{0} divide(%x, %y)
           %log.7 = f32[8]{0} log(%div.6)
           ROOT %sub.4 = f32[8]{0} subtract(%tan.5, %log.7)""",
    )
    assert replaced(difference) == []
    assert undecided(difference) == [(["neg.2", "cos.3"], ["tan.5", "log.7"])]


@pytest.mark.parametrize("consumer, decided", [("add", False), ("subtract", True)])
def test_equally_good_candidates_are_decided_by_their_positions_only_where_these_have_a_meaning(consumer: str, decided: bool) -> None:
    difference = compared(
        f"""%sin.1 = f32[8]{{0}} sine(%x)
            %cos.2 = f32[8]{{0}} cosine(%x)
            ROOT %root.3 = f32[8]{{0}} {consumer}(%sin.1, %cos.2)""",
        f"""%tan.4 = f32[8]{{0}} tan(%x)
            %log.5 = f32[8]{{0}} log(%x)
            ROOT %root.3 = f32[8]{{0}} {consumer}(%tan.4, %log.5)""",
    )
    assert replaced(difference) == ([(["sin.1"], ["tan.4"]), (["cos.2"], ["log.5"])] if decided else [])
    assert undecided(difference) == ([] if decided else [(["sin.1", "cos.2"], ["tan.4", "log.5"])])


@pytest.mark.parametrize("crossed", [False, True])
def test_layers_say_whether_operands_changed_places(crossed: bool) -> None:
    first, second = (1, 0) if crossed else (0, 1)
    difference = compared(
        f"""%sin.1 = f32[8]{{0}} sine(%x), {layer(0, "sin")}
            %sin.2 = f32[8]{{0}} sine(%x), {layer(1, "sin")}
            ROOT %add.3 = f32[8]{{0}} add(%sin.1, %sin.2)""",
        f"""%tan.4 = f32[8]{{0}} tan(%x), {layer(first, "tan")}
            %log.5 = f32[8]{{0}} log(%x), {layer(second, "log")}
            ROOT %add.3 = f32[8]{{0}} add(%tan.4, %log.5)""",
    )
    assert replaced(difference) == ([] if crossed else [(["sin.1"], ["tan.4"]), (["sin.2"], ["log.5"])])
    assert undecided(difference) == ([(["sin.1", "sin.2"], ["tan.4", "log.5"])] if crossed else [])


def test_places_say_that_the_operands_of_a_sum_were_exchanged() -> None:
    """Each place has several operations, so that it does not decide alone."""
    before, after = (
        f"""%{op}.1 = f32[8]{{0}} {op}(%x), {layer(0, "f")}
            %{op}.2 = f32[8]{{0}} {op}(%x), {layer(1, "f")}
            %{op}.3 = f32[8]{{0}} {op}(%{op}.1), {layer(0, "f")}
            %{op}.4 = f32[8]{{0}} {op}(%{op}.2), {layer(1, "f")}
            ROOT %root = f32[8]{{0}} add(%{op}.{first}, %{op}.{second})"""
        for op, first, second in (("sine", 3, 4), ("tan", 4, 3))
    )
    difference = compared(before, after)
    assert undecided(difference) == []
    assert {("sine.3", "tan.3"), ("sine.4", "tan.4")} <= links(difference)
    assert not {("sine.3", "tan.4"), ("sine.4", "tan.3")} & links(difference)


def test_operands_beside_exchanged_ones_are_decided() -> None:
    difference = compared(
        """%sin.1 = f32[8]{0} sine(%x)
           %cos.2 = f32[8]{0} cosine(%y)
           %dot.3 = f32[4]{0} dot(%x, %y)
           ROOT %call.4 = f32[8]{0} custom-call(%sin.1, %cos.2, %dot.3), custom_call_target="f" """,
        """%tan.5 = f32[8]{0} tan(%y)
           %log.6 = f32[8]{0} log(%x)
           %gemm.7 = f32[4]{0} custom-call(%x, %y), custom_call_target="gemm"
           ROOT %call.4 = f32[8]{0} custom-call(%tan.5, %log.6, %gemm.7), custom_call_target="f" """,
    )
    assert replaced(difference) == [(["dot.3"], ["gemm.7"])]
    assert undecided(difference) == [(["sin.1", "cos.2"], ["tan.5", "log.6"])]


def test_equal_operations_of_a_sum_became_those_that_compute_the_same() -> None:
    """Common subexpressions: that both operands are equally like both others in type and operation does not matter."""
    difference = compared(
        """%exp.1 = f32[8]{0} exponential(%x)
           %log.2 = f32[8]{0} log(%y)
           %exp.3 = f32[8]{0} exponential(%x)
           %log.4 = f32[8]{0} log(%y)
           %add.5 = f32[8]{0} add(%exp.3, %log.4)
           %sub.6 = f32[8]{0} subtract(%exp.1, %log.2)
           ROOT %mul.7 = f32[8]{0} multiply(%add.5, %sub.6)""",
        """%exp.1 = f32[8]{0} exponential(%x)
           %log.2 = f32[8]{0} log(%y)
           %add.5 = f32[8]{0} add(%exp.1, %log.2)
           %sub.6 = f32[8]{0} subtract(%exp.1, %log.2)
           ROOT %mul.7 = f32[8]{0} multiply(%add.5, %sub.6)""",
    )
    assert replaced(difference) == [(["exp.3"], ["exp.1"]), (["log.4"], ["log.2"])]


def test_an_argument_is_not_a_part_of_what_replaced_a_product() -> None:
    """As after partitioning: the weights are another argument now, and the product is added up over devices."""
    difference = compared(
        """%dot.1 = f32[8]{0} dot(%x, %y), lhs_contracting_dims={0}
           ROOT %neg.2 = f32[8]{0} negate(%dot.1)""",
        """%param.3 = f32[4]{0} parameter(2)
           %dot.4 = f32[4]{0} dot(%param.3, %y), lhs_contracting_dims={0}
           %all-reduce.5 = f32[4]{0} all-reduce(%dot.4)
           ROOT %neg.2 = f32[8]{0} negate(%all-reduce.5)""",
    )
    assert replaced(difference) == [(["dot.1"], ["dot.4", "all-reduce.5"])]


@pytest.mark.parametrize("operation", ["multiply", "subtract"])
def test_a_dead_operation_did_not_become_a_new_one_of_its_line(operation: str) -> None:
    difference = compared(
        f"""%dead.1 = f32[8]{{0}} multiply(%x, %y), {layer(0, "mul")}
            %sin.2 = f32[8]{{0}} sine(%y)
            ROOT %add.3 = f32[8]{{0}} add(%sin.2, %x)""",
        f"""%new.4 = f32[8]{{0}} {operation}(%x, %x), {layer(0, "mul")}
            %sin.2 = f32[8]{{0}} sine(%y)
            ROOT %add.3 = f32[8]{{0}} add(%sin.2, %new.4)""",
    )
    assert [id for _, id in difference.removed] == ["dead.1"] and [id for _, id in difference.added] == ["new.4"]
    assert replaced(difference) == []


def test_a_history_does_not_take_undecided_nodes_for_what_others_became(tmp_path: Path) -> None:
    """The fusion has a decided and two undecided nodes in it: the pass before it tells of the decided one alone what it became."""
    before = """%exp.1 = f32[8]{0} exponential(%x)
        %sin.2 = f32[8]{0} sine(%x)
        %cos.3 = f32[8]{0} cosine(%x)
        %add.4 = f32[8]{0} add(%sin.2, %cos.3)
        ROOT %sub.5 = f32[8]{0} subtract(%add.4, %exp.1)"""
    between = """%sqrt.6 = f32[8]{0} sqrt(%x)
        %tan.7 = f32[8]{0} tan(%x)
        %log.8 = f32[8]{0} log(%x)
        %add.4 = f32[8]{0} add(%tan.7, %log.8)
        ROOT %sub.5 = f32[8]{0} subtract(%add.4, %sqrt.6)"""
    body = "%inside (z: f32[8]) -> f32[8] {\n  %z = f32[8]{0} parameter(0)\n  " + between.replace("%x", "%z").lstrip() + "\n}\n\n"
    fused = program("ROOT %fusion.9 = f32[8]{0} fusion(%x), kind=kLoop, calls=%inside", body)
    with opscope.record(tmp_path / "run.opscope") as rec:
        rec.set(ids="names")
        for name, each in (("start", program(before)), ("rewrite", program(between)), ("fusion", fused)):
            rec.snapshot(each, name, module="m")
    recording = opscope.open_recording(tmp_path / "run.opscope")
    (step,) = [step for step in recording.history(("main", "fusion.9")) if step.snapshot.name == "rewrite"]
    assert str(step) == "exp.1, add.4, sub.5 became sqrt.6, add.4, sub.5" and step.evidence == "slot"
