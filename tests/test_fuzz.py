"""A slice of `benchmarks/fuzz.py`: damaged files of every kind give a sentence or a result."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
INPUTS = 800
KINDS = [
    "aitemplate", "fx_text", "hidet", "hlo", "hlo_proto", "kineto", "model_explorer", "native", "recording", "torch", "torch_memory",
    "torch_trace", "xla_memory", "xplane", "aitemplate_dump", "fx_texts_dump", "hidet_dump", "output_code", "snapshots_dump",
    "torch_debug_dump", "xla_dump",
]  # fmt: skip
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


def test_every_format_is_damaged(fuzz: ModuleType, tmp_path: Path) -> None:
    """A sample that is too large, or of another format, once left the reader of traces out."""
    from opscope.readers import BUILT_IN, find_reader
    from opscope.readers.source import Source
    from opscope.recording.dumps import BUILT_IN as DUMPS
    from opscope.recording.dumps import find_dump

    dumps = importlib.import_module("fuzz_dumps")
    formats = {"recording"}
    for seeds in fuzz.Fuzzer(tmp_path, KINDS).seeds.values():
        for path in seeds:
            if path.suffix == dumps.SUFFIX:
                path = dumps.Unpacked(tmp_path / "unpacked").fill(path)
            dump = find_dump(path)
            if dump is not None:
                formats.add(dump.name)
            elif path.is_file() and path.suffix not in (".assignment", ".live", ".opscope"):
                formats.add(find_reader(Source(path)).name)
    assert formats >= {row.name for row in (*BUILT_IN, *DUMPS) if row.name not in ("jax", "onnx", "mlir")}, "jax has objects only"


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
    def fail(*_: object) -> str:
        raise KeyError("x")

    monkeypatch.setattr(fuzz, "reading", fail)
    fuzzer = fuzz.Fuzzer(tmp_path, ["native"])
    fuzzer.run(2)
    assert len(fuzzer.state.faults) == 2 and "KeyError" in fuzzer.state.faults[0]
    assert len(list((tmp_path / "faults").iterdir())) == 2
    assert [figure.met for figure in fuzz.figures(fuzzer.state)][:2] == [False, False]
    fuzzer.retry()
    assert len(fuzzer.state.faults) == 2
    monkeypatch.undo()
    fuzzer.retry()
    assert not fuzzer.state.faults and len(fuzzer.state.mended) == 2


SOURCE = """
from __future__ import annotations

def sign(number: int) -> str:
    "Text."
    if number < 0:
        return "negative"
    for _ in range(number):
        try:
            return str(1 // (number - 1))
        except ZeroDivisionError:
            return "one"
    return "zero"
"""


@pytest.fixture
def covered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, ModuleType]]:
    """The blocks of a small package, and its module."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "watched_package.py").write_text(SOURCE, "utf-8")
    instrument = importlib.import_module("instrument")
    blocks = instrument.Blocks()
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    instrument.instrument("watched_package", blocks)
    yield blocks, importlib.import_module("watched_package")
    del sys.modules["watched_package"]


def test_every_branch_marks_itself(covered: tuple[Any, ModuleType]) -> None:
    blocks, module = covered
    assert len(blocks) == 6 and blocks.count == 0
    counts = []
    for number, text in ((-1, "negative"), (-2, "negative"), (0, "zero"), (1, "one"), (3, "0")):
        assert module.sign(number) == text
        counts.append(blocks.count)
    assert counts == [2, 2, 3, 6, 6]
    assert module.sign.__doc__ == "Text." and [name.split(":")[0] for name in blocks.ran()] == ["watched_package"] * 6


def test_marks_of_an_earlier_run_are_there_whenever_a_module_is_imported(covered: tuple[Any, ModuleType]) -> None:
    blocks, module = covered
    module.sign(-1)
    later = type(blocks)()
    later.resume(blocks.ran())
    assert later.ran() == blocks.ran() and later.count == 0
    for name in [*blocks.ran(), "another:1:0:body"]:
        later.add(name)
    assert later.count == 2 and len(later) == 3
    later.resume(["another:1:0:body"])
    assert later.count == 3
