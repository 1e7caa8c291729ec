"""Diffs of two compilations: names are renumbered, and the diff is as small as the change of the model."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support.hlo_texts import parse
from transformer import CHANGED, WIDTH, Texts, lower, texts

import opscope
from opscope.program import Node
from opscope.recording.change_groups import change_groups
from opscope.recording.diff import Diff, diff, diff_passes
from opscope.recording.dumps.xla import find_steps

pytestmark = pytest.mark.frameworks
pytest.importorskip("jax")

VARIANTS = ("rms_norm", "silu", "gelu")
_INSTRUCTION = re.compile(r"^  (?:ROOT )?%?[\w.-]+ = ([^ ]+|\(.*?\)) ([\w-]+)\(")
_LAYER = re.compile(r"\blayer_(\d+)\b|\['layers'\]\[(\d+)\]")


@pytest.fixture(scope="module")
def compiled() -> dict[str, Texts]:
    return {variant: texts(variant) for variant in ("", *VARIANTS)}


def instructions(text: str) -> Counter[tuple[str, ...]]:
    """Type, op, parameter number and scope of each instruction, read from the text itself."""
    counts: Counter[tuple[str, ...]] = Counter()
    for line in text.splitlines():
        if match := _INSTRUCTION.match(line):
            scope = re.search(r'op_name="([^"]*)"', line)
            number = re.search(r" parameter\((\d+)\)", line)
            counts[match[1], match[2], number[1] if number else "", scope[1] if scope else ""] += 1
    return counts


def layer_of(scope: str) -> int | None:
    match = _LAYER.search(scope.replace("\\'", "'"))
    return int(match[1] or match[2]) if match else None


def scope_of(node: Node) -> str:
    return str(node.attrs.get("metadata.op_name", ""))


def crossing(difference: Diff) -> list[tuple[str, str]]:
    """Pairs of nodes that belong to different layers of the user's program."""
    scopes = [(scope_of(difference.a[a[0]][a[1]]), scope_of(difference.b[b[0]][b[1]])) for a, b in difference.pairs()]
    return [(a, b) for a, b in scopes if None not in (layer_of(a), layer_of(b)) and layer_of(a) != layer_of(b)]


@pytest.mark.parametrize("stage", Texts._fields)
@pytest.mark.parametrize("variant", VARIANTS)
def test_one_changed_layer_is_a_small_diff(compiled: dict[str, Texts], variant: str, stage: str) -> None:
    before, after = (str(getattr(compiled[which], stage)) for which in ("", variant))
    gone, new = instructions(before) - instructions(after), instructions(after) - instructions(before)
    real = gone.total() + new.total()
    difference = opscope.diff(parse(before), parse(after))
    assert difference.names == "ignored" and difference.to_json()["names"] == "ignored"
    assert 0 < difference.size <= 1.5 * real
    assert crossing(difference) == []
    by_name = diff(parse(before), parse(after), match_by_name=True)
    assert by_name.names == "used" and by_name.size > 3 * difference.size


@pytest.mark.parametrize("variant", VARIANTS)
def test_added_and_removed_nodes_belong_to_the_changed_layer(compiled: dict[str, Texts], variant: str) -> None:
    difference = opscope.diff(parse(compiled[""].lowered), parse(compiled[variant].lowered))
    nodes = [difference.a[graph][id] for graph, id in difference.removed] + [difference.b[graph][id] for graph, id in difference.added]
    assert {layer_of(scope_of(node)) for node in nodes} - {None} == {CHANGED}


def renumbered(text: str) -> str:
    """The text with each instruction and computation renamed to another one of its kind, as if they were renumbered."""
    names: dict[str, list[str]] = defaultdict(list)
    for name in dict.fromkeys(re.findall(r"%([A-Za-z_][\w.-]*)", text)):
        names[re.sub(r"[.\d]+$", "", name)].append(name)
    new = {old: name for several in names.values() for old, name in zip(several, several[1:] + several[:1], strict=True)}
    text = re.sub(r"(?<=[(,] )?([A-Za-z_][\w.-]*)(?=: )", lambda match: new.get(match[1], match[1]), text)
    return re.sub(r"%([A-Za-z_][\w.-]*)", lambda match: "%" + new[match[1]], text)


@pytest.mark.parametrize("variant", ("", *VARIANTS))
def test_a_program_under_renumbered_names_is_the_same(compiled: dict[str, Texts], variant: str) -> None:
    text = compiled[variant].optimized
    a, b = parse(text), parse(renumbered(text))
    assert diff(a, b, match_by_name=True).size > len(a) / 2
    difference = opscope.diff(a, b)
    assert difference.size == 0 and difference.same and difference.names == "ignored"
    assert len(list(difference.pairs())) == sum(map(len, a))


def test_names_are_used_where_they_are_right_and_everything_else_changed() -> None:
    """With another batch size every shape differs, and only names identify nodes."""
    a, b = (parse(lower(batch=batch).as_text("hlo", debug_info=True)) for batch in (2, 4))
    difference = opscope.diff(a, b)
    assert difference.names == "used" and difference.added == difference.removed == ()
    assert diff(a, b, match_by_name=False).size > 1.2 * difference.size


