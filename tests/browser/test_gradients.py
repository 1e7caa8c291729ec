"""Gradients in the viewer: rules, the other half, kept values, sums and the chain rule, on a real JAX train step."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import opscope
from browser.harness import Open, Viewer, until
from opscope.program import Program

jax = pytest.importorskip("jax")


@pytest.fixture(scope="module")
def train_step() -> Program:
    import jax.numpy as jnp

    def loss(w, x):
        with jax.named_scope("block"):
            h = jnp.exp(x @ w)
            return (h * jnp.tanh(h)).sum()

    return opscope.capture(jax.value_and_grad(loss), jnp.ones((64, 64)), jnp.ones((32, 64)), stage="hlo")


@pytest.fixture
def viewer(open_file: Open, train_step: Program) -> Viewer:
    found = open_file(train_step)
    found.press("Expand all")
    return found


@pytest.mark.step("0.14", "0.16")
def test_a_node_shows_its_rule_its_backward_nodes_and_the_sum_over_its_uses(viewer: Viewer) -> None:
    viewer.row("exponential").click()
    viewer.idle()
    text = viewer.page.get_by_label("Gradient", exact=True).inner_text()
    assert "y = exp(x)" in text and "dx = dy ⊙ y" in text
    assert "dmul" in text and "⊙ tanh" in text, "the gradients that arrive are written with the names of the nodes"
    assert "saved for backward: " in text and "8.19 kB" in text
    assert "y is used 2 times, so its gradient is a sum" in text
    terms = viewer.page.get_by_label("Gradient", exact=True).get_by_role("button")
    assert {"tanh.1", "mul.4"} <= {*terms.all_inner_texts()}, "each use in the sum is a link to its node"
    state = viewer.press("Highlight backward ops")
    assert state["selection"] and not viewer.errors


def test_a_backward_node_leads_to_its_forward_nodes(viewer: Viewer) -> None:
    viewer.search("op:dot attr.direction:backward")
    viewer.key("Enter")
    panel = viewer.page.get_by_label("Gradient", exact=True)
    assert "BACKWARD OF" in panel.inner_text().upper()
    panel.get_by_role("button").first.click()
    viewer.idle()
    assert "dy · bT" in viewer.page.get_by_label("Gradient", exact=True).inner_text(), "the forward dot shows its own rule"


def test_a_node_whose_half_is_inferred_says_what_would_name_the_other(
    server: Callable[..., str], open_address: Open, tmp_path: Path
) -> None:
    """HLO from `as_hlo_text()` has halves, but which gradient belongs to which operation is rarely certain."""
    import jax.numpy as jnp

    lowered = jax.jit(jax.value_and_grad(lambda x: jnp.mean(jax.nn.softmax(x)))).lower(jnp.ones((4, 8)))
    (tmp_path / "step.hlo").write_text(lowered.compiler_ir("hlo").as_hlo_text())
    viewer = open_address(server("step.hlo"))
    viewer.search("op:exponential")
    viewer.key("Enter")
    panel = viewer.page.get_by_label("Gradient", exact=True)
    text = panel.inner_text()
    assert "y = exp(x)" in text and "not known without names; keep them with lowered.as_text" in text
    assert "y is used 2 times" in text, "by the sum and the quotient; what the backward half reads is not a use"
    viewer.search("op:negate")
    viewer.key("Enter")
    assert "BACKWARD OF" in panel.inner_text().upper() and "y = " not in panel.inner_text()


def test_snapshots_of_a_recording_know_the_other_half_too(open_file: Open, train_step: Program) -> None:
    with opscope.record() as rec:
        rec.snapshot(train_step, "as traced")
    viewer = open_file(rec.recording)
    viewer.press("Expand all")
    viewer.row("exponential").click()
    viewer.idle()
    assert viewer.press("Highlight backward ops")["selection"] and not viewer.errors


@pytest.mark.step("0.15")
def test_two_nodes_show_the_chain_rule_between_them(viewer: Viewer) -> None:
    viewer.row("exponential").click()
    viewer.idle()
    viewer.row("tanh").click(modifiers=["Shift"])
    viewer.idle()
    chain = viewer.page.get_by_label("Chain rule")
    assert re.search(r"dexp\S* = dtanh\S* ⊙ \(1 − tanh\S*2\)", chain.inner_text()), "with the names of the nodes, and the power raised"
    assert chain.locator("sup").inner_text() == "2"


@pytest.mark.step("0.15")
def test_an_operand_that_is_read_twice_has_both_terms_in_the_chain_rule(open_file: Open, tmp_path: Path) -> None:
    """The derivative of x ⊙ x is twice x, not x."""
    source = tmp_path / "square.hlo"
    source.write_text("HloModule m\n\nENTRY e {\n  x = f32[4] parameter(0)\n  t = f32[4] tanh(x)\n  ROOT s = f32[4] multiply(t, t)\n}\n")
    viewer = open_file(opscope.load(source))
    viewer.row("tanh").click()
    viewer.idle()
    viewer.row("multiply").click(modifiers=["Shift"])
    viewer.idle()
    assert "dt = ds ⊙ t + ds ⊙ t" in viewer.page.get_by_label("Chain rule").inner_text()


def test_what_has_no_gradient_says_why_and_parameters_show_the_sum_of_their_uses(open_file: Open) -> None:
    import jax.numpy as jnp

    def shared(w, x, i):
        return jnp.where(x > 0, jnp.tanh(x @ w) @ w, 0.0).sum() + (i + 1)

    found = open_file(opscope.capture(shared, jnp.ones((4, 4)), jnp.ones((4, 4)), 3))
    found.press("Expand all")
    panel = found.page.get_by_label("Gradient", exact=True)
    for row, expected in (("gt", "no gradient flows"), ("w", "is used 2 times"), ("select_n", "c is")):
        found.row(row).click()
        found.idle()
        assert expected in panel.inner_text(), row
    found.search("op:add type:i32")
    found.key("Enter")
    assert "Integers are not differentiable" in panel.inner_text()


def test_the_program_tells_what_is_kept_for_backward(viewer: Viewer) -> None:
    viewer.press("Show saved tensors")
    saved = viewer.page.get_by_label("Saved for backward")
    layers = saved.locator("details")
    total = re.search(r"in ([\d,]+) tensors", saved.inner_text())
    assert total
    count = int(total[1].replace(",", ""))
    assert sum(int(text.split("·")[0]) for text in layers.locator(".n").all_inner_texts()) == count
    for layer in layers.all():
        layer.locator("summary").click()
    until(lambda: saved.get_by_role("listitem").count() == count)
    assert "[" in saved.get_by_role("listitem").first.inner_text(), "its shape"
    assert not viewer.errors and not viewer.foreign_requests()


def test_forward_is_beside_backward_at_first_and_the_address_remembers_it(viewer: Viewer) -> None:
    state = viewer.state()
    assert state["grouping"] == "direction" and state["options"]["forwardBackward"] is True
    assert viewer.press("Forward beside backward")["options"]["forwardBackward"] is False
    assert viewer.choose("Group by", "module")["options"]["forwardBackward"] is False
    state = viewer.press("Forward beside backward")
    assert "beside=1" in viewer.page.url
    assert "saved tensors" in " ".join(state["remarks"]) and not viewer.errors
    hint = viewer.page.get_by_text(state["remarks"][0])
    assert hint.bounding_box()["y"] >= sum(viewer.page.locator("canvas.graph").bounding_box()[key] for key in ("y", "height"))
    assert viewer.control("Forward beside backward").get_attribute("aria-checked") == "true"
    viewer.page.reload()
    viewer.idle()
    assert viewer.control("Forward beside backward").get_attribute("aria-checked") == "true"
