"""Two compilations: names are numbered anew, and the diff is as small as what was changed in the model."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import pytest
from hlo_texts import parse
from transformer import CHANGED, Texts, lower, texts

import opscope
from opscope.program import Node
from opscope.recording.diff import Diff, diff, diff_passes
from opscope.recording.dumps.xla import find_steps

pytest.importorskip("jax")

VARIANTS = ("rms_norm", "silu", "gelu")
_INSTRUCTION = re.compile(r"^  (?:ROOT )?%?[\w.-]+ = ([^ ]+|\(.*?\)) ([\w-]+)\(")
_LAYER = re.compile(r"\blayer_(\d+)\b|\['layers'\]\[(\d+)\]")


@pytest.fixture(scope="module")
def compiled() -> dict[str, Texts]:
    return {variant: texts(variant) for variant in ("", *VARIANTS)}


def instructions(text: str) -> Counter[tuple[str, ...]]:
    """What each instruction is and where it comes from, read off the text itself: type, op, parameter number, scope."""
    counts: Counter[tuple[str, ...]] = Counter()
    for line in text.splitlines():
        if found := _INSTRUCTION.match(line):
            scope = re.search(r'op_name="([^"]*)"', line)
            number = re.search(r" parameter\((\d+)\)", line)
            counts[found[1], found[2], number[1] if number else "", scope[1] if scope else ""] += 1
    return counts


def layer_of(scope: str) -> int | None:
    found = _LAYER.search(scope.replace("\\'", "'"))
    return int(found[1] or found[2]) if found else None


def scope_of(node: Node) -> str:
    return str(node.attrs.get("metadata.op_name", ""))


def crossing(found: Diff) -> list[tuple[str, str]]:
    """Pairs of nodes of which the user's program says that they are of two layers."""
    scopes = [(scope_of(found.a[a[0]][a[1]]), scope_of(found.b[b[0]][b[1]])) for a, b in found.pairs()]
    return [(a, b) for a, b in scopes if None not in (layer_of(a), layer_of(b)) and layer_of(a) != layer_of(b)]


@pytest.mark.parametrize("stage", Texts._fields)
@pytest.mark.parametrize("variant", VARIANTS)
def test_one_changed_layer_is_a_small_diff(compiled: dict[str, Texts], variant: str, stage: str) -> None:
    before, after = (str(getattr(compiled[which], stage)) for which in ("", variant))
    gone, new = instructions(before) - instructions(after), instructions(after) - instructions(before)
    real = gone.total() + new.total()
    found = opscope.diff(parse(before), parse(after))
    assert found.names == "ignored" and found.to_json()["names"] == "ignored"
    assert 0 < found.size <= 1.5 * real
    assert crossing(found) == []
    by_name = diff(parse(before), parse(after), match_by_name=True)
    assert by_name.names == "used" and by_name.size > 3 * found.size


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_came_and_went_belongs_to_the_changed_layer(compiled: dict[str, Texts], variant: str) -> None:
    found = opscope.diff(parse(compiled[""].lowered), parse(compiled[variant].lowered))
    nodes = [found.a[graph][id] for graph, id in found.removed] + [found.b[graph][id] for graph, id in found.added]
    assert {layer_of(scope_of(node)) for node in nodes} - {None} == {CHANGED}


def renumbered(text: str) -> str:
    """The text with every instruction and computation called by the name of another one of its kind, as after a recount."""
    names: dict[str, list[str]] = defaultdict(list)
    for name in dict.fromkeys(re.findall(r"%([A-Za-z_][\w.-]*)", text)):
        names[re.sub(r"[.\d]+$", "", name)].append(name)
    new = {old: name for several in names.values() for old, name in zip(several, several[1:] + several[:1], strict=True)}
    text = re.sub(r"(?<=[(,] )?([A-Za-z_][\w.-]*)(?=: )", lambda found: new.get(found[1], found[1]), text)
    return re.sub(r"%([A-Za-z_][\w.-]*)", lambda found: "%" + new[found[1]], text)


@pytest.mark.parametrize("variant", ("", *VARIANTS))
def test_a_program_under_renumbered_names_is_the_same(compiled: dict[str, Texts], variant: str) -> None:
    text = compiled[variant].optimized
    a, b = parse(text), parse(renumbered(text))
    assert diff(a, b, match_by_name=True).size > len(a) / 2
    found = opscope.diff(a, b)
    assert found.size == 0 and found.same and found.names == "ignored"
    assert len(list(found.pairs())) == sum(map(len, a))


def test_names_are_used_where_they_are_right_and_everything_else_changed() -> None:
    """Another batch size: every shape is another, and only names say which node is which."""
    a, b = (parse(lower(batch=batch).as_text("hlo", debug_info=True)) for batch in (2, 4))
    found = opscope.diff(a, b)
    assert found.names == "used" and found.added == found.removed == ()
    assert diff(a, b, match_by_name=False).size > 1.5 * found.size


def test_files_of_consecutive_passes_give_what_a_recording_of_them_gives(tmp_path: Path) -> None:
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


def test_a_recording_that_keeps_names_is_believed(compiled: dict[str, Texts], tmp_path: Path) -> None:
    text = compiled[""].optimized
    with opscope.record(tmp_path / "run.opscope") as recorder:
        recorder.set(ids="names")
        recorder.snapshot(parse(text), "before")
        recorder.snapshot(parse(renumbered(text)), "after")
    found = opscope.open_recording(tmp_path / "run.opscope").diff(1)
    assert found is not None and found.names == "used" and found.size > 0
