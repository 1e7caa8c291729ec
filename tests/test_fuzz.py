"""A slice of `benchmarks/fuzz.py`: damaged files of every kind give a sentence or a result."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
INPUTS = 160
KINDS = ["aitemplate", "hidet", "hlo", "hlo_proto", "model_explorer", "native", "recording", "torch", "torch_trace"]
"""Those that need no framework."""


@pytest.fixture
def fuzz(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("resource", reason="fuzz.py measures memory")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("fuzz")


@pytest.mark.slow
def test_damaged_files_give_a_sentence_or_a_result(fuzz: ModuleType, tmp_path: Path) -> None:
    fuzzer = fuzz.Fuzzer(tmp_path, KINDS, seed=2026)
    fuzzer.run(INPUTS)
    assert fuzzer.state.faults == [] and fuzzer.state.next == INPUTS
    assert {outcome.split()[0] for outcome in fuzzer.state.outcomes} == set(KINDS)
    assert sum(count for outcome, count in fuzzer.state.outcomes.items() if outcome.endswith("shown")) > INPUTS // 10


def test_a_run_goes_on_where_the_last_one_stopped(fuzz: ModuleType, tmp_path: Path) -> None:
    fuzz.Fuzzer(tmp_path / "two", ["native"]).run(10)
    again = fuzz.Fuzzer(tmp_path / "two", ["native"])
    again.run(10)
    once = fuzz.Fuzzer(tmp_path / "one", ["native"])
    once.run(20)
    assert again.state.next == once.state.next == 20
    assert again.state.outcomes == once.state.outcomes and again.state.signatures == once.state.signatures


def test_an_interrupted_run_keeps_its_state(fuzz: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fuzzer = fuzz.Fuzzer(tmp_path, ["native"])
    step = fuzzer.step

    def interrupted() -> None:
        if fuzzer.state.next == 3:
            raise KeyboardInterrupt
        step()

    monkeypatch.setattr(fuzzer, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fuzzer.run(10)
    assert fuzz.Fuzzer(tmp_path, ["native"]).state.next == 3


def test_a_fault_is_counted_and_its_file_kept(fuzz: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path, draw: bool) -> str:
        raise KeyError("x")

    monkeypatch.setattr(fuzz, "follow", fail)
    fuzzer = fuzz.Fuzzer(tmp_path, ["native"])
    fuzzer.run(2)
    assert len(fuzzer.state.faults) == 2 and "KeyError" in fuzzer.state.faults[0]
    assert len(list((tmp_path / "faults").iterdir())) == 2
    assert [figure.met for figure in fuzz.figures(fuzzer.state)][:2] == [False, False]
