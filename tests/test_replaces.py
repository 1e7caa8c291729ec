"""Each step in `docs/replaces.md` has a test, and each test that is marked with a step is for one that is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).resolve().parent
PAGE = TESTS.parent / "docs" / "replaces.md"


def steps_with_a_test() -> set[str]:
    """The arguments of every `pytest.mark.step(…)`, read without importing the tests, which need frameworks."""
    calls = (
        node for path in TESTS.rglob("test_*.py") for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)
    )
    marks = (call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "step")
    return {str(argument.value) for mark in marks for argument in mark.args if isinstance(argument, ast.Constant)}


def test_every_step_has_a_test_and_every_marked_test_a_step() -> None:
    rows = re.findall(r"^\| (\d+\.\d+) \|", PAGE.read_text("utf-8"), re.M)
    assert len(rows) == len(set(rows))
    assert set(rows) == steps_with_a_test()


def test_every_step_says_what_is_better() -> None:
    rows = re.findall(r"^\| (\d+\.\d+) \|.*\| ([^|]*) \|$", PAGE.read_text("utf-8"), re.M)
    assert len(rows) > 72
    assert [step for step, difference in rows if difference in ("", "none", "the same") or len(difference) < 10] == []
