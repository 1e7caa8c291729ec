"""Dumps of XLA:GPU: the 21 programs of `benchmarks/memory_programs.py`, compiled on an H200."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
from support.memory_reports import check_reported

from opscope.memory.schedule import computed_memory
from opscope.memory.xla_files import find_reports, program_of

ARCHIVE = Path(__file__).parent / "gpu_dumps.tar.gz"
with tarfile.open(ARCHIVE) as _archive:
    NAMES = sorted({name.partition("/")[0] for name in _archive.getnames()})


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("dumps")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(directory, filter="data")
    return directory


@pytest.mark.parametrize("name", NAMES)
def test_bytes_are_those_of_xla_and_the_schedule_alone_gives_nearly_the_same(name: str, dumps: Path) -> None:
    reported = check_reported(dumps / name, json.loads((dumps / name / "analysis.json").read_text("utf-8")))
    (reports,) = find_reports(dumps / name)
    program = program_of(reports)
    assert program is not None
    assert abs(computed_memory(program).peak_bytes / reported.peak_bytes - 1) < 0.05


def test_there_are_twenty_programs() -> None:
    assert len(NAMES) >= 20
