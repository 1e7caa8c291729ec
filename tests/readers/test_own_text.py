"""The text that a program was read from is at hand, line by line, wherever the program goes: through files, pages and servers."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest
from support.hlo_texts import AFTER, BEFORE, write_dump
from support.wire_reader import WireReader

import opscope
from opscope.program import Program, ProgramBuilder
from opscope.recording.sources import open_passes
from opscope.recording.store.line_templates import line_of
from opscope.recording.store.store import StoreWriter, save_recording
from opscope.render.wire import own_text
from opscope.render.wire.details import encode_details
from opscope.render.wire.program import encode_wire
from opscope.render.wire.recording import encode_recording


def lines_of(program: Program) -> dict[str, list[str]]:
    assert program.own_text is not None
    return {graph.name: list(program.own_text.lines(graph.name, 0, len(graph))) for graph in program}


def instructions(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if " = " in line]


def test_every_instruction_has_its_line(tmp_path: Path) -> None:
    (tmp_path / "step.hlo").write_text(AFTER)
    program = opscope.load(tmp_path / "step.hlo")
    lines = lines_of(program)
    assert [*chain(*lines.values())] == instructions(AFTER)
    assert lines["fused_computation"][2].startswith("ROOT %negate.1 = ")
    assert program.own_text is not None and program.own_text.lines("main.9", 2, 4) == lines["main.9"][2:4]
    assert opscope.load(tmp_path / "step.hlo") == program, "equal programs are equal wherever their text is"


def test_lines_that_end_as_on_windows_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "step.hlo").write_bytes(AFTER.replace("\n", "\r\n").encode())
    assert [*chain(*lines_of(opscope.load(tmp_path / "step.hlo")).values())] == instructions(AFTER)


def test_of_several_modules_each_has_its_own_text(tmp_path: Path) -> None:
    (tmp_path / "two.hlo").write_text(f"{BEFORE}\n{AFTER.replace('jit_step', 'jit_other')}")
    first, second = opscope.load_all(tmp_path / "two.hlo")
    assert [*chain(*lines_of(first).values())] == instructions(BEFORE)
    assert [*chain(*lines_of(second).values())] == instructions(AFTER)


def test_a_text_that_has_changed_or_gone_has_no_lines_for_what_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "step.hlo"
    path.write_text(BEFORE)
    changed, gone = opscope.load(path), opscope.load(path)
    path.write_text(BEFORE.replace("tanh.4", "tanh.5"))
    assert [line for line in lines_of(changed)["main.9"] if not line] == [""]
    path.unlink()
    assert not any(chain(*lines_of(gone).values()))


@pytest.mark.frameworks
def test_functions_in_mlir_in_generic_form_have_their_own_lines(tmp_path: Path) -> None:
    pytest.importorskip("jaxlib")
    functions = [
        f'''"func.func"() <{{arg_attrs = [{{t.mesh = @mesh}}], function_type = (i32) -> i32, sym_name = "{name}"}}> ({{
        ^bb0(%arg0: i32):
          %0 = "t.{name}"(%arg0) : (i32) -> i32
          "func.return"(%0) : (i32) -> ()
        }}) : () -> ()'''
        for name in ("main", "other")
    ]
    (tmp_path / "x.mlir").write_text('"builtin.module"() ({\n' + "\n".join(functions) + "\n}) : () -> ()\n")
    assert {name: lines[1] for name, lines in lines_of(opscope.load(tmp_path / "x.mlir")).items()} == {
        "main": '%0 = "t.main"(%arg0) : (i32) -> i32',
        "other": '%0 = "t.other"(%arg0) : (i32) -> i32',
    }


@pytest.mark.frameworks
def test_a_long_signature_in_mlir_is_not_repeated_for_each_parameter(tmp_path: Path) -> None:
    pytest.importorskip("jaxlib")
    arguments = [f"%arg{i}: tensor<{1 + i}xf32>" for i in range(2000)]
    (tmp_path / "x.mlir").write_text(f"func.func @main({', '.join(arguments)}) {{\nreturn\n}}\nfunc.func @few(%x: i32) {{\nreturn\n}}\n")
    lines = lines_of(opscope.load(tmp_path / "x.mlir"))
    generic = f'"func.func"() <{{function_type = ({"i32, " * 4000}i32) -> (), sym_name = "main"}}> ({{\n^bb0('
    (tmp_path / "y.mlir").write_text(
        generic + ", ".join(f"%a{i}: i32" for i in range(4001)) + '):\n"func.return"() : () -> ()\n}) : () -> ()\n'
    )
    assert lines_of(opscope.load(tmp_path / "y.mlir"))["main"][0] == ""
    assert lines["few"] == ["func.func @few(%x: i32) {"]
    assert [line.rstrip(") {").rstrip(", ") for line in lines["main"]] == arguments


@pytest.mark.frameworks
def test_lines_that_look_like_functions_are_not_all_searched_for(tmp_path: Path) -> None:
    pytest.importorskip("jaxlib")
    count = 10_000
    body = "\n".join(f"%{i} = stablehlo.add %x, %x : tensor<4xf32>" for i in range(count))
    odd = '"a.func"() : () -> ()\n' * count
    (tmp_path / "x.mlir").write_text(f"func.func @main(%x: tensor<4xf32>) {{\n{body}\nreturn\n}}\n{odd}")
    program = opscope.load(tmp_path / "x.mlir")
    started = time.process_time()
    assert all(lines_of(program)["main"])
    assert time.process_time() - started < 20


def test_a_recording_has_the_texts_of_its_dump(tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "dump")
    recording = opscope.open_recording(dump)
    save_recording(recording, tmp_path / "run.opscope")
    for passes in (recording, open_passes(dump), opscope.open_recording(tmp_path / "run.opscope")):
        for snapshot in passes:
            text = (dump / snapshot.attrs["file"]).read_text()
            assert [*chain(*lines_of(snapshot.program).values())] == instructions(text), snapshot.title
    program = opscope.open_recording(tmp_path / "run.opscope").snapshot(-1).program
    whole = lines_of(program)[program.entry]
    assert program.own_text is not None
    for start in range(len(whole)):
        for stop in range(start, len(whole) + 1):
            assert program.own_text.lines(program.entry, start, stop) == whole[start:stop]


def test_pages_have_each_line_without_names_once_and_servers_send_them_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = opscope.open_recording(write_dump(tmp_path / "dump"))
    program = recording.snapshot(-1).program
    expected = [*chain(*lines_of(program).values())]
    wire = WireReader(encode_recording(recording, to_read=True))
    templates = wire.strings("lines")
    assert len(set(templates)) == len(templates)
    numbers = wire.column(f"lines{recording[-1].content}")
    nodes = chain(*(graph.nodes for graph in program))
    assert [line_of(templates[number], node) for number, node in zip(numbers, nodes, strict=True)] == expected
    assert WireReader(encode_details(program, 2, 5)).strings("lines") == expected[2:5]
    assert "lines" not in WireReader(encode_wire(program)), "pictures need no text"
    assert "lines" in WireReader(encode_wire(program, own_text=True))
    monkeypatch.setattr(own_text, "_MOST_TEXT", 100)
    assert "lines" not in WireReader(encode_wire(program, own_text=True)), "a page stays small"


@pytest.mark.parametrize("inputs", [[], [("x", 0)]])
def test_equal_lines_of_nodes_with_other_operands_are_stored_as_they_are(inputs: list[tuple[str, int]]) -> None:
    """The fuzzer found it: a line names what a truncated graph does not have, and the recording of it was said to be damaged."""

    class Returns:
        def lines(self, graph: str, start: int, stop: int) -> list[str]:
            return ["", "", "return (y,)"][start:stop]

    writer = StoreWriter()
    for operands in ([("y", 0)], inputs):
        builder = ProgramBuilder("p")
        graph = builder.graph("main")
        graph.node("x", "input")
        graph.node("y", "input")
        graph.node("output", "output", operands)
        writer.add(replace(builder.build(), own_text=Returns()), "pass")
    assert [lines_of(snapshot.program)["main"][-1] for snapshot in writer.recording()] == ["return (y,)"] * 2
