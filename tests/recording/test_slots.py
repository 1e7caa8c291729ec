"""What replaced a node that is gone: the operand that consumers have instead of it."""

from __future__ import annotations

import pytest
from support.compared import compared, links, program, replaced, undecided
from support.hlo_texts import parse

from opscope.cli.diff import diff_lines
from opscope.program import Program, ProgramBuilder, TensorType
from opscope.recording.diff import diff_passes

SUM = "%sum (p: f32[], q: f32[]) -> f32[] {\n  %p = f32[] parameter(0)\n  %q = f32[] parameter(1)\n  ROOT %r = f32[] add(%p, %q)\n}\n\n"
LIBRARY_CALL = (
    """%dot.1 = f32[8]{0} dot(%x, %y), lhs_contracting_dims={0}
       ROOT %add.2 = f32[8]{0} add(%dot.1, %x)""",
    """%custom-call.3 = (f32[8]{0}, s8[64]{0}) custom-call(%x, %y), custom_call_target="__cublas$gemm"
       %get-tuple-element.4 = f32[8]{0} get-tuple-element(%custom-call.3), index=0
       ROOT %add.2 = f32[8]{0} add(%get-tuple-element.4, %x)""",
)


def test_a_call_of_a_library_replaced_the_dot_whose_operand_place_it_has() -> None:
    difference = compared(*LIBRARY_CALL)
    assert replaced(difference) == [(["dot.1"], ["custom-call.3", "get-tuple-element.4"])]


def test_replaced_nodes_count_as_removed_and_added() -> None:
    difference = compared(*LIBRARY_CALL)
    assert [id for _, id in difference.removed] == ["dot.1"]
    assert [id for _, id in difference.added] == ["custom-call.3", "get-tuple-element.4"]
    counts = len(difference.all_added) + difference.copied - len(difference.all_removed) - difference.merged
    assert difference.a.node_count + counts == difference.b.node_count


def test_nodes_that_were_combined_have_the_combined_one_in_common_and_a_part_each() -> None:
    difference = compared(
        """%all-reduce.1 = f32[8]{0} all-reduce(%x)
           %all-reduce.2 = f32[8]{0} all-reduce(%y)
           ROOT %add.3 = f32[8]{0} add(%all-reduce.1, %all-reduce.2)""",
        """%all-reduce.8 = (f32[8]{0}, f32[8]{0}) all-reduce(%x, %y)
           %get-tuple-element.1 = f32[8]{0} get-tuple-element(%all-reduce.8), index=0
           %get-tuple-element.2 = f32[8]{0} get-tuple-element(%all-reduce.8), index=1
           ROOT %add.3 = f32[8]{0} add(%get-tuple-element.1, %get-tuple-element.2)""",
    )
    assert replaced(difference) == [
        (["all-reduce.1", "all-reduce.2"], ["all-reduce.8"]),
        (["all-reduce.1"], ["get-tuple-element.1"]),
        (["all-reduce.2"], ["get-tuple-element.2"]),
    ], "the history of one does not lead to the part of the other"


def test_what_combined_nodes_took_is_followed_through_the_combined_one() -> None:
    """The multiply has no consumer that stays, only one that was combined with another."""
    difference = compared(
        """%multiply.1 = f32[8]{0} multiply(%x, %y)
           %all-reduce.1 = f32[8]{0} all-reduce(%multiply.1)
           %all-reduce.2 = f32[8]{0} all-reduce(%y)
           ROOT %add.3 = f32[8]{0} add(%all-reduce.1, %all-reduce.2)""",
        """%custom-call.7 = f32[8]{0} custom-call(%x, %y), custom_call_target="multiply"
           %all-reduce.8 = (f32[8]{0}, f32[8]{0}) all-reduce(%custom-call.7, %y)
           %get-tuple-element.1 = f32[8]{0} get-tuple-element(%all-reduce.8), index=0
           %get-tuple-element.2 = f32[8]{0} get-tuple-element(%all-reduce.8), index=1
           ROOT %add.3 = f32[8]{0} add(%get-tuple-element.1, %get-tuple-element.2)""",
    )
    assert (["multiply.1"], ["custom-call.7"]) in replaced(difference)


