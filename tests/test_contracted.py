"""Links of a very large training step are found in a part of its layers, and are those that would be found in all of them."""

from __future__ import annotations

import pytest

import opscope.analysis.contracted as module
import opscope.readers.hlo.body
from opscope.analysis.contracted import contracted
from opscope.analysis.gradients import _linked, _linked_one_by_one, backward_links
from opscope.program import Details, Program
from opscope.readers.hlo import parse_hlo

LAYERS = 60


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opscope.readers.hlo.body, "LARGE", -1)
    for name, value in (("KEPT", 8), ("_AGREEING", 4), ("_FAR", 16)):
        monkeypatch.setattr(module, name, value)


def _step(*, odd: int = -1, gathered: str = "", remat: bool = False) -> Program:
    """A training step of equal layers. Layer `odd` has an operation more; `gathered` is the scope of an operation that reads all layers."""
    lines = ["HloModule jit_f", "", "ENTRY %main {", "  %x = f32[4]{0} parameter(0)"]

    def add(name: str, text: str, scope: str) -> None:
        lines.append(f'  %{name} = f32[4]{{0}} {text}, metadata={{op_name="jit(f)/{scope}/{text.partition("(")[0]}"}}')

    before = "x"
    for i in range(LAYERS):
        scope = f"jvp(layer_{i})"
        lines.append(f'  %w{i} = f32[4]{{0}} parameter({i + 1}), metadata={{op_name="ws[{i}]"}}')
        add(f"m{i}", f"multiply(%{before}, %w{i})", scope)
        add(f"t{i}", f"tanh(%m{i})", scope)
        if i == odd:
            add(f"n{i}", f"negate(%t{i})", scope)
        add(f"y{i}", f"add(%{before}, %{'n' if i == odd else 't'}{i})", scope)
        before = f"y{i}"
    add("loss", f"exponential(%{before})", "jvp(loss)")
    add("d", "multiply(%loss, %loss)", "transpose(jvp(loss))")
    before = "d"
    for i in reversed(range(LAYERS)):
        scope = f"transpose(jvp(layer_{i}))"
        saved = f"t{i}"
        if remat:
            add(f"r{i}", f"tanh(%m{i})", f"{scope}/rematted_computation")
            saved = f"r{i}"
        add(f"s{i}", f"multiply(%{before}, %{saved})", scope)
        add(f"dw{i}", f"multiply(%s{i}, %m{i})", scope)
        add(f"g{i}", f"multiply(%s{i}, %w{i})", scope)
        add(f"dx{i}", f"add(%{before}, %g{i})", scope)
        before = f"dx{i}"
    read = ", ".join(f"%dw{i}" for i in range(LAYERS))
    if gathered:
        add("all", f"concatenate({read})", gathered)
    types = ", ".join(["f32[4]{0}"] * LAYERS)
    lines += [f"  ROOT %out = ({types}) tuple({read})", "}", ""]
    (program,) = parse_hlo("\n".join(lines))
    return program


def _has_direction(details: Details) -> bool:
    return bool(details.origin()[2])


@pytest.mark.parametrize("remat", [False, True])
def test_links_of_a_part_are_those_of_the_whole(remat: bool) -> None:
    program = _step(remat=remat)
    part = contracted(program, _has_direction)
    assert part is not None
    assert len(part.program.main) < len(program.main) / 2
    links = _linked(program)
    assert links == _linked_one_by_one(program)
    assert len(links.backward) == 4 * LAYERS + 1
    assert bool(links.recomputed) == remat
    assert {link.node: link.forward for link in links.backward}["g30"] == (("main", "m30"),)


def test_a_layer_that_differs_stays() -> None:
    program = _step(odd=30)
    part = contracted(program, _has_direction)
    assert part is not None
    assert {"n30", "t29", "t31", "t35"} <= {node.id for node in part.program.main}
    assert backward_links(program) == _linked_one_by_one(program).backward


def test_nothing_is_left_out_that_a_derivative_reads_from_afar() -> None:
    assert contracted(_step(gathered="clip"), _has_direction) is not None
    program = _step(gathered="transpose(jvp(clip))")
    assert contracted(program, _has_direction) is None
    assert backward_links(program) == _linked_one_by_one(program).backward


def test_results_that_differ_next_to_the_gap_do_not_follow() -> None:
    part = contracted(_step(), _has_direction)
    assert part is not None
    ids = [node.id for node in part.program.main]
    assert part.expanded({name: ("place", (f"t{name[1:]}",)) for name in ids if name.startswith("s")}) is not None
    assert part.expanded({name: ("place", ("loss" if name == "s7" else "x",)) for name in ids if name.startswith("s")}) is None
