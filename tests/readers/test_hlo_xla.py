"""opscope's HLO reader agrees with XLA's parser: the same computations, instructions and operands, in the same order."""

from __future__ import annotations

import io
import json
import re
import tarfile
from pathlib import Path

import pytest
from xla_structure import plain_structure, structure_of, xla_structure

from opscope.readers.hlo import body, parse_hlo

pytestmark = pytest.mark.frameworks

SAMPLES = Path(__file__).resolve().parent.parent / "samples" / "hlo"
NOT_FOR_XLA = {
    "several.hlo": "XLA reads one module per text",
    "tomorrow.hlo": "newer than the installed XLA",
    "pasted.hlo": "lines without a computation around them",
    "parallel.hlo": "XLA wraps custom-call-start in a separate computation",
}
READ_BY_XLA = sorted(path.name for path in SAMPLES.glob("*.hlo") if path.name not in NOT_FOR_XLA)


@pytest.mark.parametrize("name", READ_BY_XLA)
def test_own_samples_have_the_structure_that_xla_sees(name: str) -> None:
    pytest.importorskip("jaxlib", reason="XLA's parser comes with jaxlib")
    [program] = parse_hlo((SAMPLES / name).read_text())
    assert structure_of(program) == xla_structure(SAMPLES / name)


def test_async_sugar_differs_from_xla_only_in_the_wrapped_computation() -> None:
    """`custom-call-start` stays as written; everything around it is as in XLA's parser."""
    pytest.importorskip("jaxlib", reason="XLA's parser comes with jaxlib")
    [program] = parse_hlo((SAMPLES / "parallel.hlo").read_text())
    theirs = xla_structure(SAMPLES / "parallel.hlo")
    as_xla_says = {"customcallstart": "asyncstart", "customcalldone": "asyncdone"}
    ours = [[(as_xla_says.get(op, op), operands) for op, operands in graph] for graph in structure_of(program)]
    assert len(theirs) == len(ours) + 1
    assert all(graph in theirs for graph in ours)


def test_all_82_files_of_the_sample_have_the_structure_that_xla_sees(shared_data: Path) -> None:
    """The files of XLA's own tests and benchmarks, with the structure that XLA's parser found."""
    with tarfile.open(shared_data / "hlo_sample.tar.gz") as archive:
        texts = {Path(m.name).name: _text(archive, m) for m in archive.getmembers() if m.isfile()}
    truths = [json.loads(line) for line in texts["ground_truth.jsonl"].splitlines()]
    assert len(truths) == 82
    for truth in truths:
        [program] = parse_hlo(texts[truth["file"]])
        assert program.name == truth["module"], truth["file"]
        assert structure_of(program) == plain_structure([rows for _, rows in truth["comps"]]), truth["file"]


def _text(archive: tarfile.TarFile, member: tarfile.TarInfo) -> str:
    stream = archive.extractfile(member)
    assert stream is not None
    return io.TextIOWrapper(stream, "utf-8", newline="").read()


@pytest.mark.parametrize("name", sorted(path.name for path in SAMPLES.glob("*.hlo")))
def test_the_fast_and_the_careful_reader_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regular lines are read by one regular expression; read token by token, they must produce the same nodes and details."""
    text = (SAMPLES / name).read_text()
    fast = parse_hlo(text)
    never = re.compile(r"(?!)")
    monkeypatch.setattr(body, "_LINE", never)
    monkeypatch.setattr(body, "_LINES", never)
    careful = parse_hlo(text)
    assert [p.name for p in fast] == [p.name for p in careful]
    for one, other in zip(fast, careful, strict=True):
        assert dict(one.graphs) == dict(other.graphs)
