"""Source frames: from the module's FileNames, FunctionNames, FileLocations and StackFrames tables, or from inline metadata."""

from __future__ import annotations

import re
from collections.abc import Mapping

from opscope.limits import MOST_FRAMES
from opscope.program import Frame, line_number, whole_number
from opscope.readers.hlo.lexing import expected, group_end, skip, string_end, unquote

TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")
_NUMBER = re.compile(r"[0-9]{1,9}(?![0-9])")
_FIELD = re.compile(r"\b(\w++)\s*+=\s*+([0-9]{1,9})(?![0-9])")
_MORE = Frame("…", 0, f"more than {MOST_FRAMES} frames")
"""At the end of a stack that goes on."""


class FrameTables:
    """The four tables as text. Stacks are assembled on demand and cached."""

    def __init__(self) -> None:
        self._tables: dict[str, dict[int, str]] = {name: {} for name in TABLES}
        self._frames: dict[int, tuple[Frame, int, str]] = {}
        """Each frame with the id of its caller, and its columns."""
        self._stacks: dict[int, tuple[Frame, ...]] = {}

    def read(self, text: str, pos: int, name: str) -> int:
        """Rows `1 "file.py"` or `1 {line=3 …}` from here."""
        rows = self._tables[name]
        while True:
            pos = skip(text, pos)
            number = _NUMBER.match(text, pos)
            if not number:
                return pos
            start = skip(text, number.end())
            if text.startswith("{", start):
                pos = group_end(text, start)
            elif text.startswith(('"', "'"), start):
                pos = string_end(text, start)
            else:
                raise expected(text, start, f"a row of {name} like {_EXAMPLES[name]}")
            rows[int(number[0])] = text[start:pos]

    def stack(self, frame_id: int) -> tuple[Frame, ...]:
        """The frames of a stack_frame_id, innermost first."""
        cached = self._stacks.get(frame_id)
        if cached is not None:
            return cached
        frames: list[Frame] = []
        visited: set[int] = set()
        at = frame_id
        while at and at not in visited and at in self._tables["StackFrames"]:
            if len(frames) == MOST_FRAMES:
                frames.append(_MORE)
                break
            visited.add(at)
            frame, at, _ = self._frame(at)
            frames.append(frame)
        stack = tuple(frames)
        self._stacks[frame_id] = stack
        return stack

    def columns(self, frame_id: int) -> tuple[str, ...]:
        """Those of the frames of a stack_frame_id."""
        columns = []
        for _ in self.stack(frame_id):
            _, frame_id, place = self._frame(frame_id)
            columns.append(place)
        return tuple(columns) if any(columns) else ()

    def _frame(self, frame_id: int) -> tuple[Frame, int, str]:
        cached = self._frames.get(frame_id)
        if cached is None:
            row = self._fields("StackFrames", frame_id)
            location = self._fields("FileLocations", row.get("file_location_id", 0))
            file = self._name("FileNames", location.get("file_name_id", 0))
            function = self._name("FunctionNames", location.get("function_name_id", 0))
            caller = row.get("parent_frame_id", 1) - 1  # XLA prints the parent's id plus one: a root has 1
            columns = "-".join(str(location[each]) for each in ("column", "end_line", "end_column") if each in location)
            cached = self._frames[frame_id] = Frame(file, location.get("line", 0), function), caller, columns
        return cached

    def _fields(self, table: str, row: int) -> dict[str, int]:
        return {key: int(value) for key, value in _FIELD.findall(self._tables[table].get(row, ""))}

    def _name(self, table: str, row: int) -> str:
        return unquote(self._tables[table].get(row, ""))


_EXAMPLES = {
    "FileNames": '1 "model.py"',
    "FunctionNames": '1 "forward"',
    "FileLocations": "1 {file_name_id=1 function_name_id=1 line=3}",
    "StackFrames": "1 {file_location_id=1}",
}


def frames_of(metadata: Mapping[str, str], tables: FrameTables) -> tuple[Frame, ...]:
    """A node's frames: its stack if the module has one, otherwise the one line named in the metadata."""
    number = metadata.get("metadata.stack_frame_id", "")
    stack = tables.stack(whole_number(number) or 0)
    file = metadata.get("metadata.source_file", "")
    if stack or not file:
        return stack
    line = metadata.get("metadata.source_line", "")
    return (Frame(file, line_number(line)),)
