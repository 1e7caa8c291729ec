"""Two snapshots of one compilation, written as a few instructions each, and what links them."""

from __future__ import annotations

from support.hlo_texts import parse

from opscope.program import Program
from opscope.recording.diff import Diff, diff_passes

HEAD = "ENTRY %main (x: f32[8], y: f32[8]) -> f32[8] {\n  %x = f32[8]{0} parameter(0)\n  %y = f32[8]{0} parameter(1)\n"


def program(body: str, graphs: str = "") -> Program:
    """Each line of the body is an instruction of the entry, which has the parameters x and y."""
    return parse(f"HloModule m\n\n{graphs}{HEAD}" + "".join(f"  {line.strip()}\n" for line in body.strip().splitlines()) + "}\n")


def compared(before: str, after: str, graphs: str = "") -> Diff:
    return diff_passes(program(before, graphs), program(after, graphs), ids="names")


def replaced(difference: Diff) -> list[tuple[list[str], list[str]]]:
    assert {match.evidence for match in difference.replaced} <= {"slot"}
    return [([id for _, id in match.a], [id for _, id in match.b]) for match in difference.replaced]


def undecided(difference: Diff) -> list[tuple[list[str], list[str]]]:
    return [([id for _, id in match.a], [id for _, id in match.b]) for match in difference.undecided]


def links(difference: Diff) -> set[tuple[str, str]]:
    return {(a, b) for match in difference.matched for _, a in match.a for _, b in match.b}
