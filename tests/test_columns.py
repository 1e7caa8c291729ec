"""The nodes of very large graphs are columns. Nobody can tell: what is read is the same, and so is every error."""

from __future__ import annotations

import re
import tracemalloc
from pathlib import Path

import pytest
from support.wire_reader import WireReader

import opscope
import opscope.native.bulk
import opscope.native.reading
import opscope.program.columns
import opscope.readers.hlo.body
import opscope.readers.hlo.cut_text
import opscope.render.wire.own_text
from opscope import OpscopeError, native
from opscope.analysis.cost import Cost, CostModel
from opscope.analysis.enrich import enrich
from opscope.analysis.moved import output_sizes
from opscope.loading import load_all
from opscope.program import Graph, NodeColumns, Program, links_of
from opscope.readers.hlo import parse_hlo
from opscope.readers.hlo.body import Body
from opscope.readers.hlo.bulk import BulkRow, BulkRows
from opscope.readers.hlo.cut_text import CutText
from opscope.recording.store.line_templates import line_of
from opscope.render.wire.program import ProgramWriter, encode_wire

HLO = sorted((Path(__file__).resolve().parent / "samples" / "hlo").glob("*.hlo"))


@pytest.fixture
def as_columns(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Every text is large, and is read in small pieces."""
    monkeypatch.setattr(opscope.readers.hlo.body, "LARGE", -1)
    monkeypatch.setattr(opscope.readers.hlo.body, "_PIECE", 300)
    monkeypatch.setattr(opscope.native.reading, "LARGE", -1)
    monkeypatch.setattr(opscope.native.bulk, "_PIECE", 300)
    monkeypatch.setattr(opscope.program.columns, "_BATCH", 3)
    return monkeypatch


def columns_of(programs: list[Program]) -> int:
    return sum(isinstance(graph.nodes, NodeColumns) for program in programs for graph in program)


def compare(columns: Graph, nodes: Graph) -> None:
    assert columns == nodes and nodes == columns
    size = len(nodes)
    assert list(columns) == [columns[i] for i in range(size)] == [columns.nodes[i - size] for i in range(size)] == list(nodes)
    assert columns[1:3] == nodes[1:3] and type(columns[1:3]) is tuple
    assert columns.position == nodes.position and columns.users == nodes.users and columns.parameters == nodes.parameters
    assert list(map(list, (columns.ids, columns.ops, columns.roles, columns.types, columns.reads, columns.calling))) == [
        [node.id for node in nodes],
        [node.op for node in nodes],
        [node.role for node in nodes],
        [node.outputs for node in nodes],
        [tuple(name for name, _ in node.inputs) for node in nodes],
        [node for node in nodes if node.calls],
    ]
    with pytest.raises(IndexError):
        columns[size]
    with pytest.raises(IndexError):
        columns[-size - 1]


@pytest.mark.parametrize("format", ["HLO", "JSON"])
def test_columns_are_what_nodes_are(format: str, as_columns: pytest.MonkeyPatch) -> None:
    texts = [path.read_text("utf-8") for path in HLO]
    if format == "JSON":
        texts = [native.dumps(program) for text in texts for program in parse_hlo(text)]
    read = parse_hlo if format == "HLO" else native.loads
    for module in (opscope.readers.hlo.details, opscope.readers.hlo.shared):
        as_columns.setattr(module, "MOST_KNOWN", 3)  # details that come again after others are new ones
    columns = [read(text) for text in texts]
    as_columns.undo()
    nodes = [read(text) for text in texts]
    assert sum(map(columns_of, columns)) > len(texts) and not sum(map(columns_of, nodes))
    for these, those in zip(columns, nodes, strict=True):
        assert list(map(native.dumps, these)) == list(map(native.dumps, those))
        for program, other in zip(these, those, strict=True):
            assert program.callers == other.callers
            for graph in program:
                compare(graph, other[graph.name])


def test_what_analysis_adds_to_columns_is_what_it_adds_to_nodes(as_columns: pytest.MonkeyPatch) -> None:
    """Links, costs and groupings, and the bytes of the page."""
    columns = [program for path in HLO for program in load_all(str(path)) if isinstance(program, Program)]
    as_columns.undo()
    nodes = [program for path in HLO for program in load_all(str(path)) if isinstance(program, Program)]
    assert columns_of(columns) > len(columns) and not columns_of(nodes)
    for program, other in zip(map(enrich, columns), map(enrich, nodes), strict=True):
        assert native.dumps(program) == native.dumps(other)
        assert encode_wire(program, own_text=True) == encode_wire(other, own_text=True)


def test_lines_like_those_of_other_nodes(as_columns: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each line is what the text has, also where a name or an attribute is like a word of another line."""
    odd = ["%n1 = f32[4]{0} negate(%a1)", '%b = f32[4]{0} negate(%n1), metadata={op_name="%n1"}', "%c = f32[4]{0} negate(%b), note={%d}"]
    path = tmp_path / "lines.hlo"
    path.write_text(TEXT.replace("{}\n", "".join(f"  {line}\n" for line in odd)), "utf-8")
    (program,) = load_all(str(path))
    assert isinstance(program, Program) and isinstance(program.main.nodes, NodeColumns) and program.own_text is not None
    lines = program.own_text.lines("main", 0, len(program.main))
    wire = WireReader(encode_wire(program, own_text=True))
    templates = wire.strings("lines")
    assert [line_of(templates[number], node) for number, node in zip(wire.column("lines0"), program.main, strict=True)] == list(lines)
    assert len(templates) < len(lines) - 6


def lines_of(programs: list[Program]) -> list[list[str]]:
    return [list(program.own_text.lines(graph.name, 0, len(graph))) for program in programs for graph in program if program.own_text]


def test_lines_are_those_of_the_text(as_columns: pytest.MonkeyPatch) -> None:
    """Also where something else than names is in their parentheses."""
    columns = lines_of([program for path in HLO for program in load_all(str(path)) if isinstance(program, Program)])
    as_columns.undo()
    assert columns == lines_of([program for path in HLO for program in load_all(str(path)) if isinstance(program, Program)])


UNUSUAL = {
    "%b = f32[4]{0} add(%a1, /*index=1*/%a2)": True,
    "%b = f32[4]{0} constant( {1, 2,  3, 4}), metadata={}": True,
    "ROOT %b = f32[4]{0} negate(%a1)": False,
    "b = f32[4]{0} negate(%a1)": False,
}
"""Lines, and whether they follow from what is read."""


@pytest.mark.parametrize("line", UNUSUAL)
def test_the_text_of_a_large_computation_is_not_read_again(line: str, as_columns: pytest.MonkeyPatch, tmp_path: Path) -> None:
    as_columns.setattr(opscope.readers.hlo.body, "LARGE", 100)
    small = "%sum {\n  %u = f32[] parameter(0)\n  ROOT %v = f32[] add(%u, %u)\n}\n\n"
    path = tmp_path / "large.hlo"
    path.write_text(TEXT.replace("ENTRY", small + "ENTRY").replace("{}\n", f"  {line}\n"), "utf-8")
    (program,) = load_all(str(path))
    assert isinstance(program, Program) and list(map(type, (graph.nodes for graph in program))) == [tuple, NodeColumns]
    expected = [text.strip() for text in path.read_text("utf-8").splitlines() if " = " in text]
    if UNUSUAL[line]:
        path.unlink()
    assert [text for lines in lines_of([program]) for text in lines] == expected


LINES = "".join(f'  %a{i} = f32[4]{{0}} negate(%x), metadata={{op_name="n{i % 3}"}}\n' for i in range(12))
LAST = "  ROOT %t = (f32[4]{0}, f32[4]{0}) tuple(%a1, %a2)\n}\n"
TEXT = f"HloModule m\n\nENTRY %main {{\n  %x = f32[4]{{0}} parameter(0)\n{LINES}{{}}\n{LAST}"
ODD = {
    "unknown operand": "  %b = f32[4]{0} negate(%nobody)",
    "name twice": "  %a3 = f32[4]{0} negate(%x)",
    "operand below": "  %b = f32[4]{0} negate(%t)",
    "itself": "  %b = f32[4]{0} negate(%b)",
    "after another": "  %b = f32[4]{0} negate(%x), control-predecessors={%a1, %a2}",
    "after nobody": "  %b = f32[4]{0} negate(%x), control-predecessors={%nobody}",
    "element": "  %p = (f32[4]{0}, s32[]) parameter(1)\n  %b = s32[] get-tuple-element(%p), index=1",
    "no such element": "  %p = (f32[4]{0}, s32[]) parameter(1)\n  %b = s32[] get-tuple-element(%p), index=2",
    "element of an array": "  %b = f32[4]{0} get-tuple-element(%x), index=0",
    "a comment": "  %b = f32[4]{0} add(%a1, /*index=1*/%a2)",
    "typed operands": "  %b = f32[4]{0} add(f32[4]{0} %a1, f32[4]{0} %a2)",
    "two lines": "  %b = f32[4]{0} add(%a1,\n    %a2)",
    "calls nobody": "  %b = f32[4]{0} fusion(%a1), kind=kLoop, calls=%nobody",
    "a wrong type": "  %b = f32[99999999999,99999999999]{1,0} negate(%x)",
    "not an instruction": "  %b is nothing",
}


def outcome(text: str) -> list[str]:
    try:
        return [native.dumps(program) for program in parse_hlo(text)]
    except OpscopeError as error:
        return [repr(error), str(error)]


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_an_odd_line_in_a_large_module(odd: str, as_columns: pytest.MonkeyPatch) -> None:
    text = TEXT.replace("{}", odd)
    columns = outcome(text)
    as_columns.undo()
    assert columns == outcome(text)


@pytest.fixture
def in_pieces(as_columns: pytest.MonkeyPatch) -> list[int]:
    """Texts lose the instructions of their entry while these are read. Where they were in each text that was read so."""
    taken: list[int] = []
    read_apart = Body._read_apart

    def noted(self: Body, apart: CutText) -> int:
        taken.append(read_apart(self, apart))
        return taken[-1]

    as_columns.setattr(opscope.readers.hlo.cut_text, "LARGE", -1)
    as_columns.setattr(opscope.readers.hlo.cut_text, "_PIECE", 1000)
    as_columns.setattr(Body, "_read_apart", noted)
    return taken


def read_files(paths: list[Path]) -> list[tuple[str, str, list[list[str]]]]:
    """What files mean: programs with their lines, or errors."""
    found: list[tuple[str, str, list[list[str]]]] = []
    for path in paths:
        try:
            programs = [program for program in load_all(str(path)) if isinstance(program, Program)]
        except OpscopeError as error:
            found.append((path.name, str(error), []))
        else:
            found += [(path.name, native.dumps(program), lines_of([program])) for program in programs]
    return found


def test_a_text_that_is_read_in_pieces(in_pieces: list[int], as_columns: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Programs, their lines and errors are those of the whole text."""
    several = tmp_path / "several.hlo"
    several.write_text("\n\n".join(path.read_text("utf-8") for path in HLO[:3]))
    nameless = tmp_path / "nameless.hlo"  # relative names are those of the first jitted function
    nameless.write_text(TEXT.replace("{}\n", "").replace('op_name="n', 'op_name="jit(f)/n'))
    other_names = tmp_path / "windows.hlo"
    other_names.write_bytes(TEXT.replace("{}\n", "").replace("\n", "\r\n").encode())
    hidden = tmp_path / "hidden.hlo"
    hidden.write_text(TEXT.replace("{}\n", "") + "\n/*\nENTRY %other {\n  %y = f32[] parameter(0)\n}\n*/\n")
    apart = tmp_path / "apart.hlo"
    apart.write_text(TEXT.replace("{}\n", "").replace("ENTRY %main {\n", "ENTRY %main\n{\n"))
    files = [*HLO, several, nameless, other_names, hidden, apart]
    for number, odd in enumerate(ODD.values()):
        files.append(tmp_path / f"odd{number}.hlo")
        files[-1].write_text(TEXT.replace("{}", odd))
    found = read_files(files)
    assert len(in_pieces) > len(HLO) / 2
    as_columns.undo()
    for mine, whole in zip(found, read_files(files), strict=True):
        assert mine == whole


def test_a_text_in_pieces_goes_while_it_is_read(in_pieces: list[int], as_columns: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "large.hlo"
    long = "x" * 10_000
    lines = "".join(f'  %a{i} = f32[4]{{0}} negate(%x), metadata={{op_name="{long}/n"}}\n' for i in range(2000))
    path.write_text(f"HloModule m\n\nENTRY %main {{\n  %x = f32[4]{{0}} parameter(0)\n{lines}{LAST}")
    left: list[int] = []
    take = BulkRows.take

    def noted(self: BulkRows, body: Body, rows: list[BulkRow]) -> bool:
        left.append(tracemalloc.get_traced_memory()[0])
        return take(self, body, rows)

    as_columns.setattr(opscope.readers.hlo.cut_text, "_PIECE", 1_000_000)
    as_columns.setattr(opscope.readers.hlo.body, "_PIECE", 100_000)
    as_columns.setattr(BulkRows, "take", noted)
    tracemalloc.start()
    try:
        opscope.load(path)
    finally:
        tracemalloc.stop()
    assert in_pieces and left[0] - left[-1] > 0.8 * path.stat().st_size


NODE = (
    '{{"id": "n{0}", "op": "add", "role": "op", "inputs": [["n0", 0]], '
    '"outputs": [{{"dtype": "f32", "shape": [4]}}], "attrs": {{"k": "v{1}"}}}}'
)
ODD_NODES = {
    "input below": ('["n0", 0]', '["n19", 0]'),
    "unknown input": ('["n0", 0]', '["nobody", 0]'),
    "id twice": ('"n12"', '"n3"'),
    "no such output": ('["n0", 0]', '["n0", 1]'),
    "an index that is not one": ('["n0", 0]', '["n0", true]'),
    "an index beyond 32 bits": ('["n0", 0]', '["n0", 99999999999]'),
    "three parts": ('["n0", 0]', '["n0", 0, "n1"]'),
    "no comma between inputs": ('["n0", 0]', '["n0", 0]["n1", 0]'),
    "a comma after the inputs": ('["n0", 0]', '["n0", 0], '),
    "something before an input": ('["n0", 0]', '[1, "n0", 0]'),
    "an odd quote": ('["n0", 0]', '["n0", 0], ["n1]'),
    "spaces": ('["n0", 0]', '["n0",  0]'),
    "a zero before the index": ('["n0", 0]', '["n0", 00]'),
    "all outputs": ('["n0", 0]', '["n0", -1], ["n1", 0]'),
    "no pair": ('["n0", 0]', '["n0"]'),
    "a role": ('"role": "op"', '"role": "boss"'),
    "an escape": ('"n12"', '"n\\u0031\\u0032"'),
    "attributes": ('{"k": "v0"}', '{"k": 1, "l": true, "m": 1.0}'),
    "an attribute twice": ('{"k": "v0"}', '{"k": "v0", "k": "v1"}'),
    "attributes and a scope": ('{"k": "v0"}', '{"k": "v0", "l": ""}, "scope": ["a: B", "c"]'),
    "a comma after the attributes": ('{"k": "v0"}', '{"k": "v0", }'),
    "a scope with a number": ('{"k": "v0"}', '{"k": "v0"}, "scope": ["a", 1]'),
    "nothing": ('"attrs": {"k": "v0"}', '"attrs": {}, "scope": []'),
    "not a number": ('{"k": "v0"}', '{"k": NaN}'),
    "a member twice": ('"attrs"', '"op": "sub", "attrs"'),
    "an unknown member": ('"attrs"', '"colour": "red", "attrs"'),
    "a wrong member": ('"attrs": {"k": "v0"}', '"attrs": [], "calls": ["x"]'),
    "a wrong type": ('"f32"', "7"),
    "not JSON": ('"attrs"', "attrs"),
}


@pytest.mark.parametrize(("old", "new"), ODD_NODES.values(), ids=ODD_NODES)
def test_an_odd_node_in_a_large_document(old: str, new: str, as_columns: pytest.MonkeyPatch) -> None:
    lines = [NODE.format(i, i % 3) for i in range(20)]
    lines[12] = lines[12].replace(old, new)
    assert lines[12] != NODE.format(12, 0)
    text = '{"format": "opscope", "version": 1, "name": "p", "entry": "g",\n "graphs": [\n  {"name": "g",\n   "nodes": [\n    '
    text += ",\n    ".join(lines) + "\n   ]}\n ]}\n"

    def read() -> list[str]:
        try:
            return [native.dumps(program) for program in native.loads(text)]
        except OpscopeError as error:
            return [repr(error), str(error)]

    columns = read()
    as_columns.undo()
    assert columns == read()


def test_nodes_that_are_alike_cost_what_each_costs_alone(as_columns: pytest.MonkeyPatch) -> None:
    """Costs are found once for nodes of equal operation and types, and of equal attributes where these matter."""
    dots = """HloModule m
ENTRY main {
  a = f32[4,8] parameter(0)
  b = f32[8,4] parameter(1)
  c = f32[4,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="one"}
  d = f32[4,4] dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={1}, metadata={op_name="two"}
  e = f32[4,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="three"}
  ROOT f = f32[4,4] add(c, e)
}
"""
    programs = [program for text in [dots, *(path.read_text("utf-8") for path in HLO)] for program in parse_hlo(text)]
    without = native.dumps(programs[0]).replace('"lhs_contracting_dims": "{1}"', '"other": "{1}"', 1)
    programs += native.loads(without)  # the first product has unknown cost, and the third has not
    dropout = (
        '{"id": "%s", "op": "dropout", "role": "op", "inputs": [["a", 0]], "outputs": [{"dtype": "f32", "shape": [4, 8]}], "attrs": %s},\n'
    )
    lines = [
        dropout % (name, attrs) for name, attrs in (("x", '{"op_name": "x"}'), ("y", '{"training": false}'), ("z", '{"op_name": "z"}'))
    ]
    drops = re.sub(r'^ *{"id": "c", ', lambda match: "".join(lines) + match[0], without, count=1, flags=re.MULTILINE)
    trained = native.loads(drops)[0]
    assert [cost.flops for cost in CostModel(trained).nodes(trained.main)][2:5] == [64, 0, 64]
    assert columns_of(programs)
    assert [cost.unknown for cost in CostModel(programs[-1]).nodes(programs[-1].main)] == [0, 0, 1, 0, 0, 0]
    assert [cost.flops for cost in CostModel(programs[0]).nodes(programs[0].main)] == [0, 0, 256, 128, 256, 16]
    different = 0
    for program in programs:
        for as_xla in (False, True):
            model = CostModel(program, as_xla)
            for graph in program:
                alone = [model._count(graph, node, output_sizes(graph)) for node in graph]
                assert model.nodes(graph) == alone
                assert model.graph(graph.name) == Cost(*map(sum, zip(*alone, strict=True)))
                different += len({*alone})
    assert different > 500


def test_who_goes_over_the_nodes_again_and_again_gets_objects(as_columns: pytest.MonkeyPatch) -> None:
    (program,) = parse_hlo(TEXT.replace("{}\n", ""))
    nodes = program.main.nodes
    assert nodes[0] is not nodes[0]
    for _ in range(opscope.program.columns._PASSES + 1):
        before = list(nodes)
    assert nodes[0] is nodes[0] and list(nodes) == before


def test_a_node_of_a_large_graph_takes_250_bytes(as_columns: pytest.MonkeyPatch) -> None:
    as_columns.setattr(opscope.readers.hlo.body, "_PIECE", 1 << 16)
    rows = [
        f'  %layer.{i} = f32[8,256,512]{{2,1,0}} add(%layer.{i - 1}, %x), metadata={{op_name="jit(train)/layer_{i // 2}/attention/add"}}\n'
        for i in range(1, 8000)
    ]
    first = "  %x = f32[8,256,512]{2,1,0} parameter(0)\n  %layer.0 = f32[8,256,512]{2,1,0} negate(%x)\n"
    text = f"HloModule jit_train\n\nENTRY %main {{\n{first}{''.join(rows)}}}\n"
    parse_hlo(TEXT.replace("{}\n", ""))  # imports and tables
    tracemalloc.start()
    try:
        programs = parse_hlo(text)
        assert tracemalloc.get_traced_memory()[0] / programs[0].node_count < 250
    finally:
        tracemalloc.stop()


def test_of_a_large_step_no_index_is_left_and_little_is_known_of_lines(as_columns: pytest.MonkeyPatch) -> None:
    """Of a million nodes, both would take a tenth of the memory of a page."""
    as_columns.setattr(opscope.render.wire.own_text, "_MOST_KNOWN", 8)
    layers = range(1, 60)
    forward = [f'  %f.{i} = f32[8]{{0}} tanh(%f.{i - 1}), metadata={{op_name="jit(t)/jvp(layer_{i})/tanh"}}\n' for i in layers]
    backward = [
        f'  %b.{i} = f32[8]{{0}} multiply(%b.{i + 1}, %f.{i}), metadata={{op_name="jit(t)/transpose(jvp(layer_{i}))/mul"}}\n'
        for i in reversed(layers)
    ]
    weights = [f'  %w.{i} = f32[8]{{0}} parameter({i}), metadata={{op_name="params[{i}]"}}\n' for i in layers]
    ends = "  %f.0 = f32[8]{0} parameter(0)\n", "  %b.60 = f32[8]{0} negate(%f.59)\n"
    text = f"HloModule jit_t\n\nENTRY %main {{\n{ends[0]}{''.join([*weights, *forward])}{ends[1]}{''.join(backward)}}}\n"
    (program,) = parse_hlo(text)
    enriched = enrich(program)
    writer = ProgramWriter(own_text=True)
    writer.add(0, enriched)
    assert len(links_of(enriched.main.nodes)) == len(layers)
    assert not {"position", "users"} & {*vars(program.main), *vars(enriched.main)}
    assert writer.own_text is not None and writer.own_text._line_templates.size <= 9
    as_columns.undo()
    assert writer.finish(program.name) == encode_wire(enrich(parse_hlo(text)[0]), own_text=True)
