"""Searching all passes at once, the text of a pass, and what many passes did together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Run
from support.hlo_texts import write_dump

import opscope
from opscope.comparing import load_comparison
from opscope.recording.comparison import diff_of


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    return write_dump(tmp_path / "dump")


def indexes(run: Run, *words: str | Path) -> list[int]:
    return [row["index"] for row in json.loads(run("passes", *words, "--json").stdout)]


@pytest.mark.slow
def test_find_says_after_which_pass_something_appears(run: Run, dump: Path) -> None:
    done = run("passes", dump, "--find", "op:=fusion")
    assert done.stdout.splitlines()[-1] == "first after pass 5 (outer / fusion): fusion.12"
    (row,) = json.loads(run("passes", dump, "--find", "op:=fusion", "--json").stdout)
    assert row == {"index": 5, "pass": "fusion", "nodes": 1, "first": ["fusion.12"]}
    done = run("passes", dump, "--find", "op:all-reduce")
    assert done.returncode == 2 and "nothing matches 'op:all-reduce' in any of the 7 passes" in done.stderr
    done = run("passes", dump, "--find", "opp:dot")
    assert done.returncode == 2 and "did you mean op:?" in done.stderr


@pytest.mark.slow
def test_touching_takes_searches_nodes_and_parameters(run: Run, dump: Path) -> None:
    assert indexes(run, dump, "--touching", "op:tanh") == [3, 4, 5]
    assert indexes(run, dump, "--touching", "scope:layer") == [3, 4, 5]
    assert indexes(run, dump, "--touching", "fusion.12") == [3, 4, 5], "what it was before counts"
    assert indexes(run, dump, "--touching", "w") == [5], "the dot that takes it got another layout"
    done = run("passes", dump, "--touching", "tanh.99")
    assert done.returncode == 2 and "no pass has a node 'tanh.99'" in done.stderr
    done = run("passes", dump, "--touching", "scope:nowhere")
    assert done.returncode == 2 and "nothing matches 'scope:nowhere' in any of the 7 passes" in done.stderr


@pytest.mark.slow
def test_a_parameter_has_the_name_that_the_user_gave_it(run: Run, dump: Path) -> None:
    """JAX writes the path of an argument into its metadata."""
    name = """metadata={op_name="params[\\'layer_0\\'][\\'w\\']"}"""
    for file in dump.glob("module_*.txt"):
        file.write_text(file.read_text().replace("%w = f32[8,8]{1,0} parameter(1)", f"%w = f32[8,8]{{1,0}} parameter(1), {name}"))
    assert indexes(run, dump, "--touching", "params['layer_0']['w']") == indexes(run, dump, "--touching", "w") == [5]
    assert run("passes", dump, "--history", "params['layer_0']['w']").stdout.startswith("no pass changed w\n")
    done = run("passes", dump, "--touching", "params['layer_1']['w']")
    assert done.returncode == 2 and "no pass has a node" in done.stderr


@pytest.mark.slow
def test_the_text_of_a_pass_is_aligned_by_its_matches(run: Run, dump: Path) -> None:
    lines = run("diff", f"{dump}@4", "@5", "--text").stdout.splitlines()
    assert lines[0] == "fused_computation" and lines[-1] == "1 graph with 3 lines did not change"
    (fused,) = [line for line in lines if "%fusion.12 = " in line]
    before, after = fused.split(" > ")
    assert before.rstrip() == "%negate.5 = f32[8,8]{1,0} negate(%tanh.4), metadata={…}", "XLA's text, but not where it comes from"
    assert after.startswith("%fusion.12 = f32[8,8]{1,0} fusion(%dot.3), kind=kLoop")
    assert any("reduce(%[-negate.5-], %zero.6" in line and "reduce(%{+fusion.12+}, %zero.6" in line for line in lines)
    assert "  … 3 lines" in run("diff", f"{dump}@2", "@3", "--text").stdout.splitlines(), "what did not change is folded"
    assert not any(line.startswith("  … ") for line in run("diff", f"{dump}@2", "@3", "--text", "--all").stdout.splitlines())


def test_passes_that_are_far_apart_are_compared_by_the_links_between_them(dump: Path) -> None:
    difference = diff_of(load_comparison(f"{dump}@0", "@6"))
    assert difference.basis == "followed through every pass between them"
    pairs = {a[1]: b[1] for a, b in difference.pairs()}
    assert pairs["tanh.4"] == "tanh.1" and pairs["negate.5"] == "negate.1" and pairs["dot.3"] == "dot.3"
    assert [str(fusion) for fusion in difference.fusions] == ["these 2 became fusion.12: tanh.4, negate.5"]
    counts = len(difference.all_added) + difference.copied - len(difference.all_removed) - difference.merged
    assert difference.a.node_count + counts == difference.b.node_count
    again = diff_of(opscope.recording.comparison.comparison_of(difference))
    assert list(again.pairs()) == list(difference.pairs())