def merged_dots(consumer: str) -> tuple[str, str]:
    return (
        f"""%dot.1 = f32[8]{{0}} dot(%x, %x), lhs_contracting_dims={{0}}
            %dot.2 = f32[8]{{0}} dot(%x, %y), lhs_contracting_dims={{0}}
            ROOT %root.3 = f32[8]{{0}} {consumer}(%dot.1, %dot.2)""",
        f"""%concatenate.4 = f32[16]{{0}} concatenate(%x, %y), dimensions={{0}}
            %dot.9 = f32[16]{{0}} dot(%x, %concatenate.4), lhs_contracting_dims={{0}}
            %slice.5 = f32[8]{{0}} slice(%dot.9), slice={{[0:8]}}
            %slice.6 = f32[8]{{0}} slice(%dot.9), slice={{[8:16]}}
            ROOT %root.3 = f32[8]{{0}} {consumer}(%slice.5, %slice.6)""",
    )


def test_dots_that_were_merged_have_the_merged_one_in_common_and_a_slice_each() -> None:
    assert replaced(compared(*merged_dots("subtract"))) == [
        (["dot.1", "dot.2"], ["concatenate.4", "dot.9"]),
        (["dot.1"], ["slice.5"]),
        (["dot.2"], ["slice.6"]),
    ]


def test_a_sum_does_not_say_which_slice_of_a_merged_dot_is_whose() -> None:
    difference = compared(*merged_dots("add"))
    assert replaced(difference) == [(["dot.1", "dot.2"], ["concatenate.4", "dot.9"])]
    assert undecided(difference) == [(["dot.1", "dot.2"], ["slice.5", "slice.6"])]


def test_a_product_in_another_order_is_undecided() -> None:
    """cos(y) * (x / y) becomes x * (cos(y) / y): that the operands have the same positions does not say which became which."""
    difference = compared(
        """%cos.1 = f32[8]{0} cosine(%y)
           %div.2 = f32[8]{0} divide(%x, %y)
           ROOT %mul.3 = f32[8]{0} multiply(%cos.1, %div.2)""",
        """%special.4 = f32[8]{0} custom-call(%y), custom_call_target="cos_over"
           ROOT %mul.3 = f32[8]{0} multiply(%x, %special.4)""",
    )
    assert replaced(difference) == []
    assert undecided(difference) == [(["cos.1", "div.2"], ["special.4"])]
    assert "cos.1, div.2 → perhaps special.4 (undecided)" in diff_lines(difference, None)


def test_an_equal_node_that_was_there_before_takes_the_place() -> None:
    difference = compared(
        """%exp.1 = f32[8]{0} exponential(%x)
           %exp.2 = f32[8]{0} exponential(%x)
           ROOT %add.3 = f32[8]{0} add(%exp.1, %exp.2)""",
        """%exp.1 = f32[8]{0} exponential(%x)
           ROOT %add.3 = f32[8]{0} add(%exp.1, %exp.1)""",
    )
    assert replaced(difference) == [(["exp.2"], ["exp.1"])]


def test_inner_nodes_of_a_pattern_belong_to_its_replacement_and_dead_ones_do_not() -> None:
    difference = compared(
        """%neg.1 = f32[8]{0} negate(%x)
           %exp.2 = f32[8]{0} exponential(%neg.1)
           %zero.3 = f32[8]{0} multiply(%y, %y)
           %add.4 = f32[8]{0} add(%exp.2, %zero.3)
           ROOT %mul.5 = f32[8]{0} multiply(%add.4, %x)""",
        """%logistic.9 = f32[8]{0} logistic(%x)
           ROOT %mul.5 = f32[8]{0} multiply(%logistic.9, %x)""",
    )
    assert replaced(difference) == [(["neg.1", "exp.2", "add.4"], ["logistic.9"])]
    assert ("main", "zero.3") in difference.removed


def test_a_node_that_was_only_left_out_was_not_replaced() -> None:
    difference = compared(
        "%copy.1 = f32[8]{0} copy(%x)\nROOT %add.2 = f32[8]{0} add(%copy.1, %y)",
        "ROOT %add.2 = f32[8]{0} add(%x, %y)",
    )
    assert difference.replaced == ()


def test_a_parameter_was_not_replaced_by_the_value_that_it_had() -> None:
    """A call was inlined: what took the parameter takes the value that was passed for it."""
    called = """%f (p.1: f32[8]) -> f32[8] {
  %p.1 = f32[8]{0} parameter(0)
  ROOT %exp.1 = f32[8]{0} exponential(%p.1)
}

"""
    before = program("%sine.5 = f32[8]{0} sine(%x)\nROOT %call.2 = f32[8]{0} call(%sine.5), to_apply=%f", called)
    after = program("%sine.5 = f32[8]{0} sine(%x)\nROOT %exp.1 = f32[8]{0} exponential(%sine.5)")
    found = replaced(diff_passes(before, after, ids="names"))
    assert not any("p.1" in old for old, _ in found), found


