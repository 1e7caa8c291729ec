"""The questions of docs/passes.md are answered as it says, each by its one command, on real dumps."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opscope.cli import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "passes.md"
SPMD = Path(__file__).parent / "partitioned"
SECTION = PAGE.read_text().partition("## Questions\n")[2].partition("\n## ")[0]
ROWS = [row.strip("| ").split(" | ") for row in SECTION.splitlines() if row.startswith("| ") and not row.startswith("| question")]
ON_DUMPS = [(command.strip("`"), re.findall("`(.+?)`", answer)) for _, command, answer in ROWS if re.search("(dump|spmd)_dir", command)]


def test_the_page_has_questions_about_dumps() -> None:
    assert len(ON_DUMPS) == 7 and sum(len(answers) for _, answers in ON_DUMPS) == 11


@pytest.mark.slow
def test_each_command_gives_the_answer_of_the_page(
    gpu_dump: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPSCOPE_CACHE", str(tmp_path / "cache"))
    for command, answers in ON_DUMPS:
        words = command.replace("dump_dir", str(gpu_dump)).replace("spmd_dir", str(SPMD)).split()
        assert words[0] == "opscope" and main(words[1:]) == 0, command
        output = " ".join(capsys.readouterr().out.split())
        assert all(answer in output for answer in answers), (command, output)
    assert "parameter(0)" in (tmp_path / "fused.hlo").read_text()
