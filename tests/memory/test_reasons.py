"""Reasons that a person has checked against the text of the program."""

from __future__ import annotations

import json

from conftest import ROOT, load_file


def test_reasons_are_those_that_a_person_found_right() -> None:
    """Drawn again, the sample has the reasons that were read, and none of them was left wrong."""
    kept = [json.loads(line) for line in (ROOT / "benchmarks" / "memory_reasons.jsonl").read_text("utf-8").splitlines()]
    drawn = list(load_file(ROOT / "benchmarks" / "memory_reasons.py").rows())
    assert len(kept) == 40 and all(row["right"] for row in kept)
    assert drawn == [{name: row[name] for name in row if name not in ("right", "note", "was_wrong")} for row in kept]