def test_operands_in_another_order_are_undecided() -> None:
    difference = compared(
        """%sin.1 = f32[8]{0} sine(%x)
           %cos.2 = f32[8]{0} cosine(%x)
           ROOT %t.3 = f32[8]{0} custom-call(%sin.1, %cos.2, %x), custom_call_target="f" """,
        """%tan.4 = f32[8]{0} tan(%x)
           %log.5 = f32[8]{0} log(%x)
           ROOT %t.3 = f32[8]{0} custom-call(%x, %tan.4, %log.5), custom_call_target="f" """,
    )
    assert difference.replaced == ()
    (match,) = difference.undecided
    assert [id for _, id in match.a] == ["sin.1", "cos.2"] and [id for _, id in match.b] == ["tan.4", "log.5"]
    assert match not in difference.matched, "candidates are not a fact"
    assert "sin.1, cos.2 → one of tan.4, log.5 (undecided)" in diff_lines(difference, None)


def test_operands_of_a_sum_that_changed_places_are_told_by_what_they_are_computed_from() -> None:
    """The first operand takes x, and the new one that takes x is the second."""
    difference = compared(
        """%sin.1 = f32[8]{0} sine(%x)
           %cos.2 = f32[8]{0} cosine(%y)
           ROOT %add.3 = f32[8]{0} add(%sin.1, %cos.2)""",
        """%tan.7 = f32[8]{0} tan(%y)
           %log.8 = f32[8]{0} log(%x)
           ROOT %add.3 = f32[8]{0} add(%tan.7, %log.8)""",
    )
    assert replaced(difference) == [(["sin.1"], ["log.8"]), (["cos.2"], ["tan.7"])]
    assert difference.undecided == ()


def test_another_operation_at_the_same_place_replaced_it() -> None:
    """A division became a product, and the sum after it a reshape: each has its own replacement."""
    quotient, total = (f'metadata={{op_name="jit(step)/{name}"}}' for name in ("div", "reduce_sum"))
    difference = compared(
        f"""%div.1 = f32[8]{{0}} divide(%x, %y), {quotient}
            %reduce.2 = f32[8,1]{{1,0}} copy(%div.1), {total}
            ROOT %sine.3 = f32[8,1]{{1,0}} sine(%reduce.2)""",
        f"""%inverse.4 = f32[8]{{0}} negate(%y)
            %multiply.5 = f32[8]{{0}} multiply(%x, %inverse.4), {quotient}
            %reshape.6 = f32[8,1]{{1,0}} reshape(%multiply.5), {total}
            ROOT %sine.3 = f32[8,1]{{1,0}} sine(%reshape.6)""",
    )
    assert replaced(difference) == [(["div.1"], ["inverse.4", "multiply.5"]), (["reduce.2"], ["reshape.6"])]


def test_of_two_operations_at_one_place_that_were_replaced_each_is_known_by_what_it_takes() -> None:
    """Two divisions became products, and the sum of one of them a reshape, which says nothing about what it takes."""
    quotient, total = (f'metadata={{op_name="jit(step)/{name}"}}' for name in ("div", "sum"))
    difference = compared(
        f"""%div.1 = f32[8]{{0}} divide(%x, %x), {quotient}
            %sum.2 = f32[8]{{0}} custom-call(%div.1, %y), custom_call_target="sum", {total}
            %div.3 = f32[8]{{0}} divide(%y, %y), {quotient}
            %sine.4 = f32[8]{{0}} sine(%div.3)
            ROOT %sub.5 = f32[8]{{0}} subtract(%sum.2, %sine.4)""",
        f"""%multiply.6 = f32[8]{{0}} multiply(%x, %x), {quotient}
            %sum.7 = f32[8]{{0}} reshape(%multiply.6), {total}
            %multiply.8 = f32[8]{{0}} multiply(%y, %y), {quotient}
            %sine.4 = f32[8]{{0}} sine(%multiply.8)
            ROOT %sub.5 = f32[8]{{0}} subtract(%sum.7, %sine.4)""",
    )
    assert replaced(difference) == [(["div.1"], ["multiply.6"]), (["sum.2"], ["sum.7"]), (["div.3"], ["multiply.8"])]


