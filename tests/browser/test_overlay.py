"""Before and after in one picture: every node that went has its ghost, also those of graphs that were inlined into another."""

from __future__ import annotations

from pathlib import Path

import opscope
from browser.harness import Open, Viewer
from browser.recordings import X
from browser.test_timeline import choose_pass, legend, options
from opscope.program import Program, ProgramBuilder
from opscope.recording.sources import open_recording
from opscope.render.writers.html import write
from opscope.view_options import ViewOptions

BODIES = 12


def calls() -> Program:
    """A chain of calls, each of a body of its own; all bodies have a parameter of the same name."""
    builder = ProgramBuilder("toy", "main")
    for i in range(BODIES):
        body = builder.graph(f"body.{i}")
        body.node("p", "parameter", outputs=[X], role="parameter")
        body.node(f"exp.{i}", "exponential", [("p", 0)], [X], attrs={"number": i})
        body.outputs.append((f"exp.{i}", 0))
    main = builder.graph("main")
    main.node("x", "parameter", outputs=[X], role="parameter")
    for i in range(BODIES):
        main.node(f"call.{i}", "call", [(f"call.{i - 1}" if i else "x", 0)], [X], calls=[f"body.{i}"])
    main.outputs.append((f"call.{BODIES - 1}", 0))
    return builder.build()


def inlined() -> Program:
    builder = ProgramBuilder("toy", "main")
    main = builder.graph("main")
    main.node("x", "parameter", outputs=[X], role="parameter")
    for i in range(BODIES):
        main.node(f"exp.{i}", "exponential", [(f"exp.{i - 1}" if i else "x", 0)], [X], attrs={"number": i})
    main.outputs.append((f"exp.{BODIES - 1}", 0))
    return builder.build()


def shown(open_address: Open, directory: Path) -> Viewer:
    with opscope.record(directory / "run.opscope") as rec:
        rec.set(ids="names")
        rec.snapshot(calls(), "start")
        rec.snapshot(inlined(), "inline")
    write([open_recording(directory / "run.opscope")], directory / "page.html", ViewOptions())
    return open_address((directory / "page.html").as_uri())


def test_the_overlay_counts_as_the_card_does(open_address: Open, tmp_path: Path) -> None:
    viewer = shown(open_address, tmp_path)
    choose_pass(viewer, "inline")
    gone = 2 * BODIES
    assert f"−{gone}" in options(viewer).filter(has_text="inline").first.inner_text(), "calls, and parameters of bodies"
    state = viewer.press("Overlay")
    assert f"removed ({gone})" in legend(viewer)
    assert state["nodes"] == 1 + BODIES + gone


def test_whoever_saw_the_whole_sees_the_whole_again_when_ghosts_make_it_larger(open_address: Open, tmp_path: Path) -> None:
    viewer = shown(open_address, tmp_path)
    choose_pass(viewer, "inline")
    after = viewer.press("Fit")["camera"]
    overlay = viewer.press("Overlay")["camera"]
    assert viewer.press("Fit")["camera"] == overlay != after
    near = [viewer.press("Zoom in") for _ in range(6)][-1]["camera"]["scale"]
    assert viewer.press("After")["camera"]["scale"] == near, "who looks closer keeps the scale"
