"""Operations that a pass made anew, in another shape, order or place: which of the new nodes is the old one, and which is not."""

from __future__ import annotations

import pytest
from support.compared import compared, links, replaced
from support.hlo_texts import parse

from opscope.program import Program, ProgramBuilder, TensorType
from opscope.recording.diff import diff_passes


def test_an_operation_between_new_reshapes_is_the_same_operation() -> None:
    difference = compared(
        "%exp.1 = f32[8]{0} exponential(%x)\nROOT %add.2 = f32[8]{0} add(%exp.1, %y)",
        """%bitcast.3 = f32[2,4]{1,0} bitcast(%x)
           %exp.4 = f32[2,4]{1,0} exponential(%bitcast.3)
           %bitcast.5 = f32[8]{0} bitcast(%exp.4)
           ROOT %add.2 = f32[8]{0} add(%bitcast.5, %y)""",
    )
    assert (("main", "exp.1"), ("main", "exp.4")) in list(difference.pairs())
    assert {id for _, id in difference.added} == {"bitcast.3", "bitcast.5"} and difference.removed == ()
    assert replaced(difference) == [(["exp.1"], ["bitcast.5"])]


def test_a_product_in_parts_is_completed_by_their_sum_and_an_inserted_copy_completes_nothing() -> None:
    """As splitk-rewriter does it; a product that stays, behind which a copy is inserted, did not become the copy."""
    place = 'metadata={op_name="jit(f)/loss/dot_general"}'
    difference = compared(
        f"""%dot.1 = f32[8]{{0}} dot(%x, %y), lhs_contracting_dims={{0}}, {place}
            %dot.2 = f32[8]{{0}} dot(%y, %y), lhs_contracting_dims={{0}}
            ROOT %add.2 = f32[8]{{0}} add(%dot.1, %dot.2)""",
        f"""%bitcast.3 = f32[2,4]{{1,0}} bitcast(%x)
            %bitcast.4 = f32[2,4]{{1,0}} bitcast(%y)
            %dot.5 = f32[2,8]{{1,0}} dot(%bitcast.3, %bitcast.4), lhs_contracting_dims={{0}}, {place}
            %zero.6 = f32[] constant(0)
            %reduce.7 = f32[8]{{0}} reduce(%dot.5, %zero.6), dimensions={{0}}, {place}
            %dot.2 = f32[8]{{0}} dot(%y, %y), lhs_contracting_dims={{0}}
            %copy.8 = f32[8]{{0}} copy(%dot.2)
            ROOT %add.2 = f32[8]{{0}} add(%reduce.7, %copy.8)""",
    )
    assert (("main", "dot.1"), ("main", "dot.5")) in list(difference.pairs())
    assert replaced(difference) == [(["dot.1"], ["reduce.7"])]


def test_a_node_that_was_made_anew_at_its_place_is_itself() -> None:
    """Moving a reshape gives the operation another shape and another name."""
    name = 'metadata={op_name="jit(step)/layer_0/neg"}'
    difference = compared(
        f"""%reshape.1 = f32[2,4]{{1,0}} reshape(%x)
            %neg.10 = f32[2,4]{{1,0}} negate(%reshape.1), {name}
            %reshape.3 = f32[8]{{0}} reshape(%neg.10)
            ROOT %add.4 = f32[8]{{0}} add(%reshape.3, %y)""",
        f"""%neg.0 = f32[8]{{0}} negate(%x), {name}
            ROOT %add.4 = f32[8]{{0}} add(%neg.0, %y)""",
    )
    (match,) = [match for match in difference.matched if match.b == (("main", "neg.0"),) and match.evidence != "slot"]
    assert ("main", "neg.10") in match.a and match.evidence == "place"


def test_of_several_operations_at_one_place_each_is_known_by_what_it_takes() -> None:
    """As XLA partitions a program: everything is made anew with other shapes, and the products of one line have one op_name."""

    def body(size: int, first: int) -> str:
        kind, name = f"f32[{size}]{{0}}", 'metadata={op_name="jit(step)/mlp/mul"}'
        return f"""%slice.{first} = {kind} slice(%x), slice={{[0:{size}]}}
            %tanh.{first} = {kind} tanh(%slice.{first})
            %exp.{first} = {kind} exponential(%slice.{first})
            %mul.{first} = {kind} multiply(%exp.{first}, %tanh.{first}), {name}
            %mul.{first + 1} = {kind} multiply(%mul.{first}, %tanh.{first}), {name}
            %add.{first} = {kind} add(%mul.{first + 1}, %mul.{first})
            ROOT %pad.9{first} = f32[8]{{0}} custom-call(%add.{first}, %exp.{first}), custom_call_target="f{size}" """

    links = {id: match for match in compared(body(8, 1), body(4, 11)).matched for _, id in match.a}
    assert [(links[id].b[0][1], links[id].evidence) for id in ("mul.1", "mul.2")] == [("mul.11", "place"), ("mul.12", "place")]