def test_a_division_became_the_product_with_an_inverse_and_not_the_division_that_computes_this() -> None:
    """A real pass of algsimp. The transpose that changed nothing was left out, and did not become the product."""
    place = 'metadata={op_name="jit(f)/softmax/div"}'
    difference = compared(
        f"""%broadcast.1 = f32[8,4]{{1,0}} broadcast(%x), dimensions={{0}}
            %exp.2 = f32[8,4]{{1,0}} exponential(%broadcast.1)
            %broadcast.3 = f32[8,4]{{1,0}} broadcast(%y), dimensions={{0}}, {place}
            %div.4 = f32[8,4]{{1,0}} divide(%exp.2, %broadcast.3), {place}
            %transpose.5 = f32[8,4]{{1,0}} transpose(%div.4), dimensions={{0,1}}, {place}
            ROOT %sine.6 = f32[8,4]{{1,0}} sine(%transpose.5)""",
        f"""%broadcast.1 = f32[8,4]{{1,0}} broadcast(%x), dimensions={{0}}
            %exp.2 = f32[8,4]{{1,0}} exponential(%broadcast.1)
            %copy.7 = f32[8]{{0}} copy(%x), {place}
            %divide.8 = f32[8]{{0}} divide(%copy.7, %y), {place}
            %broadcast.9 = f32[8,4]{{1,0}} broadcast(%divide.8), dimensions={{0}}, {place}
            %multiply.10 = f32[8,4]{{1,0}} multiply(%exp.2, %broadcast.9), {place}
            ROOT %sine.6 = f32[8,4]{{1,0}} sine(%multiply.10)""",
    )
    became = {(a, b) for match in difference.matched for _, a in match.a for _, b in match.b}
    assert ("div.4", "multiply.10") in became and ("transpose.5", "multiply.10") not in became
    assert (("main", "div.4"), ("main", "divide.8")) not in list(difference.pairs())


def test_a_sum_of_sums_became_the_sum_that_takes_over_its_work() -> None:
    difference = compared(
        """%reduce.1 = f32[8,4]{1,0} broadcast(%x), dimensions={0}
           %reduce.2 = f32[8,4,2]{2,1,0} broadcast(%reduce.1), dimensions={0,1}
           ROOT %sine.3 = f32[8,4,2]{2,1,0} sine(%reduce.2)""",
        """%reduce.1 = f32[8,4,2]{2,1,0} broadcast(%x), dimensions={0}
           ROOT %sine.3 = f32[8,4,2]{2,1,0} sine(%reduce.1)""",
    )
    assert replaced(difference) == [(["reduce.2"], ["reduce.1"])]


def test_a_node_that_was_left_out_with_its_operand_was_not_replaced() -> None:
    """A select and a division by a constant are gone; the product before them stays as it is."""
    difference = compared(
        """%multiply.1 = f32[8]{0} multiply(%x, %y)
           %negate.2 = f32[8]{0} negate(%multiply.1)
           %negate.3 = f32[8]{0} negate(%negate.2)
           ROOT %add.4 = f32[8]{0} add(%negate.3, %x)""",
        """%multiply.1 = f32[8]{0} multiply(%x, %y)
           ROOT %add.4 = f32[8]{0} add(%multiply.1, %x)""",
    )
    assert replaced(difference) == [] and [id for _, id in difference.removed] == ["negate.2", "negate.3"]


def test_what_an_operation_that_stays_does_now_instead_of_another_was_replaced_by_it() -> None:
    """A transpose that changes nothing is left out, and the reshape behind it does the work of the one before it."""
    difference = compared(
        """%reshape.1 = f32[2,4]{1,0} reshape(%x)
           %transpose.2 = f32[2,4]{1,0} transpose(%reshape.1), dimensions={0,1}
           %reshape.3 = f32[2,4]{1,0} reshape(%transpose.2)
           %dot.4 = f32[2,2]{1,0} dot(%transpose.2, %transpose.2), lhs_contracting_dims={1}, rhs_contracting_dims={1}
           ROOT %tuple.5 = (f32[2,2]{1,0}, f32[2,4]{1,0}) tuple(%dot.4, %reshape.3)""",
        """%reshape.3 = f32[2,4]{1,0} reshape(%x)
           %dot.4 = f32[2,2]{1,0} dot(%reshape.3, %reshape.3), lhs_contracting_dims={1}, rhs_contracting_dims={1}
           ROOT %tuple.5 = (f32[2,2]{1,0}, f32[2,4]{1,0}) tuple(%dot.4, %reshape.3)""",
    )
    assert replaced(difference) == [(["reshape.1", "transpose.2"], ["reshape.3"])]


