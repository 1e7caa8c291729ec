"""The steps of interactive_graphviz on a softmax in JAX: what the prompt lists and draws is what the HLO text says."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from browser.conftest import browser, open_address
from browser.harness import Open
from support.hlo_text import instructions

import opscope

__all__ = ["browser", "open_address"]  # fixtures of the viewer's tests

jax = pytest.importorskip("jax")


@pytest.fixture(scope="module")
def step(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Add, softmax and mean, forward and backward, as `as_hlo_text` writes them."""
    import jax.numpy as jnp

    def loss(x, b):
        y = x + b
        e = jnp.exp(y - jnp.max(y, axis=-1, keepdims=True))
        return jnp.mean(e / jnp.sum(e, axis=-1, keepdims=True))

    train = jax.jit(jax.value_and_grad(loss, argnums=(0, 1)))
    path = tmp_path_factory.mktemp("softmax") / "softmax_train.hlo.txt"
    path.write_text(train.lower(jnp.ones((4, 8)), jnp.ones(8)).compiler_ir("hlo").as_hlo_text())
    return path


def prompt(step: Path, *lines: str) -> list[str]:
    """What the prompt prints for lines that are piped in."""
    command = [sys.executable, "-m", "opscope", "repl", str(step), "--output", str(step.parent)]
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, cwd=step.parent)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def picture(step: Path, *lines: str) -> tuple[set[str], set[tuple[str, str]]]:
    """The nodes that the last drawing shows, and the ends of its arrows."""
    prompt(step, *lines, "save drawing.svg")
    return boxes_and_arrows(step.parent / "drawing.svg")


def boxes_and_arrows(path: Path) -> tuple[set[str], set[tuple[str, str]]]:
    svg = html.unescape(path.read_text())
    boxes = {key.removeprefix("n:") for key in re.findall(r'<g class="box"[^>]* data-key="(n:[^"]*)"', svg)}
    edges = re.findall(r'<g class="edge data"[^>]* data-from="n:([^"]*)" data-to="n:([^"]*)"', svg)
    return boxes, {*edges}


def texts_of_boxes(path: Path) -> dict[str, list[str]]:
    """The lines of text on the box of each node."""
    svg = "{http://www.w3.org/2000/svg}"
    boxes = ElementTree.parse(path).iterfind(f".//{svg}g[@class='box']")
    return {box.get("data-key", "").removeprefix("n:"): [str(text.text) for text in box.iter(f"{svg}text")] for box in boxes}


@pytest.mark.step("0.5")
def test_list_computations_lists_those_of_the_text_with_their_sizes(step: Path) -> None:
    _, *rows = (line.split() for line in prompt(step, "list computations"))
    assert {row[0]: int(row[1]) for row in rows} == {name: len(body) for name, body in instructions(step.read_text()).items()}


@pytest.mark.step("0.6")
def test_a_name_with_its_number_writes_a_page_and_prints_where_it_is(step: Path, open_address: Open) -> None:
    """The page draws what XLA's own drawing of that computation has: the same arrows between the same instructions, and none is missing."""
    from jaxlib._hlo import hlo_module_from_text, hlo_module_to_dot_graph

    entry = opscope.load(step).entry
    (line,) = prompt(step, entry)
    page = Path(line)
    assert re.fullmatch(r"[\w-]+\.\d+", entry) and page.suffix == ".html" and entry in page.name
    viewer = open_address(page.as_uri())
    with viewer.page.expect_download() as download:
        viewer.page.get_by_role("button", name="Save SVG", exact=True).click()
    boxes, edges = boxes_and_arrows(download.value.path())
    body = instructions(step.read_text())[entry]
    theirs = re.findall(r'tooltip="([^ "]+) -> ([^ "]+)"', hlo_module_to_dot_graph(hlo_module_from_text(step.read_text())))
    drawn_there = {(source, target) for source, target in theirs if source in body and target in body}
    assert len(drawn_there) > 40 and drawn_there <= edges
    assert boxes == {*body}, "XLA's drawing leaves out constants"


@pytest.mark.step("0.7")
def test_the_drawing_of_a_computation_has_each_instruction_and_an_arrow_for_each_operand(step: Path) -> None:
    for name, body in instructions(step.read_text()).items():
        boxes, _ = picture(step, name)
        assert boxes == {*body}
        without = step.parent / "without_prompt.svg"
        opscope.save(
            opscope.load(step), without, graph=name, all_nodes=True, depth=9, calls=False, names=True, label=["dimensions"], overwrite=True
        )  # fmt: skip
        assert without.read_text() == (step.parent / "drawing.svg").read_text(), "`export` draws the same"
        # A tall drawing is broken into columns, where arrows end at numbers: in one piece, they have both ends.
        whole = step.parent / "whole.svg"
        opscope.save(opscope.load(step), whole, graph=name, flatten=True, all_nodes=True, wrap=False)
        boxes, edges = boxes_and_arrows(whole)
        assert boxes == {*body}
        assert edges == {(operand, user) for user, operands in body.items() for operand in operands}


@pytest.mark.step("0.7")
def test_a_box_says_what_its_instruction_computes(step: Path) -> None:
    """The dimensions of a broadcast or reduction, and the operation of a reduction, as in XLA's own drawing (`as_hlo_dot_graph`)."""
    text, entry = step.read_text(), opscope.load(step).entry
    prompt(step, entry, "save with.svg", "attributes off", entry, "save without.svg")
    with_attributes, without = (texts_of_boxes(step.parent / name) for name in ("with.svg", "without.svg"))
    dimensions = dict(re.findall(r"^\s+(?:ROOT )?(\S+) = .*, dimensions=(\{[\d,]*\})", text[text.index("ENTRY") :], re.M))
    assert len(dimensions) > 20
    for name, value in dimensions.items():
        assert with_attributes[name][-2:] == ["dimensions", value] and value not in without[name]
    reductions = dict(re.findall(r"^\s+(\S+) = .* reduce\(.*, to_apply=(\S+)$", text, re.M))
    assert len(reductions) > 5
    for name, region in reductions.items():
        (reducer,) = re.findall(rf"^{re.escape(region)} {{.*?ROOT \S+ = f32\[\] (\w+)\(", text, re.M | re.S)
        assert any(line.startswith(f"reduce: {reducer} ·") for line in without[name]), name


@pytest.mark.step("0.7")
def test_all_paths_and_the_surroundings_of_an_instruction_are_drawn_whole(step: Path) -> None:
    text = step.read_text()
    body = instructions(text)[opscope.load(step).entry]
    bias = next(name for name in body if re.search(rf"^\s+{re.escape(name)} = f32\[8\]\S* parameter\(1\)", text, re.M))
    path = [bias]
    while not re.search(rf"^\s+{re.escape(path[-1])} = \S+ add\(", text, re.M):
        path += [user for user, operands in body.items() if path[-1] in operands]
    assert len(path) > 3, "the bias is broadcast in several instructions before it is added"
    boxes, edges = picture(step, f"allpaths {path[0]} {path[-1]}")
    assert (boxes, edges) == ({*path}, {*pairwise(path)})
    for name in path[1:]:
        boxes, edges = picture(step, f"{name} 1")
        assert {name, *body[name]} <= boxes
        assert {(operand, name) for operand in body[name]} <= edges
