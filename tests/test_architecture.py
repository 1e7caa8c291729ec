"""ARCHITECTURE.md lists the way from a file to a picture: short, in the order of the calls, and of functions that exist."""

from __future__ import annotations

import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType

import pytest

from opscope.cli import main

ROOT = Path(__file__).resolve().parent.parent
PYTHON, TYPESCRIPT = ROOT / "src" / "opscope", ROOT / "web" / "src"
MOST = 30
HOP = re.compile(r"^(\d+)\. `([\w.]+)` \(`([\w./]+)`\)", re.MULTILINE)


def hops() -> list[tuple[str, str]]:
    """The functions of the list, and their files."""
    rows = HOP.findall((ROOT / "ARCHITECTURE.md").read_text("utf-8"))
    assert [int(number) for number, _, _ in rows] == list(range(1, len(rows) + 1))
    return [(function, file) for _, function, file in rows]


def test_the_way_from_a_file_to_a_picture_is_short() -> None:
    assert 20 <= len(hops()) <= MOST


@pytest.mark.slow
def test_the_python_half_is_what_export_calls_in_this_order(tmp_path: Path) -> None:
    called: dict[tuple[str, str], None] = {}

    def watch(frame: FrameType, event: str, _: object) -> None:
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(PYTHON):
            called.setdefault((frame.f_code.co_qualname, str(file.relative_to(PYTHON))), None)

    def export() -> int:
        sys.setprofile(watch)
        return main(["export", str(ROOT / "tests" / "samples" / "hlo" / "step_short.hlo"), "-o", str(tmp_path / "step.svg")])

    # A thread of its own, whose calls nothing else has watched: late in one run of the whole suite, the first call was not reported.
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(export).result() == 0
    listed = [hop for hop in hops() if hop[1].endswith(".py")]
    order = list(called)
    places = [order.index(hop) for hop in listed]
    assert places == sorted(places), "the list is in the order of the first calls"


def test_the_typescript_half_exists() -> None:
    listed = [hop for hop in hops() if hop[1].endswith(".ts")]
    assert len(listed) > 10
    for function, file in listed:
        assert re.search(rf"^(export )?function {function}\b", (TYPESCRIPT / file).read_text("utf-8"), re.MULTILINE), (function, file)