def test_a_transpose_of_two_equal_transposes_is_merged_into_the_one_that_is_left() -> None:
    difference = compared(
        """%r = f32[2,4]{1,0} reshape(%x)
           %transpose.1 = f32[4,2]{1,0} transpose(%r), dimensions={1,0}
           %transpose.2 = f32[4,2]{1,0} transpose(%transpose.1), dimensions={0,1}
           %transpose.3 = f32[4,2]{1,0} transpose(%transpose.1), dimensions={0,1}
           ROOT %add.4 = f32[4,2]{1,0} add(%transpose.2, %transpose.3)""",
        """%r = f32[2,4]{1,0} reshape(%x)
           %transpose.3 = f32[4,2]{1,0} transpose(%r), dimensions={1,0}
           ROOT %add.4 = f32[4,2]{1,0} add(%transpose.3, %transpose.3)""",
    )
    merged = [([id for _, id in match.a], [id for _, id in match.b]) for match in difference.compared if len(match.a) > 1]
    assert (["transpose.1", "transpose.3"], ["transpose.3"]) in merged


def test_what_a_remade_operation_took_is_followed_to_what_it_takes() -> None:
    """The division became a product at the same place of the user's program; so its operands are witnesses like those of a consumer."""
    place = 'metadata={op_name="jit(f)/div"}'
    difference = compared(
        f"""%abs.1 = f32[8]{{0}} abs(%x)
            %divide.2 = f32[8]{{0}} divide(%abs.1, %y), {place}
            ROOT %add.3 = f32[8]{{0}} add(%divide.2, %x)""",
        f"""%maximum.4 = f32[8]{{0}} maximum(%x, %x)
            %multiply.5 = f32[8]{{0}} multiply(%maximum.4, %y), {place}
            ROOT %add.3 = f32[8]{{0}} add(%multiply.5, %x)""",
    )
    assert replaced(difference) == [(["abs.1"], ["maximum.4"]), (["divide.2"], ["multiply.5"])]


def test_a_constant_that_was_there_before_is_not_what_a_product_became() -> None:
    """As dot-strength-reduction does it. The next pass merges equal constants, so that the product would become all that take a zero."""

    def text(zeros: str, product: str) -> str:
        return f"""%zero.1 = f32[] constant(0)
           %reduce.2 = f32[] reduce(%x, %zero.1), dimensions={{0}}
           {zeros}
           {product}
           ROOT %add.9 = f32[] add(%product, %reduce.2)"""

    difference = compared(
        text("", "%dot.3 = f32[] dot(%x, %y), lhs_contracting_dims={0}").replace("%product", "%dot.3"),
        text(
            "%zero.4 = f32[] constant(0)",
            "%multiply.5 = f32[8]{0} multiply(%x, %y)\n%reduce.6 = f32[] reduce(%multiply.5, %zero.4), dimensions={0}",
        ).replace("%product", "%reduce.6"),
    )
    assert replaced(difference) == [(["dot.3"], ["multiply.5", "reduce.6"])]


def test_what_is_computed_in_a_fusion_now_did_not_replace_its_parameter() -> None:
    def text(parameter: str, inner: str, outer: str) -> str:
        return f"""HloModule m

%inside ({parameter}) -> f32[8] {{
{inner}
  %abs.1 = f32[8]{{0}} abs(%VALUE)
  ROOT %subtract.2 = f32[8]{{0}} subtract(%VALUE, %abs.1)
}}

ENTRY %main (x: f32[8], y: f32[8]) -> f32[8] {{
  %x = f32[8]{{0}} parameter(0)
  %y = f32[8]{{0}} parameter(1)
{outer}
  %fusion.9 = f32[8]{{0}} fusion(%PASSED), kind=kLoop, calls=%inside
  ROOT %add.10 = f32[8]{{0}} add(%fusion.9, %negate.5)
}}
"""

    product = 'custom-call(%x, %y), custom_call_target="dot'
    outer = f"""  %product.3 = f32[2,4]{{1,0}} {product}"
  %bitcast.4 = f32[8]{{0}} bitcast(%product.3)
  %negate.5 = f32[8]{{0}} negate(%bitcast.4)"""
    inner = """  %q = f32[2,4]{1,0} parameter(0)
  %bitcast.6 = f32[8]{0} bitcast(%q)
  %negate.7 = f32[8]{0} negate(%bitcast.6)"""
    before = text("p: f32[8]", "  %p = f32[8]{0} parameter(0)", outer)
    after = text("q: f32[2,4]", inner, f'{outer}\n  %product.8 = f32[2,4]{{1,0}} {product}_and_more"')
    before = before.replace("VALUE", "p").replace("PASSED", "negate.5")
    after = after.replace("VALUE", "negate.7").replace("PASSED", "product.8")
    difference = diff_passes(parse(before), parse(after), ids="names")
    assert not [match for match in difference.replaced if ("inside", "p") in match.a]