def test_a_reshape_that_was_moved_behind_a_product_is_not_the_one_before_it() -> None:
    """XLA's own record (`original_value`) says that the new one has the value of the product."""
    before, product = (f'metadata={{op_name="jit(step)/{name}"}}' for name in ("broadcast", "mul"))
    difference = compared(
        f"""%reshape.1 = f32[2,4]{{1,0}} reshape(%x), {before}
            %mul.2 = f32[2,4]{{1,0}} multiply(%reshape.1, %reshape.1), {product}
            ROOT %sine.3 = f32[2,4]{{1,0}} sine(%mul.2)""",
        f"""%mul.5 = f32[8]{{0}} multiply(%x, %x), {product}
            %reshape.6 = f32[2,4]{{1,0}} reshape(%mul.5), {product}
            ROOT %sine.3 = f32[2,4]{{1,0}} sine(%reshape.6)""",
    )
    assert (("main", "mul.2"), ("main", "mul.5")) in list(difference.pairs())
    assert ("main", "reshape.6") in difference.added


def test_the_only_clone_of_a_node_that_is_gone_is_that_node() -> None:
    difference = compared(
        """%mul.1 = f32[8]{0} multiply(%x, %y)
           %mul.2 = f32[8]{0} multiply(%y, %y)
           ROOT %add.3 = f32[8]{0} add(%mul.1, %mul.2)""",
        """%mul.2 = f32[8]{0} multiply(%y, %y)
           %mul.1.clone.1 = f32[8]{0} multiply(%y, %x)
           ROOT %add.3 = f32[8]{0} add(%mul.1.clone.1, %mul.2)""",
    )
    (match,) = [match for match in difference.matched if match.a == (("main", "mul.1"),)]
    assert match.b == (("main", "mul.1.clone.1"),) and match.evidence == "name"


@pytest.mark.parametrize("layer, expected", [("layer_1", True), ("layer_0", False)])
def test_a_node_does_not_match_one_of_another_layer(layer: str, expected: bool) -> None:
    difference = compared(
        'ROOT %bitcast.81 = f32[2,4]{1,0} bitcast(%x), metadata={op_name="jit(step)/layer_1/attention/reshape"}',
        f'ROOT %bitcast.174 = f32[2,4]{{1,0}} bitcast(%x), metadata={{op_name="jit(step)/{layer}/attention/reshape"}}',
    )
    assert ((("main", "bitcast.81"), ("main", "bitcast.174")) in list(difference.pairs())) == expected


def test_a_node_is_not_one_that_takes_other_values_that_stayed() -> None:
    """A real pass of algsimp: the bitcast before a dot is gone, and a reshape after it became a bitcast of the same type."""
    difference = compared(
        """%copy.1 = f32[8]{0} copy(%x)
           %bitcast.9 = f32[2,4]{1,0} bitcast(%copy.1)
           %reshape.2 = f32[4,2]{1,0} reshape(%bitcast.9)
           %dot.3 = f32[4,2]{1,0} dot(%reshape.2, %y), lhs_contracting_dims={1}
           %reshape.4 = f32[2,4]{1,0} reshape(%dot.3)
           ROOT %transpose.5 = f32[4,2]{1,0} transpose(%reshape.4), dimensions={1,0}""",
        """%copy.1 = f32[8]{0} copy(%x)
           %bitcast.6 = f32[4,2]{1,0} bitcast(%copy.1)
           %dot.3 = f32[4,2]{1,0} dot(%bitcast.6, %y), lhs_contracting_dims={1}
           %bitcast.7 = f32[2,4]{1,0} bitcast(%dot.3)
           ROOT %transpose.5 = f32[4,2]{1,0} transpose(%bitcast.7), dimensions={1,0}""",
    )
    became = {(a, b) for match in difference.matched for _, a in match.a for _, b in match.b}
    assert ("bitcast.9", "bitcast.7") not in became
    assert ("reshape.4", "bitcast.7") in became


