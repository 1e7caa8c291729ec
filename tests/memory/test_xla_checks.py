"""Reports of XLA that are truncated or do not agree are refused in one line, not counted as if they were whole."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from opscope.errors import SourceError
from opscope.memory.xla_files import find_reports, reported_memory

LIVE, ASSIGNMENT, USAGE = "live-range", "buffer-assignment", "memory-usage-report"


def texts_of(gpu_dump: Path) -> dict[str, str]:
    return {kind: next(gpu_dump.glob(f"*-{kind}.txt")).read_text("utf-8") for kind in (LIVE, ASSIGNMENT, USAGE)}


def peak_of(texts: dict[str, str], directory: Path) -> int:
    directory.mkdir(exist_ok=True)
    for kind, text in texts.items():
        (directory / f"module_0001.jit_f.gpu_after_optimizations-{kind}.txt").write_text(text, "utf-8")
    (reports,) = find_reports(directory)
    return reported_memory(reports, None).peak_bytes


def test_a_truncated_report_is_refused_wherever_it_is_cut(gpu_dump: Path, tmp_path: Path) -> None:
    texts = texts_of(gpu_dump)
    needed = {LIVE: texts[LIVE].index("  Stack trace breakdown") if "  Stack trace breakdown" in texts[LIVE] else len(texts[LIVE])}
    needed[ASSIGNMENT] = texts[ASSIGNMENT].rindex("allocation ")
    for kind, end in needed.items():
        for share in (0.05, 0.2, 0.33, 0.5, 0.7, 0.9, 0.99):
            with pytest.raises(SourceError):
                peak_of(texts | {kind: texts[kind][: int(share * end)]}, tmp_path)
    assert peak_of(texts, tmp_path) == 3_330_319
    del texts[USAGE]
    assert peak_of(texts, tmp_path / "without") == 3_330_319


def edited(pattern: str, replacement: str) -> Callable[[str], str]:
    return lambda text: re.sub(pattern, replacement, text, count=1, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("kind", "edit", "message"),
    [
        (
            LIVE,
            edited(r"\A.*\n", "HloLiveRange (max 900):\n"),
            "live-range.txt: has 165 of 900 instructions, so it is not complete; dump it",
        ),
        (LIVE, edited(r"^    while\.15\{3\}:\d+-\d+\n", ""), r"no live range for while\.15\{3\}, which the buffer assignment has"),
        (LIVE, edited(r"^(    while\.15\{3\}:\d+)-\d+$", r"\1-999"), r"while\.15\{3\} is alive from \d+ to 999, but the run has 165"),
        (LIVE, edited(r"^  Live ranges at (.|\n)*", ""), "ends before the values that are alive at the peak"),
        (
            LIVE,
            edited(r"^(    [\w.-]+\{\d*\}: )\d+( bytes)", r"\g<1>1\2"),
            r"lists 26 values of [\d,]+ bytes at its peak, and its live ranges",
        ),
        (ASSIGNMENT, edited(r" while\.15\{3\} ", " while.99{3} "), r"has no live range for while\.99\{3\}, which"),
        (
            ASSIGNMENT,
            edited(r"offset=\d+", "offset=999999999"),
            r"-assignment.txt:\d+: .* at offset 999,999,999 of allocation \d+, which has",
        ),
        (USAGE, edited(r"^Total bytes: \d+", "Total bytes: 5"), "report.txt: has a total of 5 bytes, and the allocations .* 3,330,319"),
        (USAGE, lambda _: "\x00garbled", "is not a memory usage report"),
    ],
)
def test_reports_that_do_not_agree_are_refused(kind: str, edit: Callable[[str], str], message: str, gpu_dump: Path, tmp_path: Path) -> None:
    texts = texts_of(gpu_dump)
    changed = edit(texts[kind])
    assert changed != texts[kind]
    with pytest.raises(SourceError, match=message) as error:
        peak_of(texts | {kind: changed}, tmp_path)
    assert "\n" not in str(error.value)
