"""What the HLO reader makes of the sample files, as text that a person can check: types, operands, attributes, scopes, frames.

After a change that is meant, write them anew with `UPDATE_GOLDEN=1 pytest tests/readers/test_hlo_golden.py` and read the diff.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from opscope.program import Program
from opscope.readers.hlo import parse_hlo

TESTS = Path(__file__).resolve().parent.parent
SAMPLES = sorted((TESTS / "samples" / "hlo").glob("*.hlo"))


def described(program: Program) -> Iterator[str]:
    yield f"module {program.name}, entry {program.entry}"
    yield from (f"  {key} = {value}" for key, value in program.attrs.items())
    for graph in program:
        yield ""
        yield f"{graph.name}"
        yield from (f"  {key} = {value}" for key, value in graph.attrs.items())
        for node in graph:
            layouts = " ".join(output.layout for output in node.outputs if output.layout)
            yield f"  {node.role} {node}" + (f"  layout {layouts}" if layouts else "")
            if node.scope:
                yield f"      in {' / '.join(node.scope)}"
            if node.source:
                yield f"      at {', '.join(map(str, node.source))}"
        yield f"  returns {', '.join(f'{name}#{index}' for name, index in graph.outputs)}"


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_sample_reads_as_its_golden_says(sample: Path) -> None:
    golden = TESTS / "golden" / "hlo" / f"{sample.stem}.txt"
    text = "\n\n\n".join("\n".join(described(program)) for program in parse_hlo(sample.read_text())) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(text)
    assert text == golden.read_text()
