"""The documented steps of torchviz (2.1 to 2.12 of docs/replaces.md), with the real torchviz beside them: what is in the pictures."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch
from browser.conftest import browser, open_address
from browser.harness import Open
from torch_programs import PROGRAMS
from torchviz_pictures import FILLS, SVG, Picture, in_dot, in_svg

import opscope
from opscope.compat.torchviz import make_dot

__all__ = ["browser", "open_address"]  # fixtures of the viewer's tests

EVERYTHING = {"show_attrs": True, "show_saved": True}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("ex1_critic", marks=pytest.mark.step("2.3")),
        pytest.param("ex2_fanout", marks=pytest.mark.step("2.4")),
        pytest.param("ex3_detach", marks=pytest.mark.step("2.5")),
        pytest.param("ex4_categorical", marks=pytest.mark.step("2.6")),
        pytest.param("ex5_gumbel", marks=pytest.mark.step("2.7")),
    ],
)
@pytest.mark.parametrize("shown", [{}, {"show_attrs": True}, {"show_saved": True}, EVERYTHING], ids=["plain", "attrs", "saved", "both"])
def test_an_example_has_the_boxes_edges_and_tables_of_torchviz(name: str, shown: dict[str, bool]) -> None:
    torchviz = pytest.importorskip("torchviz")
    tensor, params = PROGRAMS[name]()
    original = in_dot(torchviz.make_dot(tensor, params=params, **shown).source)
    ours = make_dot(tensor, params=params, **shown)
    assert in_dot(ours.source) == original
    assert in_svg(ours.pipe("svg", encoding="utf-8"))[:2] == original[:2]


@pytest.mark.parametrize(
    "name", [pytest.param("ex2_fanout", marks=pytest.mark.step("2.4")), pytest.param("ex5_gumbel", marks=pytest.mark.step("2.7"))]
)
def test_functions_have_shapes_and_dimensions_their_signs(name: str) -> None:
    """torchviz has neither: it prints the dimension -1 as 18446744073709551615."""
    tensor, params = PROGRAMS[name]()
    picture = make_dot(tensor, params=params, show_attrs=True)._repr_svg_()
    boxes = [
        [text.text or "" for text in box.iter(f"{SVG}text")]
        for box in ElementTree.fromstring(picture).iter(f"{SVG}g")
        if box.get("class") == "box"
    ]
    functions = [texts for texts in boxes if texts[0].endswith("Backward0")]
    assert len(functions) > 2 and all(re.fullmatch(r"float32\[[\d, ]*\]", texts[1]) for texts in functions)
    dimensions = [texts[texts.index("dim") + 1] for texts in functions if "dim" in texts]
    assert "-1" in dimensions and "18446744073709551615" not in picture


@pytest.mark.step("2.8")
def test_params_name_the_leaves_in_the_picture() -> None:
    torchviz = pytest.importorskip("torchviz")
    tensor, params = PROGRAMS["ex1_critic"]()
    names = {box.name for box in in_svg(make_dot(tensor, params=params)._repr_svg_()).boxes if box.kind == "leaf"}
    assert names == {box.name for box in in_dot(torchviz.make_dot(tensor, params=params).source).boxes if box.kind == "leaf"}
    assert names == {"0.weight", "2.weight", "2.bias"}


@pytest.mark.step("2.9")
def test_saved_tensors_are_drawn_below_the_functions_that_save_them() -> None:
    torchviz = pytest.importorskip("torchviz")
    tensor, params = PROGRAMS["ex1_critic"]()
    without, drawn = (in_svg(make_dot(tensor, params=params, show_saved=saved)._repr_svg_()) for saved in (False, True))
    theirs = in_dot(torchviz.make_dot(tensor, params=params, show_saved=True).source)
    assert drawn.boxes - without.boxes == Counter({box: count for box, count in theirs.boxes.items() if box.kind == "saved"})
    added = drawn.edges - without.edges
    assert sum(added.values()) == 4 and all(a.startswith("function") and b.startswith("saved") for a, b in added)


@pytest.mark.step("2.10")
def test_attributes_are_in_every_picture(tmp_path: Path, open_address: Open) -> None:
    """A table in each box that has one, None included, in pictures of all formats and on the page."""
    tensor, params = PROGRAMS["ex1_critic"]()
    plain, table = (make_dot(tensor, params=params, show_attrs=shown) for shown in (False, True))
    for format in ("png", "pdf", "svg", "html", "gv"):
        assert table.pipe(format) != plain.pipe(format), format
    (addmm,) = [box for box in in_svg(table._repr_svg_()).boxes if box.name == "AddmmBackward0"]
    assert dict(addmm.table)["mat1"] == "[saved tensor]" and dict(addmm.table)["mat1_sym_sizes"] == "(100, 2)"
    assert "None" in {value for box in in_svg(table._repr_svg_()).boxes for _, value in box.table}
    assert "mat1_sym_sizes: (100, 2)" in table.pipe("gv", encoding="utf-8")
    viewer = open_address(Path(table.render(str(tmp_path / "critic"), format="html")).as_uri())
    with viewer.page.expect_download() as download:
        viewer.page.get_by_role("button", name="Save SVG", exact=True).click()
    on_page = in_svg(download.value.path().read_text("utf-8"))
    assert on_page.boxes == in_svg(table._repr_svg_()).boxes


@pytest.mark.step("2.10")
@pytest.mark.parametrize("limit", [2, 50])
def test_tables_are_torchvizs_and_remain_after_backward(limit: int) -> None:
    """With every limit, row by row. After `backward()` torchviz raises; here the boxes and arrows are the same, and say what was freed."""
    torchviz = pytest.importorskip("torchviz")
    tensor, params = PROGRAMS["ex1_critic"]()
    shown: dict[str, Any] = {"params": params, "show_attrs": True, "max_attr_chars": limit}
    before = in_svg(make_dot(tensor, **shown)._repr_svg_())
    assert before.boxes == in_dot(torchviz.make_dot(tensor, **shown).source).boxes and any(box.table for box in before.boxes)
    tensor.sum().backward()
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        torchviz.make_dot(tensor, **shown)
    drawing = make_dot(tensor, **shown)._repr_svg_()
    after = in_svg(drawing)
    assert Counter((box.kind, box.name) for box in after.boxes.elements()) == Counter(
        (box.kind, box.name) for box in before.boxes.elements()
    )
    assert after.edges == before.edges and "freed" in drawing


@pytest.mark.step("2.2")
def test_colours_tell_the_kinds_apart() -> None:
    """The five kinds that torchviz colours have five fills, and the two greens are far apart."""
    tensor, params = PROGRAMS["ex1_critic"]()
    drawn = in_svg(make_dot(tensor, params=params, **EVERYTHING)._repr_svg_())
    assert {box.kind for box in drawn.boxes} == set(FILLS.values())
    fill = {kind: tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5)) for colour, kind in FILLS.items()}
    for kind in ("output", "base"):
        red, green, blue = fill[kind]
        assert green > red and green > blue, f"{kind} is green"
    assert sum(fill["output"]) - sum(fill["base"]) > 120, "and the base is the dark one"


RENDERS = """
import importlib.abc, sys