SINE, TRANSPOSE = "%sine.1 = f32[8]{0} sine(%x)\n", "%transpose.2 = f32[8]{0} transpose(%sine.1), dimensions={0}\n"


def test_what_changed_nothing_and_was_left_out_is_what_its_consumers_take_now() -> None:
    """A convolution is now what the transpose of it was, and so says XLA's record."""
    taken = "ROOT %add.4 = f32[8]{0} add(%transpose.2, %x)"
    difference = compared(SINE + TRANSPOSE + taken, SINE + taken.replace("transpose.2", "sine.1"))
    assert replaced(difference) == [(["transpose.2"], ["sine.1"])]


def test_the_part_of_a_tuple_of_one_value_is_what_was_that_value() -> None:
    """XLA's conditional-canonicalizer."""
    call = '%call.{} = {} custom-call(%x), custom_call_target="do"'
    difference = compared(
        f"{call.format(1, 'f32[8]{0}')}\nROOT %add.2 = f32[8]{{0}} add(%call.1, %x)",
        f"{call.format(3, '(f32[8]{0})')}\n%get-tuple-element.4 = f32[8]{{0}} get-tuple-element(%call.3), index=0\n"
        "ROOT %add.2 = f32[8]{0} add(%get-tuple-element.4, %x)",
    )
    assert replaced(difference) == [(["call.1"], ["get-tuple-element.4"])]


def test_a_transpose_that_two_dots_do_now_did_not_become_what_it_took() -> None:
    def text(transpose: str, taken: str, axis: int) -> str:
        axes = f"lhs_contracting_dims={{{axis}}}, rhs_contracting_dims={{0}}"
        return f"""%broadcast.1 = f32[8,8]{{1,0}} broadcast(%x), dimensions={{0}}
                   %sine.1 = f32[8,8]{{1,0}} sine(%broadcast.1)
                   {transpose}
                   %dot.3 = f32[8,8]{{1,0}} dot(%{taken}, %broadcast.1), {axes}
                   %dot.4 = f32[8,8]{{1,0}} dot(%{taken}, %sine.1), {axes}
                   ROOT %add.5 = f32[8,8]{{1,0}} add(%dot.3, %dot.4)"""

    transpose = "%transpose.2 = f32[8,8]{1,0} transpose(%sine.1), dimensions={1,0}"
    difference = compared(text(transpose, "transpose.2", 1), text("", "sine.1", 0))
    assert ("transpose.2", "sine.1") not in links(difference) and not difference.replaced


def test_what_may_have_changed_something_did_not_become_what_it_took() -> None:
    taken = "ROOT %add.4 = f32[8]{0} add(%power.2, %x)"
    power = "%power.2 = f32[8]{0} power(%sine.1, %y)\n"
    difference = compared(SINE + power + taken, SINE + taken.replace("power.2", "sine.1"))
    assert ("power.2", "sine.1") not in links(difference) and not difference.replaced


@pytest.mark.parametrize(("before", "after"), [((), (0,)), ((0,), ()), ((), ())])
def test_what_only_rearranges_may_take_nothing(before: tuple[int, ...], after: tuple[int, ...]) -> None:
    """A damaged dump: the fuzzer found it."""

    def damaged(id: str, operands: tuple[int, ...], shape: tuple[int, ...]) -> Program:
        builder = ProgramBuilder("p")
        graph = builder.graph("main")
        graph.node("p", "parameter", (), [TensorType("f32", (4,))], role="input")
        graph.node(id, "reshape", [("p", index) for index in operands], [TensorType("f32", shape)])
        graph.node("end", "negate", [(id, 0)], [TensorType("f32", shape)])
        graph.node("other", "exponential", [(id, 0)], [TensorType("f32", shape)])
        graph.outputs.append(("end", 0))
        return builder.build()

    for id, shape in (("y", (4,)), ("x", (2, 2))):
        assert diff_passes(damaged("x", before, (4,)), damaged(id, after, shape)).b.node_count == 4


