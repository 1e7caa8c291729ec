"""Dynamo's names and reasons in the user's words, of a running compilation or of a log."""

from __future__ import annotations

import re

_RESUMED = re.compile(r"torch_dynamo_resume_in_(?P<function>.+)_at_(?P<line>\d+)$")
_JUMP = "generic_jump"
_EXPLANATION = "Explanation: "
_PLACE = re.compile(r"^Graph break in user code at (?P<place>.+:\d+)$", re.M)
_LOGGED = "Graph Break Reason: "


def function_title(name: str) -> str:
    """ "Net.forward from line 14" for the rest of a function after a graph break, which Dynamo compiles as
    `Net.torch_dynamo_resume_in_forward_at_14`."""
    owner, dot, last = name.rpartition(".")
    match = _RESUMED.match(last)
    return name if match is None else f"{owner}{dot}{match['function']} from line {match['line']}"


def break_reason(text: str) -> str:
    """Why a graph ended, in one line: Dynamo's first line, and its explanation if it has one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return "no reason given"
    first = "Data-dependent branching" if lines[0].startswith(_JUMP) else lines[0]
    explanation = next((line.removeprefix(_EXPLANATION) for line in lines if line.startswith(_EXPLANATION)), "")
    return f"{first}: {explanation}" if explanation else first


def logged_break(payload: str) -> tuple[str, str]:
    """The place of a graph break ("model.py:8") and why, from a record of a log."""
    place = _PLACE.search(payload)
    reason = payload.partition(_LOGGED)[2] or payload
    if reason.startswith("Encountered graph break when attempting to trace"):
        reason = reason.partition("\n")[2]
    return (place["place"] if place else ""), break_reason(reason)


def break_remark(place: str, reason: str) -> str:
    return f"graph break at {place}: {reason}" if place else f"graph break: {reason}"