def test_a_node_is_not_one_that_other_users_take_that_stayed() -> None:
    """A real pass of algsimp: of the numbers of a random value, one broadcast became an iota, and another was made for the next sum."""
    place = 'metadata={op_name="jit(f)/iota_2x32_shape"}'
    difference = compared(
        f"""%copy.1 = f32[8]{{0}} copy(%x)
            %broadcast.2 = f32[8,4]{{1,0}} broadcast(%copy.1), dimensions={{0}}, {place}
            %sine.3 = f32[8,4]{{1,0}} sine(%broadcast.2)
            %cosine.4 = f32[8,4]{{1,0}} cosine(%sine.3)
            ROOT %add.5 = f32[8,4]{{1,0}} add(%sine.3, %cosine.4)""",
        f"""%iota.6 = f32[8,4]{{1,0}} iota(), iota_dimension=0, {place}
            %sine.3 = f32[8,4]{{1,0}} sine(%iota.6)
            %neg.7 = f32[8]{{0}} negate(%y)
            %broadcast.8 = f32[8,4]{{1,0}} broadcast(%neg.7), dimensions={{0}}, {place}
            %cosine.4 = f32[8,4]{{1,0}} cosine(%broadcast.8)
            ROOT %add.5 = f32[8,4]{{1,0}} add(%sine.3, %cosine.4)""",
    )
    became = {(a, b) for match in difference.matched for _, a in match.a for _, b in match.b}
    assert ("broadcast.2", "iota.6") in became and ("broadcast.2", "broadcast.8") not in became


def test_views_under_another_name_are_linked_one_by_one() -> None:
    """torch's view_to_reshape makes every view a reshape; two of them in a row are not one group."""
    first, second = (program_of_views(op) for op in ("view", "reshape"))
    difference = diff_passes(first, second, ids="positions")
    assert replaced(difference) == [(["view_1"], ["reshape_1"]), (["view_2"], ["reshape_2"])]


def program_of_views(op: str) -> Program:
    builder = ProgramBuilder("p", "main")
    graph = builder.graph("main")
    kinds = [TensorType("f32", shape) for shape in ((8,), (2, 4), (4, 2))]
    graph.node("x", "input", (), [kinds[0]], role="input")
    graph.node(f"{op}_1", f"aten.{op}.default", [("x", 0)], [kinds[1]])
    graph.node(f"{op}_2", f"aten.{op}.default", [(f"{op}_1", 0)], [kinds[2]])
    graph.node("neg", "aten.neg.default", [(f"{op}_2", 0)], [kinds[2]])
    return builder.build()


def test_an_operation_made_anew_is_itself_though_other_new_ones_take_it_too() -> None:
    """As layout normalization does it: all operations have another shape, and bitcasts give the old one where it is needed."""
    difference = compared(
        """%multiply.1 = f32[8]{0} multiply(%x, %y)
           %slice.2 = f32[4]{0} slice(%multiply.1), slice={[0:4]}
           %negate.3 = f32[4]{0} negate(%slice.2)
           %slice.4 = f32[4]{0} slice(%multiply.1), slice={[4:8]}
           %abs.5 = f32[4]{0} abs(%slice.4)
           ROOT %root.6 = f32[4]{0} subtract(%negate.3, %abs.5)""",
        """%bitcast.7 = f32[8,1]{1,0} bitcast(%x)
           %bitcast.8 = f32[8,1]{1,0} bitcast(%y)
           %multiply.9 = f32[8,1]{1,0} multiply(%bitcast.7, %bitcast.8)
           %slice.10 = f32[4,1]{1,0} slice(%multiply.9), slice={[0:4], [0:1]}
           %negate.11 = f32[4,1]{1,0} negate(%slice.10)
           %bitcast.12 = f32[4]{0} bitcast(%negate.11)
           %slice.13 = f32[4,1]{1,0} slice(%multiply.9), slice={[4:8], [0:1]}
           %abs.14 = f32[4,1]{1,0} abs(%slice.13)
           %bitcast.15 = f32[4]{0} bitcast(%abs.14)
           ROOT %root.6 = f32[4]{0} subtract(%bitcast.12, %bitcast.15)""",
    )
    pairs = {(a, b) for (_, a), (_, b) in difference.pairs()}
    assert pairs >= {("multiply.1", "multiply.9"), ("slice.2", "slice.10"), ("negate.3", "negate.11"), ("slice.4", "slice.13")}


