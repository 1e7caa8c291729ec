"""XLA HLO text: per-pass dumps, `lowered.as_text("hlo")`, `compiled.as_text()`, XLA's own tests and benchmarks.

`parse_hlo` is the whole interface: text in, Programs out; `read` also says where their text is. `module.py` reads what surrounds
computations, `body.py` the lines that XLA prints, and `instruction.py` everything else that its grammar allows. Attributes, scopes and
source frames stay text until they are needed.
"""

from __future__ import annotations

import re

from opscope.errors import SourceError
from opscope.program import Program
from opscope.readers import Progress, Verdict
from opscope.readers.source import Source

__all__ = ["parse_hlo", "read", "sniff"]

_HEADER = re.compile(r"^[ \t]*+HloModule[ \t]++\S", re.MULTILINE)
_COMPUTATION = re.compile(r"^[ \t]*+(?:ENTRY[ \t]++)?+%?+[A-Za-z_][\w.-]*+[ \t]*+(?:\([^\n]*)?\{[ \t]*$", re.MULTILINE)
_TYPE = r"(?:\([^\n]*\)|[a-z]\w*+\[[\d,<=? ]*+\]\S*+)"
_INSTRUCTION = re.compile(rf"^[ \t]*+(?:ROOT[ \t]++)?+%?+[A-Za-z_][\w.-]*+[ \t]*+=[ \t]*+{_TYPE}[ \t]++[a-z][\w-]*+\(", re.MULTILINE)
_LIT_TEST = re.compile(r"^(?://|#) ?CHECK.*(?:HloModule|ENTRY) ", re.MULTILINE)


def sniff(source: Source) -> Verdict:
    if source.is_directory:
        return Verdict(0, "a directory")
    head = source.head_text
    if "\0" in head:
        return Verdict(0, "not text")
    if _HEADER.search(head):
        return Verdict(0.95, "has an HloModule line")
    if _INSTRUCTION.search(head):
        return Verdict(0.8 if _COMPUTATION.search(head) else 0.6, "has HLO instructions")
    if _LIT_TEST.search(head):
        return Verdict(0.7, "an XLA test with HLO in its checks")
    if ".hlo" in source.suffixes:
        return Verdict(0.3, "is named .hlo")
    return Verdict(0, "no HloModule line and no HLO instruction")


def parse_hlo(text: str, progress: Progress | None = None) -> list[Program]:
    """The modules of an HLO text. Malformed text raises SourceError with line and column, and no other exception."""
    from opscope.readers.hlo import module

    return module.parse_hlo(text, progress)


def read(source: Source, progress: Progress | None = None) -> list[Program]:
    from opscope.readers.hlo.cut_text import cut
    from opscope.readers.hlo.module import parse_with_lines
    from opscope.readers.hlo.own_lines import with_own_text

    text = source.read_text()
    short = cut(text)
    if short is not None:
        del text
        try:
            return with_own_text(parse_with_lines(short, progress), short.rest, source.read_text, short.at)
        except SourceError:  # an irregular line, which is read from the whole text, or a mistake, whose line is known there
            text = source.read_text()
    return with_own_text(parse_with_lines(text, progress), text, source.read_text)
