"""The programs that the server shows, read on first use and again when their file has changed."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Mapping
from os import stat
from pathlib import Path
from stat import S_ISREG

from opscope.analysis.enrich import enrich
from opscope.analysis.source_files import recorded_texts
from opscope.errors import OpscopeError
from opscope.memory.what_if import change_of
from opscope.program import Program
from opscope.recording.model import Recording
from opscope.render.wire.details import encode_details
from opscope.render.wire.memory import packed_memory, packed_what_if
from opscope.render.wire.program import encode_wire
from opscope.serve.source_files import source_answer

Read = Callable[[], Program]
_QUICKLY = 4
"""The level of compression on the way to a page of the same machine."""


def what_if(program: Program, question: str, recording: Recording | None = None) -> bytes:
    """The memory with changes that a page asks for: `{"changes": ["recompute=fusion.3"], "suggest": false}`."""
    try:
        asked = json.loads(question)
        changes, suggests = [change_of(str(text)) for text in asked["changes"]], asked["suggest"] is True
    except (ValueError, KeyError, TypeError, RecursionError):
        raise OpscopeError("the page asked for changes of the memory in a way that this server does not know; reload it") from None
    return packed_what_if(program, changes, suggests, recording)


class Served:
    """One served program. The threads of the server share it."""

    def __init__(self, name: str, read: Read, path: Path | None = None, program: Program | None = None) -> None:
        self.name = name
        self.path = path
        self._read = read
        self._lock = threading.Lock()
        self._program = program
        self._packed: tuple[bytes, int] | None = None
        self._stamp = (0, 0)
        self._stamp = self.stamp()

    @classmethod
    def of(cls, program: Program) -> Served:
        """A program that is in memory."""
        return cls(program.name, lambda: program, program=program)

    def entry(self, number: int) -> dict[str, str]:
        """Its entry in the settings of the page."""
        parts = {part: f"{part}/{number}" for part in ("details", "memory", "source")}
        return {"name": self.name, "url": f"wire/{number}", **parts}

    def stamp(self) -> tuple[int, int]:
        """Changes when the file does. While it is missing (editors delete and rewrite) or not a regular file, it counts as unchanged."""
        try:
            status = stat(self.path) if self.path is not None else None
        except OSError:
            return self._stamp
        if status is not None and not S_ISREG(status.st_mode):
            return self._stamp
        return (status.st_mtime_ns, status.st_size) if status else (0, 0)

    def refresh(self) -> bool:
        """Forget the program if its file has changed; True if it has."""
        stamp = self.stamp()
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        self.release()
        return True

    def release(self) -> None:
        """Forget the program until it is asked for again."""
        with self._lock:
            self._program = self._packed = None

    def program(self) -> Program:
        with self._lock:
            if self._program is None:
                if self.path is not None and self.path.is_fifo():  # opening it would wait for a writer, and everybody for this lock
                    raise OpscopeError(f"{self.path}: has become a pipe, which is not read again; put the file back")
                self._program = self._read()
            return self._program

    def source(self) -> Program | Recording:
        """What a file with the whole viewer contains."""
        return self.program()

    def wire(self) -> tuple[bytes, int]:
        """The compressed wire without details, which are served on demand, and its uncompressed length."""
        program = self.program()
        with self._lock:
            if self._packed is None:
                wire = encode_wire(enrich(program), details=False)
                self._packed = gzip.compress(wire, compresslevel=_QUICKLY, mtime=0), len(wire)
            return self._packed

    def memory(self, question: str | None = None) -> bytes:
        """The compressed memory of the program, found when somebody first looks at it; with a question, the answer (see `what_if`)."""
        program = self.program()
        with self._lock:
            return packed_memory(program, level=_QUICKLY) if question is None else what_if(program, question)

    def source_file(self, query: Mapping[str, str]) -> bytes:
        """The text of a file that a node comes from."""
        program = self.program()
        return source_answer(program, query, recorded_texts(program.attrs), self._stamp[0] / 1e9 if self.path is not None else None)

    def details(self, start: int, stop: int) -> bytes:
        program = self.program()
        if not 0 <= start < stop <= max(program.node_count, start + 1) + 4096:
            raise OpscopeError(f"no nodes {start} to {stop}; the program has {program.node_count}")
        return encode_details(enrich(program), start, min(stop, program.node_count))
