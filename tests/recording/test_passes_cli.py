"""`opscope passes` and `opscope diff`, run as commands."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from pathlib import Path

import pytest
from browser.recordings import record_toy
from conftest import Corpus, Run
from support.hlo_texts import AFTER, BEFORE, parse, write_dump

import opscope
from opscope.recording.sources import open_passes, open_recording


@pytest.mark.slow
def test_passes_prints_a_row_for_each_change(run: Run, tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "dump")
    done = run("passes", dump)
    assert done.returncode == 0 and done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0] == "module_0007.jit_step"
    assert [line.split()[0] for line in lines[2:6]] == ["0", "3", "4", "5"]
    assert lines[1].split()[:2] == ["#", "file"]
    assert [line.split()[1] for line in lines[3:6]] == ["0002", "0003", "0004"], "XLA's own numbers"
    assert "fusion" in lines[5] and "+2" in lines[5]
    assert "7 passes, 3 changed (3 changed nothing; --all lists them)" in done.stdout, "the first is the initial program"
    assert "2 files skipped" in done.stdout
    assert len(run("passes", dump, "--all").stdout.splitlines()) == len(lines) + 3


@pytest.mark.slow
def test_as_many_passes_changed_something_as_the_timeline_says(run: Run, tmp_path: Path) -> None:
    """`browser/test_timeline.py` reads the same counts of the same recording off the page."""
    assert "9 passes, 4 changed (4 changed nothing;" in run("passes", record_toy(tmp_path / "toy.opscope")).stdout


@pytest.mark.slow
def test_listed_and_hidden_passes_add_up(run: Run) -> None:
    """A pass that only reorders is listed, so it is not one that changed nothing."""
    listed = [line for line in run("passes", "demo:passes").stdout.splitlines() if line[:2].strip().isdigit() and " passes, " not in line]
    assert listed[-1].endswith("reordered")
    counts = f"50 passes, {len(listed) - 1} changed ({50 - len(listed)} changed nothing; --all lists them)"
    assert counts in run("passes", "demo:passes").stdout, "the initial program is listed, too"


@pytest.mark.slow
def test_passes_by_time_are_those_with_seconds_and_the_slowest_first(run: Run, tmp_path: Path) -> None:
    program = parse(BEFORE)
    with opscope.record(tmp_path / "run.opscope") as rec:
        rec.snapshot(program, "as written")
        for name, seconds in (("quick", 0.25), ("slow", 2.5), ("middle", 0.75)):
            rec.snapshot(program, name, seconds=seconds)
    lines = run("passes", "run.opscope", "--sort", "time").stdout.splitlines()
    assert [line.split()[1] for line in lines[1:4]] == ["slow", "middle", "quick"], "also those that changed nothing"
    rows = json.loads(run("passes", "run.opscope", "--sort", "time", "--json").stdout)
    assert [(row["pass"], row["seconds"]) for row in rows] == [("slow", 2.5), ("middle", 0.75), ("quick", 0.25)]
    done = run("passes", write_dump(tmp_path / "dump"), "--sort", "time")
    assert done.returncode == 2 and "no pass has its seconds" in done.stderr


@pytest.mark.slow
def test_an_empty_recording_says_so_and_what_would_help(run: Run, tmp_path: Path) -> None:
    """Eager code, and code compiled earlier, runs no compiler; an empty table would hide that."""
    with opscope.record(tmp_path / "empty.opscope"):
        pass
    done = run("passes", tmp_path / "empty.opscope")
    assert done.returncode == 0 and re.fullmatch(r"nothing was recorded: .*rec\.torch\(.*torch\._dynamo\.reset\(\).*\n", done.stdout)
    assert "nothing was recorded" in run("info", tmp_path / "empty.opscope").stderr


@pytest.mark.slow
def test_passes_json_follows_the_contract(run: Run, tmp_path: Path) -> None:
    rows = json.loads(run("passes", write_dump(tmp_path / "dump"), "--json").stdout)
    assert len(rows) == 7
    assert set(rows[0]) >= {"index", "pipeline", "pass", "seconds", "nodes", "added", "removed", "changed"}
    assert rows[3]["file"] == "module_0007.jit_step.0002.inner.after_algsimp.before_pipeline-end.txt"
    assert (rows[3]["pipeline"], rows[3]["pass"], rows[3]["changed"]) == ("outer / inner", "algsimp", 1)


@pytest.mark.slow
def test_a_dump_becomes_a_recording_and_its_passes_are_sources(run: Run, tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "dump")
    assert run("export", dump, "-o", "run.opscope").returncode == 0
    assert run("passes", "run.opscope", "--json").stdout == run("passes", dump, "--json").stdout
    assert "jit_step" in run("info", "run.opscope@4").stdout
    again = run("export", dump, "-o", "run.opscope")
    assert again.returncode == 2 and "already exists" in again.stderr


@pytest.mark.slow
def test_diff_of_two_files_and_of_two_passes(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BEFORE)
    (tmp_path / "b.txt").write_text(AFTER)
    dump = write_dump(tmp_path / "dump")
    files, passes = run("diff", "a.txt", "b.txt", "--json"), run("diff", f"{dump}@4", "@5", "--json")
    assert files.returncode == passes.returncode == 0
    assert json.loads(files.stdout) == json.loads(passes.stdout)
    text = run("diff", "a.txt", "b.txt").stdout
    assert "these 2 became fusion.12: tanh.4, negate.5" in text
    assert "+ fusion.12: f32[8, 8] = fusion(dot.3)  in main.9" in text
    assert "type f32[8, 8]{1,0} → f32[8, 8]{0,1}" in text
    by_structure = json.loads(run("diff", "a.txt", "b.txt", "--no-match-by-name", "--json").stdout)
    assert "name" not in {match["evidence"] for match in by_structure["matched"]}


@pytest.mark.slow
def test_diff_says_whether_it_matched_by_name(run: Run, tmp_path: Path) -> None:
    """Names of two compilations are ignored if they contradict each other, recorded or not; names of one compilation are used."""
    before, after = (_chain(names) for names in ("abcdef", "bcdefa"))
    for directory, text in (("one", before), ("two", after)):
        (tmp_path / directory).mkdir()
        for step in ("before_optimizations", "0001.inner.after_dce.before_cse", "cpu_after_optimizations"):
            (tmp_path / directory / f"module_0007.jit_step.{step}.txt").write_text(after if step.startswith("cpu") else text)
    (tmp_path / "a.txt").write_text(before)
    (tmp_path / "b.txt").write_text(after)
    for pair in (("a.txt", "b.txt"), ("one@1", "two@1")):
        output = run("diff", *pair).stdout
        assert output.startswith("+0 added, −0 removed, ~0 changed, 0 moved\nmatched by structure, names ignored; by name there would be ")
        assert json.loads(run("diff", *pair, "--json").stdout)["names"] == "ignored"
        assert "\nmatched by name\n" in run("diff", *pair, "--match-by-name").stdout
    recorded = json.loads(run("diff", "one@1", "@2", "--json").stdout)
    assert recorded["names"] == "used" and any(match["changed"] for match in recorded["matched"])


def _chain(names: str) -> str:
    """A chain of nodes, each in its own scope."""
    lines = ["  %x = f32[8]{0} parameter(0)"]
    for i, (operand, name) in enumerate(zip("x" + names, names, strict=False)):
        root = "ROOT " if i == len(names) - 1 else ""
        lines.append(f'  {root}%{name} = f32[8]{{0}} tanh(%{operand}), metadata={{op_name="jit(step)/layer_{i}/tanh"}}')
    return "HloModule jit_step\n\nENTRY %main (x: f32[8]) -> f32[8] {\n" + "\n".join(lines) + "\n}\n"


@pytest.mark.slow
def test_lines_of_a_diff_name_outputs_values_and_parameters(run: Run, tmp_path: Path) -> None:
    """Two outputs of one node, two constants and two parameters are distinguishable without opening the program."""
    (tmp_path / "a.txt").write_text(_pair("multiply"))
    (tmp_path / "b.txt").write_text(_pair("add", "  %two = f32[] constant(2)\n"))
    text = run("diff", "a.txt", "b.txt").stdout
    assert "+ two: f32[] = constant(2)  in main" in text
    text = run("diff", "b.txt", "a.txt").stdout
    assert "− two: f32[] = constant(2)  in main" in text
    (tmp_path / "c.txt").write_text(_pair("multiply", "  %q = f32[] parameter(1)\n  %n = f32[] get-tuple-element(%p), index=2\n"))
    text = run("diff", "a.txt", "c.txt").stdout
    assert "+ q: f32[] = parameter(1)  in main" in text
    assert "+ n: f32[] = get-tuple-element(p#2)  in main" in text


@pytest.mark.slow
def test_a_diff_says_how_many_operations_its_costs_leave_out(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(_pair("multiply", '  %c = f32[] custom-call(%p), custom_call_target="mystery"\n'))
    (tmp_path / "b.txt").write_text(_pair("multiply"))
    assert re.search(r"^without +1 of unknown cost$", run("diff", "a.txt", "b.txt").stdout, re.M)
    assert re.search(r"^without +1 of unknown cost$", run("diff", "b.txt", "a.txt").stdout, re.M)
    assert "unknown" not in run("diff", "b.txt", "b.txt").stdout


def _pair(op: str, more: str = "") -> str:
    return (
        "HloModule pair\n\nENTRY %main (p: (f32[], f32[], f32[])) -> f32[] {\n"
        "  %p = (f32[], f32[], f32[]) parameter(0)\n"
        "  %get-tuple-element.0 = f32[] get-tuple-element(%p), index=0\n  %get-tuple-element.1 = f32[] get-tuple-element(%p), index=1\n"
        f"{more}  ROOT %r = f32[] {op}(%get-tuple-element.0, %get-tuple-element.1)\n}}\n"
    )


@pytest.mark.slow
def test_mistakes_are_one_line_and_exit_2(run: Run, tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "dump")
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.opscope").write_text("notes")
    for args, message in (
        (("passes", "nothing"), "no such file"),
        (("passes", "note.opscope"), "no such file; did you mean 'notes.opscope'?"),
        (("passes", "empty"), "contains no compiler passes"),
        (("passes", "notes.opscope"), "is not an opscope recording"),
        (("passes", dump, "--module", "x"), "no module named 'x'; there are: module_0007.jit_step"),
        (("diff", f"{dump}@4", "@5", "--module", "x"), "no module named 'x'; there are: module_0007.jit_step"),
        (("diff", f"{dump}@99", "@1"), "no pass 99"),
        (("diff", f"{dump}@pipeline-start", "@1"), "ran 2 times; choose one of [1, 2]"),
        (("diff", f"{dump}@after_fusion", "@1"), "no pass 'after_fusion'; did you mean fusion?"),
        (("diff", f"{dump}@zzzz", "@1"), "no pass 'zzzz'; `opscope passes --all` lists all 7"),
    ):
        done = run(*args)
        assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1, (args, done.stderr)


def page_data(page: Path) -> bytes:
    packed = re.search(r'id="opscope-data-0">([^<]*)</script>', page.read_text(encoding="utf-8"))
    assert packed is not None
    return gzip.decompress(b64decode(packed[1]))


@pytest.mark.slow
def test_every_command_accepts_both_names_of_a_module(run: Run, tmp_path: Path) -> None:
    """XLA names the file module_0042.jit_step and the program jit_step: both work, and the timeline stays."""
    with opscope.record(tmp_path / "run.opscope") as rec:
        for module, texts in (("module_0007.jit_other", [BEFORE]), ("module_0042.jit_step", [BEFORE, AFTER])):
            for i, text in enumerate(texts):
                (tmp_path / "one.hlo").write_text(text)
                rec.snapshot(opscope.load(tmp_path / "one.hlo"), f"pass {i}", module=module)
    for name in ("jit_step", "module_0042.jit_step"):
        rows = json.loads(run("passes", "run.opscope", "--module", name, "--json").stdout)
        assert [row["module"] for row in rows] == ["module_0042.jit_step"] * 2, name
        assert run("diff", "run.opscope@pass 0", "@pass 1", "--module", name).returncode == 0
        assert "fusion" in run("info", "run.opscope", "--module", name).stdout, name
        assert run("export", "run.opscope", "-o", f"{name}.opscope", "--module", name).returncode == 0
        assert len(open_recording(tmp_path / f"{name}.opscope")) == 2
        assert run("export", "run.opscope", "-o", f"{name}.html", "--module", name).returncode == 0
        data = page_data(tmp_path / f"{name}.html")
        assert b"pass 0" in data and b"pass 1" in data and b"jit_other" not in data, "the page keeps the timeline of that module"
    wrong = run("diff", "run.opscope@0", "@2", "--module", "jit_step")
    assert wrong.returncode == 2 and "pass 0 belongs to module 'module_0007.jit_other'" in wrong.stderr


@pytest.mark.parametrize(("name", "first"), [("hidet_passes", "0_Origin.json"), ("aitemplate_doc_passes", "00-*_graph.json")])
def test_one_pass_of_other_compilers_is_read_alone(name: str, first: str, corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    dump = min(corpus(name).rglob(first)).parent
    whole = open_recording(dump)
    monkeypatch.setattr("opscope.recording.sources.open_recording", None)
    lazy = open_passes(dump)
    assert [s.name for s in lazy] == [s.name for s in whole]
    assert lazy[3].program == whole[3].program and lazy.attrs["ids"] == whole.attrs["ids"]
