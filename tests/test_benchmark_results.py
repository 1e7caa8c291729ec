"""The page of benchmark results says what the kept figures say, and a kept figure says what was measured."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("results")


def test_the_page_is_written_from_the_kept_figures(results: ModuleType) -> None:
    text = importlib.import_module("report").report()
    assert text == (BENCHMARKS / "RESULTS.md").read_text("utf-8"), "write it again: python benchmarks/report.py"


def test_a_kept_figure_knows_its_target_and_where_it_was_measured(
    results: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    values = (0.5, 0.6, float("inf"), None)
    results.keep("speed", [results.Figure("layout", value, "s", at_most=0.5) for value in values])
    results.keep("speed", [results.Figure("matched", 99.0, "%", at_least=97), results.Figure("nodes", 3)])
    lines = [json.loads(text) for text in (tmp_path / "speed.jsonl").read_text("utf-8").splitlines()]
    assert [line["met"] for line in lines] == [True, False, False, False, True, None]
    assert [line["value"] for line in lines] == [0.5, 0.6, None, None, 99.0, 3]
    assert lines[0]["target"] == "≤ 0.5" and all(line["commit"] and line["date"] and line["machine"] for line in lines)
