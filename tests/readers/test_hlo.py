"""The HLO reader's rules one by one: what the grammar allows, and what becomes an edge, a call, an attribute or a graph."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from opscope import native
from opscope.program import WHOLE, Graph, Program, TensorType
from opscope.readers import find_reader, read
from opscope.readers.hlo import body, parse_hlo, sniff
from opscope.readers.source import Source
from opscope.render.draw.picture import draw
from opscope.view_options import ViewOptions

SAMPLES = Path(__file__).resolve().parent.parent / "samples" / "hlo"


def one(text: str) -> Program:
    [program] = parse_hlo(text)
    return program


def main_of(*lines: str) -> Graph:
    return one("HloModule m\nENTRY main {\n" + "\n".join(f"  {line}" for line in lines) + "\n}\n").main


def sample(name: str) -> Program:
    return one((SAMPLES / f"{name}.hlo").read_text())


def test_tuple_elements_are_edges_with_the_right_output_index() -> None:
    graph = sample("attributes")["body"]
    assert graph["i"].inputs == (("s", 0),)
    assert graph["x"].inputs == (("s", 1),)
    assert [str(t) for t in graph["s"].outputs] == ["s32[]", "f32[2]"]


def test_a_tuple_that_is_passed_on_is_one_whole_value() -> None:
    graph = sample("attributes").main
    assert graph["loop"].inputs == (("state", WHOLE),)
    assert graph.outputs == (("out", WHOLE),)


def test_a_tuple_in_a_tuple_stays_one_output() -> None:
    graph = sample("types").main
    assert graph["p2"].outputs == (TensorType("f32", (2,), "{0}"), TensorType("(s32[], pred[])"))
    assert graph["inner"].inputs == (("p2", 1),)


def test_replica_groups_of_a_mesh_are_one_value() -> None:
    """XLA prints the devices of a mesh with a comma and a sign of equality, and the axes after them."""
    groups = "mesh['data'=4,'model'=2], device_ids=([2,4]T(1,0)) {'data'}"
    node = main_of("x = f32[8] parameter(0)", f"ROOT y = f32[8] all-to-all(x), replica_groups={groups}, use_global_device_ids=true")["y"]
    assert dict(node.attrs) == {"replica_groups": groups, "use_global_device_ids": "true"}
    plain = main_of("x = f32[8] parameter(0)", "ROOT y = f32[16] all-gather(x), replica_groups=mesh['x'=2] {'x'}, dimensions={0}")["y"]
    assert dict(plain.attrs) == {"replica_groups": "mesh['x'=2] {'x'}", "dimensions": "{0}"}


def test_the_layouts_in_a_nested_tuple_are_written_on_request_only() -> None:
    program = one("HloModule m\nENTRY main {\n  ROOT x = (f32[2,3]{1,0}, (s32[4]{0}, pred[])) custom-call()\n}\n")
    kind = program.main["x"].outputs[1]
    assert (kind.dtype, str(kind)) == ("(s32[4]{0}, pred[])", "(s32[4], pred[])")
    plain, with_layouts = (draw(program, ViewOptions(layouts=layouts), "svg").text for layouts in (False, True))
    assert ">(f32[2, 3], (s32[4], pred[]))<" in plain and "{0}" not in plain
    assert ">(f32[2, 3]{1,0}, (s32[4]{0}, pred[]))<" in with_layouts


def test_types_keep_layouts_and_symbolic_dimensions() -> None:
    graph = sample("types").main
    assert graph["p0"].outputs == (TensorType("f32", (2, 3), "{1,0:T(8,128)(2,1)S(5)}"),)
    assert graph["p1"].outputs == (TensorType("bf16", ("<=8", 2), "{1,0}"),)
    assert len(graph["tiled"].outputs) == 6
    assert main_of("x = f32[?,3] parameter(0)")["x"].outputs == (TensorType("f32", ("?", 3)),)


def test_every_attribute_that_names_computations_adds_calls_in_order() -> None:
    graph = sample("attributes").main
    assert graph["back"].calls == ("greater", "region")
    assert graph["loop"].calls == ("cond", "body")
    assert graph["chosen"].calls == ("negated", "same")
    assert graph["fused"].calls == ("negated",)
    assert graph["chosen"].attrs["branch_computations"] == "{negated, same}"


def test_control_predecessors_are_control_edges() -> None:
    assert sample("parallel").main["after"].control == ("before", "ar-done")


def test_attribute_values_are_text_whatever_their_grammar() -> None:
    attrs = sample("attributes").main["conv"].attrs
    assert attrs["window"] == "{size=3x3 pad=1_1x1_1 rhs_reversal=1x1}"
    assert attrs["dim_labels"] == "b01f_01io->b01f"
    assert attrs["backend_config"] == '{"kind":"fast {","sizes":[1,2],"inner":{"deep":true}}'
    assert attrs["metadata.op_name"] == "net/conv; net/merged"
    kernel = sample("attributes").main["kernel"].attrs
    assert kernel["frontend_attributes.shown"] == 'yes, "it" is'
    assert kernel["frontend_attributes.layout"] == "a{b"
    assert kernel["parameter_number"] == "1"


def test_names_of_computations_in_strings_are_not_calls() -> None:
    graph = main_of('x = f32[] parameter(0), metadata={op_name="while[body=y, calls=z]"}, backend_config="{, calls=q}"')
    assert graph["x"].calls == ()


def test_header_and_computation_attributes_are_preserved() -> None:
    program = sample("parallel")
    assert dict(program.attrs) == {"replica_count": "2", "num_partitions": "4", "is_scheduled": "true"}
    assert program["wrapped"].attrs["execution_thread"] == "helpers"
    assert sample("types").main.attrs["signature"].startswith("(p0: f32[2,3], p1: bf16[<=8,2], p2:")


def test_nested_operands_become_instructions_before_their_user() -> None:
    graph = sample("written").main
    nested = [node.op for node in graph if node.id.startswith("nested")]
    assert nested == ["abs", "sqrt", "negate", "add", "multiply"]
    assert [name for name, _ in graph["nested"].inputs] == ["nested:sqrt", "nested:add"]


def test_omitted_types_follow_from_the_operands() -> None:
    graph = sample("written").main
    assert str(graph["untyped"].outputs[0]) == "f32[4]"
    assert str(graph["compared"].outputs[0]) == "pred[4]"
    assert str(graph["untyped_element"].outputs[0]) == "pred[4]"


def test_a_computation_inside_an_attribute_is_a_graph_of_its_own() -> None:
    program = sample("written")
    [called] = program.main["inlined"].calls
    assert [node.op for node in program[called]] == ["parameter", "parameter", "maximum"]
    assert list(program.graphs).index(called) < list(program.graphs).index("main")


def test_a_loop_may_have_both_parts_inside_its_attributes() -> None:
    inner = "{ s = s32[] parameter(0) one = s32[] constant(1) ROOT r = %s add(s, one) }"
    program = one(f"ENTRY e {{ x = s32[] parameter(0) ROOT w = s32[] while(x), condition={inner % 'pred[]'}, body={inner % 's32[]'} }}")
    assert len(program.main["w"].calls) == 2
    assert [str(program[name]["r"].outputs[0]) for name in program.main["w"].calls] == ["pred[]", "s32[]"]


def test_without_root_the_last_instruction_is_the_root_and_without_entry_the_last_computation_the_entry() -> None:
    program = sample("written")
    assert program["add_two"].outputs == (("add", 0),)
    assert program.entry == "main"
    assert program.name == "module_main"


def test_compact_elements_name_the_output_they_take() -> None:
    graph = sample("tomorrow").main
    assert graph["x"].inputs == (("p", 0), ("p", 1))
    assert graph["z"].inputs[0] == ("deep", 0)
    assert graph["z"].attrs["operand_0_element"] == "#0#0"


def test_a_comment_is_not_an_operand() -> None:
    assert main_of("a = f32[] parameter(0)", "b = () tuple(/*none*/)", "c = f32[] copy(/*the only*/a)")["b"].inputs == ()


def test_operands_may_be_defined_later() -> None:
    graph = main_of("a = (f32[]) tuple(b)", "c = f32[] copy(d)", "b = f32[] parameter(0)", "d = f32[] negate(b)")
    assert graph["c"].inputs == (("d", 0),)
    assert graph["a"].inputs == (("b", 0),)


def test_elided_operands_of_a_compact_print_are_noted() -> None:
    graph = main_of("a = f32[] parameter(0)", "b = f32[] add(a, ...(+12))")
    assert graph["b"].inputs == (("a", 0),)
    assert graph["b"].attrs["elided_operands"] == "12"


def test_several_modules_in_a_file_are_several_programs() -> None:
    programs = parse_hlo((SAMPLES / "several.hlo").read_text())
    assert [p.name for p in programs] == ["first", "second", "module_e", "module_e.2"]
    assert [p.node_count for p in programs] == [2, 3, 2, 2]


def test_undefined_operands_of_pasted_lines_become_parameters() -> None:
    program = sample("pasted")
    assert [node.id for node in program.main.parameters] == ["param.1", "add.7"]
    assert program.main["fusion.1"].calls == ()
    assert program.main["fusion.1"].attrs["calls"] == "fused_computation"


def test_an_instruction_without_a_name_or_operand_names_is_read() -> None:
    graph = one("f32[10] fusion(f32[10], f32[10] y), kind=kLoop").main
    assert [node.op for node in graph] == ["parameter", "parameter", "fusion"]
    assert [str(node.outputs[0]) for node in graph] == ["f32[10]"] * 3


@pytest.mark.parametrize("name", ["written", "attributes", "step_compiled", "several"])
def test_line_endings_do_not_matter(name: str) -> None:
    text = (SAMPLES / f"{name}.hlo").read_text()
    plain = parse_hlo(text)
    for changed in (text.replace("\n", "\r\n"), text.rstrip(), "\n\n" + text + "\n\t\n"):
        assert [dict(p.graphs) for p in parse_hlo(changed)] == [dict(p.graphs) for p in plain]


def test_xla_tests_that_begin_with_a_hash_are_read() -> None:
    assert len(one("# RUN: hlo-translate %s | FileCheck %s\nHloModule m\n# CHECK: x\nENTRY e {\n  x = f32[] parameter(0)\n}\n").main) == 1


def test_a_line_of_a_megabyte_is_read() -> None:
    count = 60_000
    types = ", ".join(["f32[2]{0}"] * count)
    names = ", ".join(["%p"] * count)
    graph = main_of("%p = f32[2]{0} parameter(0)", f"ROOT %t = ({types}) tuple({names})")
    assert len(graph["t"].outputs) == len(graph["t"].inputs) == count


@pytest.mark.slow
@pytest.mark.parametrize("name", [path.name for path in sorted(SAMPLES.glob("*.hlo"))])
def test_the_size_of_the_pieces_in_which_lines_are_read_does_not_matter(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (SAMPLES / name).read_text()
    whole = [native.dumps(program) for program in parse_hlo(text)]
    for characters in (1, 300):
        monkeypatch.setattr(body, "_PIECE", characters)
        assert [native.dumps(program) for program in parse_hlo(text)] == whole


def test_a_piece_ends_before_an_instruction_not_inside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "_PIECE", 1)
    graph = main_of("%a = f32[] parameter(0)", "%b = f32[] negate(%a)", '  , metadata={op_name="x"}', "%c = f32[] negate(%b)")
    assert [node.id for node in graph] == ["a", "b", "c"] and graph["b"].attrs["metadata.op_name"] == "x"


def test_progress_is_reported() -> None:
    body = "".join(f"  x{i} = f32[64,64]{{1,0}} parameter({i})\n" for i in range(40_000))
    text = "".join(f"c{k} {{\n{body}}}\n" for k in range(2))
    fractions: list[float] = []
    parse_hlo(text, fractions.append)
    assert fractions
    assert fractions == sorted(fractions)
    assert all(0 < fraction <= 1 for fraction in fractions)


def test_gzip_is_decompressed_and_the_name_does_not_matter(tmp_path: Path) -> None:
    packed = tmp_path / "dump.bin"
    packed.write_bytes(gzip.compress((SAMPLES / "attributes.hlo").read_bytes()))
    assert find_reader(Source(packed)).name == "hlo"
    assert read(Source(packed))[0].name == "attributes"


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.hlo")), ids=lambda path: path.stem)
def test_samples_are_recognized_without_their_name(path: Path) -> None:
    assert sniff(Source("anything", path.read_bytes())).confidence >= 0.6


@pytest.mark.parametrize(
    "text", ["{}", "digraph { a -> b }", "module { func.func @f() { return } }", "x = 3\ny = f(x)\n", "BufferAssignment:\n"]
)
def test_other_texts_are_declined_with_a_reason(text: str) -> None:
    verdict = sniff(Source("other.txt", text.encode()))
    assert verdict.confidence == 0
    assert verdict.reason


@pytest.mark.parametrize(
    "tail",
    [
        ', calls=%f, metadata={op_name="jit(g)/a" stack_frame_id=3}, backend_config={"a":{"b":[{"c":["1"]}]}}',
        ', backend_config={"a":{"b":[{"c":["1"]}]}}, calls=%f',
        ', calls=%f, backend_config={"a":1}, frontend_attributes={b="2"}',
        ', calls=%f, metadata={op_name="x, metadata={y"}, backend_config={"a":"}, calls=%g"}',
        ', frontend_attributes={note="a, metadata={b"}, calls=%f, metadata={op_name="jit(g)/a//b"}',
        ", kind=kLoop, calls=%f, backend_config={plain=text}",
    ],
)
def test_what_follows_an_instruction_means_the_same_on_a_usual_line_and_to_the_careful_reader(tail: str) -> None:
    """A comment leaves a line to the careful reader, whose word counts."""
    called = "HloModule m\nf {{\n  ROOT p = f32[] parameter(0)\n}}\n\n"
    text = called + "ENTRY main {{\n  x = f32[] parameter(0)\n  ROOT y = f32[] fusion(x){}{}\n}}\n"
    quick, careful = one(text.format(tail, "")), one(text.format(" /* a comment */", tail))
    assert native.dumps(quick) == native.dumps(careful)
    assert quick.main["y"].calls == ("f",)