def test_files_of_consecutive_passes_differ_like_their_recording(tmp_path: Path) -> None:
    lower().compile({"xla_dump_to": str(tmp_path), "xla_dump_hlo_pass_re": ".*"})
    steps, _ = find_steps(tmp_path)
    programs = [parse(text) for text in dict.fromkeys(step.path.read_text() for step in steps)]
    compared = 0
    for a, b in pairwise(programs):
        recorded = diff_passes(a, b, ids="names")
        if recorded.size:
            assert opscope.diff(a, b).to_json() == recorded.to_json()
            compared += 1
    assert compared > 8


def test_a_recording_that_keeps_names_is_matched_by_name(compiled: dict[str, Texts], tmp_path: Path) -> None:
    text = compiled[""].optimized
    with opscope.record(tmp_path / "run.opscope") as recorder:
        recorder.set(ids="names")
        recorder.snapshot(parse(text), "before")
        recorder.snapshot(parse(renumbered(text)), "after")
    difference = opscope.open_recording(tmp_path / "run.opscope").diff(1)
    assert difference is not None and difference.names == "used" and difference.size > 0


def scoped_norms(name: str, layers: int = 3) -> str:
    """The HLO of layers with a layer norm or a root mean square norm, in a scope of that name."""
    import jax
    import jax.numpy as jnp

    def norm(x: Any, scale: Any) -> Any:
        with jax.named_scope(name):
            x = x - x.mean(-1, keepdims=True) if name == "layer_norm" else x
            return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * scale

    def model(weights: list[Any], x: Any) -> Any:
        for i, weight in enumerate(weights):
            with jax.named_scope(f"layer_{i}"):
                x = x + jnp.tanh(norm(x, weight[0]) @ weight)
        return x

    weights = [jnp.ones((WIDTH, WIDTH)) for _ in range(layers)]
    return str(jax.jit(model).lower(weights, jnp.ones((2, WIDTH))).as_text("hlo", debug_info=True))


def test_a_norm_replaced_in_every_layer_is_one_row() -> None:
    """Some nodes of the old norm match those of the new one, so neither was removed or added as a whole."""
    before, after = (scoped_norms(name) for name in ("layer_norm", "rms_norm"))
    difference = diff(parse(before), parse(after))
    assert difference.names == "ignored", "both diffs are equally large, but by name every layer differs in another way"
    rows = [group for group in change_groups(difference) if "norm" in f"{group.what}{group.where}"]
    assert [row.place for row in rows] == ["in each of 3 layers (model/layer_*)"]
    counts = re.fullmatch(r"rms_norm replaced layer_norm \(−(\d+) ~(\d+) ops\)", rows[0].what)
    assert counts is not None
    was, now = (len(re.findall(r'op_name="[^"]*layer_0/\w+_norm/', text)) for text in (before, after))
    assert (int(counts[1]), int(counts[2])) == (was - now + 2, now), "the body of the mean that is gone has two parameters without op_name"


def loop(state: list[str]) -> str:
    """A loop over the parts of a state: a step takes `a`, `b` and `w`, all of one type."""
    kinds = ", ".join(["f32[8]{0}"] * len(state))
    parts = "".join(f"  %part.{name} = f32[8]{{0}} get-tuple-element(%state), index={i}\n" for i, name in enumerate(state))
    made = {"a": "tanh.1", "b": "mul.1", "w": "part.w", "extra": "part.extra"}
    return f"""HloModule m

%body (state: ({kinds})) -> ({kinds}) {{
  %state = ({kinds}) parameter(0)
{parts}  %sub.1 = f32[8]{{0}} subtract(%part.a, %part.w)
  %tanh.1 = f32[8]{{0}} tanh(%sub.1)
  %sin.1 = f32[8]{{0}} sine(%part.b)
  %mul.1 = f32[8]{{0}} multiply(%sin.1, %part.a)
  ROOT %tuple.1 = ({kinds}) tuple({", ".join(f"%{made[name]}" for name in state)})
}}

ENTRY %main (x: f32[8]) -> ({kinds}) {{
  %x = f32[8]{{0}} parameter(0)
  %start = ({kinds}) tuple({", ".join(["%x"] * len(state))})
  ROOT %while.1 = ({kinds}) while(%start), condition=%body, body=%body
}}
"""


def test_parts_of_a_loops_state_that_are_shifted_are_known_by_their_users() -> None:
    """What was the second part is the third, because the state has one more in front. Positions say nothing."""
    difference = diff(parse(loop(["a", "b", "w"])), parse(loop(["extra", "a", "b", "w"])), match_by_name=False)
    parts = {(a, b) for (_, a), (_, b) in difference.pairs() if a.startswith("part.")}
    assert parts == {("part.a", "part.a"), ("part.b", "part.b"), ("part.w", "part.w")}
