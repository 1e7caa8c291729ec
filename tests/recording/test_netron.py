"""JSON for Netron, checked against the rules of Netron's own reader."""

from __future__ import annotations

import json
from pathlib import Path

from programs import everything
from support.hlo_texts import AFTER, parse

import opscope


def test_netrons_generic_json_has_every_node_and_value(tmp_path: Path) -> None:
    path = tmp_path / "step.json"
    program = parse(AFTER)
    opscope.save(program, path, format="netron")
    assert path.read_text()[:64].startswith('{"signature": "netron:')
    model = json.loads(path.read_text())
    assert len(model["modules"]) == len(program.graphs)
    main = model["modules"][0]
    assert [node["name"] for node in main["nodes"]] == [node.id for node in program.main if node.role == "op"]
    for argument in [
        *main["inputs"],
        *main["outputs"],
        *(a for node in main["nodes"] for a in (*node["inputs"], *node["outputs"])),
    ]:
        assert all(0 <= index < len(main["values"]) for index in argument["value"])
    dot = next(node for node in main["nodes"] if node["name"] == "dot.3")
    assert [main["values"][argument["value"][0]]["name"] for argument in dot["inputs"]] == ["x", "w"]
    assert main["values"][dot["outputs"][0]["value"][0]]["type"] == {"dataType": "f32", "shape": {"dimensions": [8, 8]}}
    zero = next(value for value in main["values"] if value["name"] == "zero.6")
    assert "initializer" in zero


def test_awkward_programs_can_be_written_in_both_forms(tmp_path: Path) -> None:
    for format in ("netron", "hidet-netron"):
        opscope.save(everything(), tmp_path / "out.json", format=format)
        assert json.loads((tmp_path / "out.json").read_text())
