"""Passes that change no node and yet are not the same program: nodes are followed through renaming and reordering."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import opscope
from browser.harness import Open, Viewer
from browser.recordings import start
from browser.test_timeline import choose_pass, history, select_node
from opscope.program import Program, ProgramBuilder
from opscope.recording.sources import open_recording
from opscope.render.writers.html import write
from opscope.view_options import ViewOptions

NEW_NAMES = {"exp.1": "exp.7", "dot.1": "dot.7"}


def renamed(reverse: bool) -> Program:
    """The same nodes under other names; with `reverse`, also in another order."""
    builder = ProgramBuilder("toy", "main")
    main = builder.graph("main")
    nodes = list(start().main)
    first = [node for node in nodes if node.id in ("w", "x", "idle.1")]
    for node in [*reversed(first), *(node for node in nodes if node not in first)] if reverse else nodes:
        inputs = [(NEW_NAMES.get(name, name), index) for name, index in node.inputs]
        main.node(NEW_NAMES.get(node.id, node.id), node.op, inputs, node.outputs, role=node.role, attrs=dict(node.attrs))
    main.outputs.append(("sum.1", 0))
    return builder.build()


def without(program: Program, gone: str) -> Program:
    builder = ProgramBuilder("toy", "main")
    main = builder.graph("main")
    for node in program.main:
        if node.id != gone:
            main.node(node.id, node.op, node.inputs, node.outputs, role=node.role, attrs=dict(node.attrs))
    main.outputs.append(("sum.1", 0))
    return builder.build()


@pytest.fixture(params=["file", "server"])
def viewer(request: pytest.FixtureRequest, open_address: Open, server: Callable[..., str], tmp_path: Path) -> Viewer:
    path = tmp_path / "quiet.opscope"
    with opscope.record(path) as rec:
        for name, program in [("start", start()), ("rename", renamed(False)), ("reorder", renamed(True))]:
            rec.snapshot(program, name)
        rec.snapshot(without(renamed(True), "idle.1"), "dce")
    if request.param == "file":
        write([open_recording(path)], tmp_path / "page.html", ViewOptions())
        return open_address((tmp_path / "page.html").as_uri())
    return open_address(server(path))


def test_a_node_is_followed_through_passes_that_change_no_node(viewer: Viewer) -> None:
    assert select_node(viewer, "idle.1")["selectedNode"] == "idle.1"
    assert history(viewer)[1:] == ["removed in dce"], "found behind a renaming and a reordering"
    assert viewer.page.get_by_text("not an opscope program").count() == 0
    choose_pass(viewer, "dce")
    assert viewer.press("Before")["nodes"] == 7
    assert select_node(viewer, "exp.7")["selectedNode"] == "exp.7"
    assert viewer.page.get_by_role("alert").count() == 0
