"""What one sees: nothing covers anything else at any size, names are told apart, and menus stay off what they are about."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from browser.harness import Open, Viewer, until
from browser.samples import network
from opscope import load
from opscope.comparing import load_comparison
from opscope.demo import source_path
from opscope.program import Program, ProgramBuilder, TensorType
from opscope.recording.sources import open_recording

HLO = Path(__file__).resolve().parent.parent / "samples" / "hlo"
SIZES = [(900, 700), (1600, 1000), (3840, 2160)]


def areas(viewer: Viewer, selector: str) -> dict[str, dict[str, float]]:
    """The visible elements and where they are, by what they are called."""
    boxes: dict[str, dict[str, float]] = viewer.page.locator(f"{selector} >> visible=true").evaluate_all(
        """elements => Object.fromEntries(elements
            .map((element, i) => {
                const { x, y, width, height } = element.getBoundingClientRect();
                const name = element.getAttribute('aria-label') || element.getAttribute('class') || element.innerText;
                return [`${name} (${i})`, { x, y, width, height }];
            })
            .filter(([, { width, height }]) => width > 0 && height > 0))"""
    )
    return boxes


def overlapping(boxes: dict[str, dict[str, float]]) -> list[tuple[str, str]]:
    def meet(a: dict[str, float], b: dict[str, float], axis: str, size: str) -> bool:
        return a[axis] + 0.5 < b[axis] + b[size] and b[axis] + 0.5 < a[axis] + a[size]

    pairs = combinations(boxes.items(), 2)
    return [(one, other) for (one, a), (other, b) in pairs if meet(a, b, "x", "width") and meet(a, b, "y", "height")]


@pytest.mark.parametrize("panels", [(), ("Table",)])
def test_nothing_overlaps_from_a_small_window_to_a_large_screen(open_file: Open, panels: tuple[str, ...]) -> None:
    viewer = open_file(network(layers=9), hash="#fold=0&d=9", viewport={"width": 1600, "height": 1000})
    for panel in panels:
        viewer.press(panel)
    for width, height in SIZES:
        viewer.page.set_viewport_size({"width": width, "height": height})
        for colour in ("category", "output bytes"):
            viewer.choose("Colour by", colour)
            controls = areas(viewer, ".bar nav, .bar button:not(nav *), .bar select:not(nav *), .bar input")
            parts = areas(viewer, "aside, main.stage, .sheet, [role=toolbar]")
            over_the_graph = areas(viewer, ".foot > :not(.status), .foot > .status > *, .map, .banner, .sticky > div")
            assert len(controls) > 10 and len(parts) >= 4 + len(panels) and len(over_the_graph) >= 3
            for boxes in (controls, parts, over_the_graph):
                assert overlapping(boxes) == [], (width, colour)
                for name, box in boxes.items():
                    inside = box["x"] >= 0 and box["y"] >= 0 and box["x"] + box["width"] <= width and box["y"] + box["height"] <= height
                    assert inside, (width, colour, name)


def chain(length: int) -> Program:
    builder = ProgramBuilder("chain", "main")
    main = builder.graph("main")
    kind = TensorType("f32", (4,))
    main.node("n0", "parameter", outputs=[kind], role="parameter")
    for i in range(1, length):
        main.node(f"n{i}", "tanh" if i % 2 else "exp", [(f"n{i - 1}", 0)], [kind])
    main.outputs.append((f"n{length - 1}", 0))
    return builder.build()


def test_a_very_deep_drawing_is_in_columns_on_the_screen(open_file: Open) -> None:
    viewer = open_file(chain(600))
    viewer.press("Flatten")
    assert viewer.press("Fit")["camera"]["scale"] > 0.1, "one column of all boxes would be a thread at 2 %"
    assert viewer.page.get_by_text("Circled numbers continue across columns").is_visible()
    viewer.search("id:n400")
    viewer.key("Enter")
    viewer.press("Zoom to selection")
    canvas = viewer.page.locator("canvas.graph")
    viewer.page.mouse.click(canvas.bounding_box()["x"] + 40, canvas.bounding_box()["y"] + 200)
    assert viewer.idle()["selection"] == []
    canvas.click()
    assert viewer.idle()["selection"] == ["n:n400"], "a box in a later column is where it is drawn"
    canvas.focus()
    steps = [viewer.key("ArrowDown")["selection"] for _ in range(40)]
    assert steps == [[f"n:n{i}"] for i in range(401, 441)], "and edges are followed from one column to the next"


def blocks(count: int) -> Program:
    """Modules one after the other, each with operations that no other has."""
    ops = ["tanh", "exp", "log", "sqrt", "negate", "sine"]
    builder = ProgramBuilder("blocks", "main")
    main = builder.graph("main")
    kind = TensorType("f32", (4,))
    main.node("x", "parameter", outputs=[kind], role="parameter")
    last = "x"
    for block in range(count):
        for i in range(11):
            main.node(f"n{block}.{i}", ops[(i * (block + 1) + block) % 6], [(last, 0)], [kind], scope=(f"block_{block}",))
            last = f"n{block}.{i}"
    main.outputs.append((last, 0))
    return builder.build()


def test_a_long_chain_fills_a_large_screen_with_columns(open_file: Open) -> None:
    viewer = open_file(blocks(12), viewport={"width": 3840, "height": 2160})
    first = viewer.state()
    columns = re.compile("Circled numbers continue across columns")
    assert viewer.page.get_by_text(columns).is_visible()
    assert first["camera"]["scale"] > 0.95
    assert len(first["expanded"]) == 12
    viewer.page.reload()
    until(lambda: viewer.page.evaluate("!!window.opscope && window.opscope.state().status !== 'loading'"))
    again = viewer.idle()
    assert (again["camera"], again["expanded"]) == (first["camera"], first["expanded"])
    assert viewer.page.get_by_text(columns).is_visible(), "the address has the columns"
    viewer.press("Collapse all")
    assert not viewer.page.get_by_text(columns).is_visible(), "a short picture has one"
    viewer.key("Control+z")
    assert viewer.state()["camera"] == first["camera"]
    assert viewer.page.get_by_text(columns).is_visible()


def numbered_graphs() -> Program:
    """Many called graphs whose names differ at their ends, and an attribute with a long name."""
    builder = ProgramBuilder("compiled", "main")
    kind = TensorType("f32", (4,))
    names = [f"wrapped_concatenate_computation_of_many_values.{i}" for i in range(60)]
    for name in names:
        body = builder.graph(name)
        body.node("a", "parameter", outputs=[kind], role="parameter")
        body.outputs.append(("a", 0))
    main = builder.graph("main")
    main.node("x", "parameter", outputs=[kind], role="parameter")
    for i, name in enumerate(names[:3]):
        main.node(f"call.{i}", "call", [("x", 0)], [kind], calls=[name], attrs={"metadata.op_name_of_the_source": "f"})
    main.outputs.append(("call.2", 0))
    return builder.build()


@pytest.fixture
def compiled(open_file: Open) -> Viewer:
    return open_file(numbered_graphs())


def test_names_of_graphs_show_the_end_that_tells_them_apart(compiled: Viewer) -> None:
    compiled.page.get_by_role("tab", name="Graphs").click()
    rows = compiled.page.get_by_role("listbox", name="Graphs of the program").get_by_role("option")
    assert rows.first.inner_text().split()[0] == "main", "the entry is first, and in sight"
    second = rows.nth(1)
    end = second.get_by_text(".0")
    assert end.evaluate("element => element.scrollWidth <= element.clientWidth + 1")
    inner, outer = end.bounding_box(), second.bounding_box()
    assert outer["x"] < inner["x"] and inner["x"] + inner["width"] <= outer["x"] + outer["width"]


def test_names_of_attributes_break_between_words(compiled: Viewer) -> None:
    compiled.search("id:call.0")
    compiled.key("Enter")
    lines: list[str] = compiled.page.locator("dt").first.evaluate(
        """term => {
            const lines = new Map();
            const walker = document.createTreeWalker(term, NodeFilter.SHOW_TEXT);
            for (let node = walker.nextNode(); node; node = walker.nextNode())
                for (let i = 0; i < node.length; i++) {
                    const range = document.createRange();
                    range.setStart(node, i);
                    range.setEnd(node, i + 1);
                    const top = Math.round(range.getBoundingClientRect().top);
                    lines.set(top, (lines.get(top) ?? '') + node.data[i]);
                }
            return [...lines.values()];
        }"""
    )
    assert "".join(lines) == "metadata.op_name_of_the_source" and len(lines) > 1
    assert all(line[-1] in "._" for line in lines[:-1]), lines


def test_the_context_menu_is_next_to_its_box(compiled: Viewer) -> None:
    compiled.search("id:call.1")
    compiled.key("Enter")
    compiled.press("Zoom to selection")
    compiled.press("Zoom out")
    canvas = compiled.page.locator("canvas.graph").bounding_box()
    x, y = canvas["x"] + canvas["width"] / 2, canvas["y"] + canvas["height"] / 2
    compiled.page.mouse.click(x, y, button="right")
    menu: dict[str, Any] = compiled.page.get_by_role("menu", name="Context menu").bounding_box()
    assert not menu["x"] < x < menu["x"] + menu["width"]


def test_a_small_window_gives_the_room_of_the_panels_to_both_halves(open_file: Open) -> None:
    """The details are there for what is selected; a larger window has them, and the outline."""
    program = load("demo:train_step")
    small = open_file(program, viewport={"width": 900, "height": 700})
    assert not {"outline", "details"} & set(small.state()["panels"])
    assert small.page.locator("canvas.graph").bounding_box()["width"] == 900
    assert small.page.get_by_role("img", name="Map of the whole graph").is_visible()
    chart = small.page.get_by_role("img", name="Map of the whole graph").bounding_box()
    graph = small.page.locator("canvas.graph").bounding_box()
    assert chart["width"] <= 0.16 * graph["width"] + 1 and chart["height"] <= 0.16 * graph["height"] + 1
    small.search("op:dot")
    assert "details" in small.key("Enter")["panels"]
    assert "details" not in small.key("Escape", "Escape", "Escape")["panels"]
    assert "details" in small.key("i")["panels"]
    assert "outline" in small.key("o")["panels"]
    assert "details" in open_file(network(), viewport={"width": 900, "height": 700}).state()["panels"]
    assert {"outline", "details"} <= set(open_file(program).state()["panels"])


def test_the_map_leaves_a_corner_with_changes_and_stays_where_it_is(open_file: Open) -> None:
    """A changed box is at the lower right of the first sight; the map is not over it, and does not jump while one moves about."""
    compared = load_comparison(*(str(HLO / name) for name in ("step_lowered.hlo", "step_compiled.hlo")))
    small = open_file(compared, viewport={"width": 900, "height": 700})
    map_of_whole = small.page.get_by_role("img", name="Map of the whole graph")
    graph = small.page.locator("canvas.graph").bounding_box()
    place = map_of_whole.bounding_box()
    right, bottom = graph["x"] + graph["width"], graph["y"] + graph["height"]
    # Where the map would be in the lower right corner.
    small.page.mouse.click(right - 50, bottom - 87)
    assert small.idle()["selectedNode"] or small.state()["selection"]
    assert place["y"] == graph["y"] + 12 and place["x"] + place["width"] == right - 12
    small.page.mouse.wheel(120, 340)
    small.idle()
    assert map_of_whole.bounding_box() == place


def test_a_recording_opens_with_forward_beside_backward_as_its_program_does(open_file: Open) -> None:
    """And so do its passes when one steps through them."""
    recording = open_recording(source_path("demo:passes"))
    viewer = open_file(recording)
    first = viewer.idle()
    assert first["options"]["forwardBackward"] is True and first["pass"] == 0
    assert {"g:forward", "g:backward", "g:forward/Block", "g:backward/Block"} <= set(first["expanded"]), "both halves, equally deep"
    later = viewer.press("Next change")
    assert later["options"]["forwardBackward"] is True and later["pass"] > 0
    assert viewer.press("Previous change")["pass"] == 0
    assert viewer.press("Forward beside backward")["options"]["forwardBackward"] is False