def test_a_sum_does_not_do_a_division_though_it_does_more_than_before() -> None:
    """Two sums became one, and one of two users of the quotient has the divisor in its factor: the sum is not what the quotient became."""
    difference = compared(
        """%zero = f32[] constant(0)
           %rows = f32[2,4]{1,0} reshape(%x)
           %reduce.1 = f32[2]{0} reduce(%rows, %zero), dimensions={1}, to_apply=%sum
           %reduce.2 = f32[] reduce(%reduce.1, %zero), dimensions={0}, to_apply=%sum
           %eight = f32[] constant(8)
           %divide.3 = f32[] divide(%reduce.2, %eight)
           %three = f32[] constant(3)
           %multiply.4 = f32[] multiply(%divide.3, %three)
           %broadcast.5 = f32[8]{0} broadcast(%multiply.4), dimensions={}
           %broadcast.6 = f32[8]{0} broadcast(%divide.3), dimensions={}
           ROOT %add.7 = f32[8]{0} add(%broadcast.5, %broadcast.6)""",
        """%zero = f32[] constant(0)
           %rows = f32[2,4]{1,0} reshape(%x)
           %reduce.2 = f32[] reduce(%rows, %zero), dimensions={0,1}, to_apply=%sum
           %eighth = f32[] constant(0.125)
           %multiply.8 = f32[] multiply(%reduce.2, %eighth)
           %threeEighths = f32[] constant(0.375)
           %multiply.4 = f32[] multiply(%reduce.2, %threeEighths)
           %broadcast.5 = f32[8]{0} broadcast(%multiply.4), dimensions={}
           %broadcast.6 = f32[8]{0} broadcast(%multiply.8), dimensions={}
           ROOT %add.7 = f32[8]{0} add(%broadcast.5, %broadcast.6)""",
        SUM,
    )
    assert ("divide.3", "reduce.2") not in links(difference)
    assert ("divide.3", "multiply.8") in links(difference)


def _products(size: int, numbers: tuple[int, int], added_up: bool) -> str:
    lines = []
    for n, root in zip(numbers, (90, 91), strict=True):
        square = f"f32[{size},{size}]{{1,0}}"
        lines += [
            f'%slice.{n} = f32[1,{size}]{{1,0}} slice(%x), slice={{[0:1], [0:{size}]}}, metadata={{op_name="f/slice"}}',
            f'%reshape.{n} = f32[{size}]{{0}} reshape(%slice.{n}), metadata={{op_name="f/squeeze"}}',
            f'%left.{n} = f32[{size}]{{0}} copy(%y), metadata={{op_name="f/left"}}',
            f'%dot.{n} = {square} dot(%left.{n}, %reshape.{n}), lhs_contracting_dims={{}}, metadata={{op_name="f/dot"}}',
        ]
        if added_up:
            lines.append(f'%all-reduce.{n} = {square} all-reduce(%dot.{n}), to_apply=%sum, metadata={{op_name="f/dot"}}')
        lines.append(f"%transpose.{root} = {square} transpose(%{'all-reduce' if added_up else 'dot'}.{n}), dimensions={{1,0}}")
    return "\n".join([*lines, "ROOT %tuple.99 = (f32[8], f32[8]) tuple(%transpose.90, %transpose.91)"])


def test_products_and_what_they_take_are_told_apart_when_all_were_divided_over_devices() -> None:
    """As spmd-partitioning does it: what a product takes did not become the product, nor what adds up the parts of that."""
    difference = diff_passes(program(_products(8, (1, 2), False), SUM), program(_products(4, (5, 6), True), SUM), ids="names")
    for old, new in (("1", "5"), ("2", "6")):
        told = {(a, b) for a, b in links(difference) if a.endswith(f".{old}")}
        same = {(f"{op}.{old}", f"{op}.{new}") for op in ("slice", "reshape", "left", "dot")}
        assert told == same | {(f"dot.{old}", f"all-reduce.{new}")}
