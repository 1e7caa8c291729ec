"""`--style` and `--node-data`: files become colours in pictures and pages, and errors are one line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import Run

import opscope
from opscope.errors import OpscopeError
from opscope.program import Program, ProgramBuilder, TensorType
from opscope.render.draw.picture import draw
from opscope.render.draw.predefined import PREDEFINED_STYLES
from opscope.view_options import ViewOptions


@pytest.fixture
def program() -> Program:
    builder = ProgramBuilder("small", "main")
    graph = builder.graph("main")
    kind = [TensorType("f32", (4,))]
    graph.node("x", "input", (), kind, role="parameter")
    graph.node("conv", "aten.conv2d.default", [("x", 0)], kind, attrs={"groups": 8, "note": "fast path"})
    graph.node("relu", "aten.relu.default", [("conv", 0)], kind, attrs={"groups": 2})
    for name in ("conv", "relu"):
        graph.group("partition", name, ("partition 0 (t)",))
    graph.outputs = [("relu", 0)]
    return builder.build()


def rule(query: dict[str, object], **colours: object) -> dict[str, object]:
    return {"queries": [query], "styles": colours, "version": "v2"}


def regex(pattern: str, *where: str) -> dict[str, object]:
    return {"type": "regex", "queryRegex": pattern, "matchTypes": list(where)}


def svg_of(program: Program, path: Path, **options: Any) -> str:
    opscope.save(program, path, **options)
    return path.read_text("utf-8")


def test_rules_colour_a_picture_by_title_attribute_and_number(program: Program, tmp_path: Path) -> None:
    rules = [
        rule(regex("note[:=]fast", "list"), node_bg_color="#010203", node_text_color="#fafafa"),
        rule(
            {"type": "attr_value_range", "attrName": "groups", "min": None, "max": 4},
            node_bg_color={"value": "#040506", "dark": "#070809"},
        ),
        rule(regex("conv", "title"), edge_color="#0a0b0c"),
    ]
    light = svg_of(program, tmp_path / "a.svg", style=rules)
    assert light.count('fill="#010203"') == 1 and light.count('fill="#040506"') == 1 and 'fill="#fafafa"' in light
    assert light.count('stroke="#0a0b0c"') == 1
    dark = svg_of(program, tmp_path / "b.svg", style=rules, theme="dark")
    assert 'fill="#070809"' in dark and "#040506" not in dark


@pytest.mark.parametrize("name", PREDEFINED_STYLES)
def test_a_predefined_style_colours_pictures_and_comes_with_every_page(program: Program, name: str, tmp_path: Path) -> None:
    plain = svg_of(program, tmp_path / "plain.svg", group_by="partition", depth=2)
    assert svg_of(program, tmp_path / "styled.svg", group_by="partition", depth=2, style=name) != plain
    opscope.save(program, tmp_path / "page.html")
    config = re.search(r'id="opscope-config">(.*?)</script>', (tmp_path / "page.html").read_text("utf-8"))
    assert config and PREDEFINED_STYLES[name]._asdict() in json.loads(config[1])["predefinedStyles"]


def test_node_data_colours_a_picture_and_says_what_it_shows(program: Program, tmp_path: Path) -> None:
    data = {"name": "cost", "results": {"conv": {"value": 3}, "relu": {"value": 1}}, "thresholds": [{"value": 2, "bgColor": "lime"}]}
    picture = svg_of(program, tmp_path / "a.svg", node_data=data)
    assert picture.count('fill="#00ff00"') == 2, "one box, and the legend"
    assert "cost: 2 nodes, min 1, max 3, sum 4, mean 2" in picture and "≤ 2" in picture


@pytest.mark.slow
def test_files_on_the_command_line(program: Program, run: Run, tmp_path: Path) -> None:
    opscope.save(program, tmp_path / "p.json")
    (tmp_path / "rules.json").write_text(json.dumps([rule(regex("relu", "title"), node_bg_color="#123456")]))
    (tmp_path / "data.json").write_text(json.dumps({"results": {"conv": {"value": 1, "bgColor": "#654321"}}}))
    done = run("export", "p.json", "-o", "a.svg", "--style", "rules.json", "--node-data", "data.json")
    assert done.returncode == 0, done.stderr
    picture = (tmp_path / "a.svg").read_text()
    assert "#654321" in picture and "#123456" not in picture, "data stands over rules"
    done = run("export", "p.json", "-o", "a.html", "--style", "rules.json", "--node-data", "data.json", "--node-data", "data.json")
    assert done.returncode == 0 and "#123456" in (tmp_path / "a.html").read_text()


@pytest.mark.parametrize("text", ["0", "null", "[]", '"results"'])
def test_what_is_not_node_data_is_refused_in_one_sentence(program: Program, tmp_path: Path, text: str) -> None:
    """The fuzzer found it: a number instead of node data ended in an internal error."""
    (tmp_path / "data.json").write_text(text)
    with pytest.raises(OpscopeError, match="node data"):
        opscope.save(program, tmp_path / "x.svg", node_data=str(tmp_path / "data.json"))
    opscope.save(program, tmp_path / "x.html", node_data=str(tmp_path / "data.json"))  # the page says so


def test_model_explorer_reads_the_rules_that_executorch_ships(program: Program, shared_data: Path, tmp_path: Path) -> None:
    style = shared_data / "executorch" / "cluster_highlight_style.json"
    picture = svg_of(program, tmp_path / "a.svg", style=style, group_by="partition", depth=2)
    assert '"#fff1d5"' in picture and '"#b4e3f5"' in picture


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"style": "stripes"}, "stripes: cannot be read: .*; predefined styles: clusters"),
        ({"style": [rule(regex("a(", "title"), node_bg_color="red")]}, r"style rule 1: .*a\("),
        ({"style": [rule(regex("a", "title"), node_bg_color="reddish")]}, 'style rule 1: node_bg_color: "reddish" is not a colour'),
        ({"node_data": {"values": 1}}, "no node data"),
        ({"node_data": ({"results": {}}, {"results": {}})}, "a picture shows one file of node data, not 2"),
    ],
)
def test_mistakes_are_one_line(program: Program, options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(OpscopeError, match=message) as error:
        opscope.save(program, tmp_path / "a.svg", **options)
    assert "\n" not in str(error.value)


def test_invalid_json_is_reported_with_its_position(program: Program, tmp_path: Path) -> None:
    broken = tmp_path / "rules.json"
    broken.write_text("[\n {]")
    with pytest.raises(OpscopeError, match=r"rules\.json:2:3: not valid JSON"):
        opscope.save(program, tmp_path / "a.svg", style=broken)
    with pytest.raises(OpscopeError, match=r"^style does not apply to DOT files"):
        opscope.save(program, tmp_path / "a.dot", style="clusters")


def test_the_edge_overlays_of_a_file_can_be_left_out() -> None:
    program = opscope.load(Path(__file__).parent / "samples" / "model_explorer" / "every_field.json")
    with_overlays, without = (draw(program, ViewOptions(overlays=overlays), "svg") for overlays in (True, False))
    assert with_overlays.edges == without.edges + 1