class NoGraphviz(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("graphviz", "torchviz"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NoGraphviz())
sys.path.insert(0, sys.argv[1])
from opscope.compat.torchviz import make_dot
from torch_programs import PROGRAMS
tensor, params = PROGRAMS["ex1_critic"]()
dot = make_dot(tensor, params=params, show_attrs=True, show_saved=True)
"""


def run_script(script: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A Python without graphviz, without `dot`, and without any program on its path."""
    kept = {name: os.environ[name] for name in ("PYTHONPATH", "HOME", "LD_LIBRARY_PATH") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-c", RENDERS + script, str(Path(__file__).parent)],
        cwd=cwd, env=kept | {"PATH": ""} | environment, capture_output=True, text=True, check=True,
    )  # fmt: skip


def critic() -> Picture:
    """What the script's text has to contain: every box, edge and table."""
    tensor, params = PROGRAMS["ex1_critic"]()
    return in_dot(make_dot(tensor, params=params, **EVERYTHING).source)


@pytest.mark.step("2.1")
def test_neither_graphviz_nor_dot_is_needed(tmp_path: Path) -> None:
    assert run_script("print(dot.render('critic', format='png'))", tmp_path).stdout == "critic.png\n"
    assert (tmp_path / "critic.png").read_bytes().startswith(b"\x89PNG") and in_dot((tmp_path / "critic").read_text()) == critic()


@pytest.mark.step("2.11")
def test_view_writes_text_and_picture_and_opens_it(tmp_path: Path) -> None:
    """With a browser it opens the file; without one it says so in one line, with the path, unless `quiet_view` is set."""
    log = tmp_path / "opened.txt"
    opener = tmp_path / "opener"
    opener.write_text(f'#!{sys.executable}\nimport pathlib, sys\npathlib.Path("{log}").write_text(sys.argv[1])\n')
    opener.chmod(0o755)
    picture = tmp_path / "Digraph.gv.pdf"
    opened = run_script("print(dot.view())", tmp_path, BROWSER=f"{opener} %s")
    assert (opened.stdout, opened.stderr) == ("Digraph.gv.pdf\n", "")
    assert log.read_text() == picture.as_uri()
    assert picture.read_bytes().startswith(b"%PDF") and in_dot((tmp_path / "Digraph.gv").read_text()) == critic()
    lost = run_script("dot.view()\ndot.view(quiet_view=True)", tmp_path, BROWSER=str(tmp_path / "nothing"))
    (line,) = lost.stderr.splitlines()
    assert line.startswith("no browser") and line.endswith(str(picture))


@pytest.mark.step("2.12")
def test_a_sample_without_a_gradient_says_why() -> None:
    """torchviz draws two green boxes; here the picture also has the reason."""
    tensor, params = PROGRAMS["ex4_categorical"]()
    drawn = make_dot(tensor, params=params)
    assert [box.kind for box in in_svg(drawn._repr_svg_()).boxes] == ["base", "output"]
    text = " ".join("".join(element.itertext()) for element in ElementTree.fromstring(drawn._repr_svg_()).iter(f"{SVG}text"))
    assert "output has no gradient: it is int64, and only floating-point and complex tensors have gradients" in text


@pytest.mark.step("2.13")
def test_print_of_a_module_is_torchs_own(capsys: pytest.CaptureFixture[str]) -> None:
    """And every layer in it is a row of opscope's own summary."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 2, bias=False), torch.nn.Tanh(), torch.nn.Linear(2, 1))
    before = repr(model)
    make_dot(model(torch.rand(100, 4)), params=dict(model.named_parameters()))
    rows = [row["label"] for row in opscope.summary(model, input_size=(100, 4)).to_dict()["rows"]]
    print(model)
    assert capsys.readouterr().out == f"{before}\n"
    assert [f"{name}: {kind}" for name, kind in re.findall(r"\((\d)\): (\w+)\(", before)] == rows[1:]


def test_what_is_read_from_a_picture_is_what_was_drawn() -> None:
    """The comparison itself can fail: another program has another picture."""
    one, two = (make_dot(PROGRAMS[name]()[0])._repr_svg_() for name in ("ex2_fanout", "ex3_detach"))
    seen: list[Any] = [in_svg(one), in_svg(two)]
    assert seen[0].boxes != seen[1].boxes and seen[0].edges != seen[1].edges