def test_what_gives_the_old_value_of_another_operation_replaced_nothing_else() -> None:
    """Both copies take the concatenation, which was made anew; the bitcast behind it gives what the concatenation gave."""
    difference = compared(
        """%concatenate.1 = f32[8,2]{0,1} concatenate(%x, %y), dimensions={1}
           %copy.2 = f32[8,2]{1,0} copy(%concatenate.1)
           %copy.3 = f32[8,2]{1,0} copy(%concatenate.1)
           %bitcast.4 = f32[16]{0} bitcast(%copy.2)
           %bitcast.5 = f32[2,8]{1,0} bitcast(%copy.3)
           ROOT %tuple.6 = (f32[16]{0}, f32[2,8]{1,0}) tuple(%bitcast.4, %bitcast.5)""",
        """%concatenate.7 = f32[2,8]{1,0} concatenate(%x, %y), dimensions={0}
           %transpose.8 = f32[8,2]{1,0} transpose(%concatenate.7), dimensions={1,0}
           %bitcast.9 = f32[8,2]{0,1} bitcast(%concatenate.7)
           %bitcast.10 = f32[2,8]{1,0} bitcast(%bitcast.9)
           %transpose.11 = f32[8,2]{1,0} transpose(%bitcast.10), dimensions={1,0}
           %bitcast.4 = f32[16]{0} bitcast(%transpose.8)
           %bitcast.5 = f32[2,8]{1,0} bitcast(%transpose.11)
           ROOT %tuple.6 = (f32[16]{0}, f32[2,8]{1,0}) tuple(%bitcast.4, %bitcast.5)""",
    )
    assert not any("bitcast.9" in new for old, new in replaced(difference) if old != ["concatenate.1"])


def test_what_a_pass_moves_before_a_transpose_is_known_by_what_it_rearranges() -> None:
    """XLA's reshape-mover: each operation got the shape that the other one had, and was linked with that."""

    def text(*moved: str) -> str:
        lines = "\n".join(moved)
        return f"""HloModule m

ENTRY %main (x: f32[4,8], y: f32[8,4]) -> (f32[8,4], f32[4,8]) {{
  %x = f32[4,8]{{1,0}} parameter(0)
  %y = f32[8,4]{{1,0}} parameter(1)
  %transpose.1 = f32[8,4]{{1,0}} transpose(%x), dimensions={{1,0}}
  %transpose.2 = f32[4,8]{{1,0}} transpose(%y), dimensions={{1,0}}
{lines}
  %tanh.7 = f32[8,4]{{1,0}} tanh(%FIRST)
  %sine.8 = f32[4,8]{{1,0}} sine(%SECOND)
  ROOT %tuple.9 = (f32[8,4]{{1,0}}, f32[4,8]{{1,0}}) tuple(%tanh.7, %sine.8)
}}
"""

    before = text("%is.1 = f32[8,4]{1,0} exponential(%transpose.1)", "%is.2 = f32[4,8]{1,0} exponential(%transpose.2)")
    after = text(
        "%transpose.3 = f32[4,8]{1,0} transpose(%transpose.1), dimensions={1,0}",
        "%is.3 = f32[4,8]{1,0} exponential(%transpose.3)",
        "%transpose.4 = f32[8,4]{1,0} transpose(%is.3), dimensions={1,0}",
        "%transpose.5 = f32[8,4]{1,0} transpose(%transpose.2), dimensions={1,0}",
        "%is.4 = f32[8,4]{1,0} exponential(%transpose.5)",
        "%transpose.6 = f32[4,8]{1,0} transpose(%is.4), dimensions={1,0}",
    )
    before = before.replace("FIRST", "is.1").replace("SECOND", "is.2")
    after = after.replace("FIRST", "transpose.4").replace("SECOND", "transpose.6")
    difference = diff_passes(parse(before), parse(after), ids="names")
    links = {(old, new) for (_, old), (_, new) in difference.pairs()}
    assert {("is.1", "is.3"), ("is.2", "is.4")} <= links
    assert replaced(difference) == [(["is.1"], ["transpose.4"]), (["is.2"], ["transpose.6"])]


def test_a_reshape_of_a_value_that_stayed_is_not_one_of_the_sum_that_was_moved_before_it() -> None:
    """XLA's own record (`original_value`) says that the new reshape has the value of the second sum; both sums have one name."""
    name = 'metadata={op_name="jit(step)/add_any"}'
    difference = compared(
        f"""%sine.0 = f32[8]{{0}} sine(%x)
            %add.1 = f32[8]{{0}} add(%sine.0, %y), {name}
            %reshape.2 = f32[2,4]{{1,0}} reshape(%add.1), {name}
            %reshape.3 = f32[2,4]{{1,0}} reshape(%y), metadata={{op_name="jit(step)/dot"}}
            %add.4 = f32[2,4]{{1,0}} add(%reshape.2, %reshape.3), {name}
            ROOT %sine.5 = f32[2,4]{{1,0}} sine(%add.4)""",
        f"""%sine.0 = f32[8]{{0}} sine(%x)
            %add.1 = f32[8]{{0}} add(%sine.0, %y), {name}
            %add.6 = f32[8]{{0}} add(%add.1, %y), {name}
            %reshape.7 = f32[2,4]{{1,0}} reshape(%add.6), {name}
            ROOT %sine.5 = f32[2,4]{{1,0}} sine(%reshape.7)""",
    )
    assert ("add.4", "reshape.7") in links(difference)
    assert "neighbourhood" not in {match.evidence for match in difference.matched}
