"""The questions of docs/passes.md are answered as it says, each by its one command, on real dumps."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.hlo_texts import write_dump
from support.timed_dumps import timed_dump

from opscope.cli import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "passes.md"
SPMD = Path(__file__).parent / "partitioned"
SECTION = PAGE.read_text().partition("## Questions\n")[2].partition("\n## ")[0]
ROWS = [row.strip("| ").split(" | ") for row in SECTION.splitlines() if row.startswith("| ") and not row.startswith("| question")]
ON_DUMPS = [(command.strip("`"), re.findall("`(.+?)`", answer)) for _, command, answer in ROWS]


def test_the_page_has_questions_about_dumps() -> None:
    assert len(ON_DUMPS) == 11 and sum(len(answers) for _, answers in ON_DUMPS) == 16


@pytest.mark.slow
def test_each_command_gives_the_answer_of_the_page(
    gpu_dump: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPSCOPE_CACHE", str(tmp_path / "cache"))
    for name in ("dump_a", "dump_b"):
        write_dump(tmp_path / name)
    for file in (tmp_path / "dump_b").glob("*after_algsimp*"):
        file.unlink()  # a pass that is switched off dumps nothing
    for file in (tmp_path / "dump_a").glob("*.000[34].*"):
        file.write_text(next((tmp_path / "dump_a").glob("*after_algsimp*")).read_text())
    timed_dump(tmp_path / "timed_dir")
    assert main(["export", str(gpu_dump), "-o", "run.opscope"]) == 0
    places = {"spmd_dir": SPMD, "timed_dir": tmp_path / "timed_dir", "dump_dir": gpu_dump}
    for command, answers in ON_DUMPS:
        words = re.sub("|".join(places), lambda name: str(places[name[0]]), command).split()
        assert words[0] == "opscope" and main(words[1:]) == 0, command
        output = " ".join(capsys.readouterr().out.split())
        assert all(answer in output for answer in answers), (command, output)
    assert "parameter(0)" in (tmp_path / "fused.hlo").read_text()
    assert (tmp_path / "prefix.hlo").read_text().startswith("HloModule jit_loss, is_scheduled=true")
