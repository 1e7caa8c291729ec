"""The roofline and the kernel lane: what they say, and that they are linked with the graph in both directions."""

from __future__ import annotations

from browser.harness import Open, until
from opscope import Metric
from opscope.analysis.devices import device_of
from opscope.analysis.roofline import with_estimates
from opscope.profile.lane import Piece, with_lane
from opscope.program import Program, ProgramBuilder, TensorType

SECONDS = {"dot.0": 3e-3, "dot.1": 4e-3, "copy": 1e-3}


def profiled() -> Program:
    """Two products that are far from the limits of an H200, and a copy, in a step of 9 ms on two streams."""
    builder = ProgramBuilder("step", "main")
    kind = [TensorType("f32", (512, 512))]
    main = builder.graph("main")
    last = main.node("x", "parameter", outputs=kind, role="parameter").id
    for i in range(2):
        contract = {"lhs_contracting_dims": "{1}", "rhs_contracting_dims": "{0}"}
        last = main.node(f"dot.{i}", "dot", [(last, 0), (last, 0)], kind, scope=(f"layer_{i}", "mlp"), attrs=contract).id
    main.node("copy", "copy", [(last, 0)], kind)
    main.outputs.append(("copy", 0))
    program = builder.build().with_metric(Metric("device time", "s", "sum", "measured"), SECONDS)
    step = [
        Piece("gemm_kernel", ("main", "dot.0"), "stream 7", 0.0, 3e-3),
        Piece("gemm_kernel", ("main", "dot.1"), "stream 7", 4e-3, 4e-3),
        Piece("Memcpy DtoD", ("main", "copy"), "stream 20", 8e-3, 1e-3),
    ]
    return with_lane(with_estimates(program, device_of("h200")), step)


def test_the_roofline_says_what_to_fix_first_and_leads_there(open_file: Open) -> None:
    viewer = open_file(profiled())
    viewer.key("H")
    said = viewer.page.get_by_role("status", name="Roofline of")
    until(lambda: said.inner_text() == "device time: 8 ms, measured; limits of NVIDIA H200 SXM")
    gains = viewer.page.get_by_role("list", name="Most to gain").get_by_role("button")
    until(lambda: gains.count() == 2)
    assert gains.first.inner_text().split() == ["87.5%", "dot.#", "×2", "7", "ms", "→", "1.31", "µs", "layer_#/mlp"], (
        gains.first.inner_text()
    )
    plot = viewer.page.get_by_role("group", name="Roofline plot")
    points = plot.get_by_role("button")
    assert points.count() == 2, "a copy computes nothing"
    plot.get_by_role("button", name="layer_0/mlp/dot.0: 3 ms").click()
    until(lambda: viewer.idle()["selectedNode"] == "dot.0")
    until(lambda: plot.get_by_role("button", name="layer_0/mlp/dot.0: 3 ms").get_attribute("aria-pressed") == "true")
    viewer.page.get_by_label("Points", exact=True).select_option("module")
    until(lambda: gains.first.inner_text().split()[:3] == ["87.5%", "mlp", "×2"])
    viewer.page.set_viewport_size({"width": 900, "height": 700})
    until(lambda: viewer.page.get_by_role("button", name="Close roofline").bounding_box()["x"] < 900)


def test_the_kernels_of_a_step_are_in_order_and_lead_to_their_nodes(open_file: Open) -> None:
    viewer = open_file(profiled())
    viewer.key("q")
    said = viewer.page.get_by_role("status", name="Kernel")
    until(lambda: said.inner_text() == "one step: 9 ms, 3 kernels and copies that take 8 ms")
    lane = viewer.page.get_by_role("slider", name="Kernels of a step")
    lane.focus()
    for _ in range(2):
        viewer.page.keyboard.press("ArrowRight")
    until(lambda: said.inner_text() == "dot.1: gemm_kernel, 4 ms at 4 ms, stream 7")
    viewer.page.keyboard.press("Enter")
    until(lambda: viewer.idle()["selectedNode"] == "dot.1")
    box = lane.bounding_box()
    viewer.page.mouse.click(box["x"] + box["width"] * 8.5 / 9, box["y"] + 45)
    until(lambda: viewer.idle()["selectedNode"] == "copy")
    lane.press("+")
    viewer.press("Show all")
    until(lambda: viewer.page.get_by_role("button", name="Show all").count() == 0)
