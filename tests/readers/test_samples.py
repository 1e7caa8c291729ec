"""Every reader with every sample file, four ways: golden, JSON round trip, unknown suffix, damage."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.check_reader import check_reader

from opscope.readers import BUILT_IN

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
NEEDS = {"onnx": "onnx", "mlir": "jaxlib"}
FILES = [path for row in BUILT_IN for path in sorted((SAMPLES / row.name.replace("-", "_")).glob("*")) if path.suffix in row.suffixes]


def marked(path: Path) -> object:
    return pytest.param(path, marks=[pytest.mark.frameworks] if path.parent.name in NEEDS else [], id=f"{path.parent.name}-{path.stem}")


@pytest.mark.parametrize("sample", [marked(path) for path in FILES])
def test_a_sample_matches_its_golden_and_survives_damage(sample: Path, tmp_path: Path) -> None:
    if sample.parent.name in NEEDS:
        pytest.importorskip(NEEDS[sample.parent.name])
    check_reader(sample, tmp_path)


def test_every_reader_of_files_has_a_sample() -> None:
    assert {row.name.replace("-", "_") for row in BUILT_IN if row.suffixes} == {path.parent.name for path in FILES}
