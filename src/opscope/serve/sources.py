"""What the server shows: sources that are read when first asked for, and read again when their file has changed."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable
from os import stat
from pathlib import Path

from opscope.analysis.enrich import enrich
from opscope.errors import OpscopeError
from opscope.program import Program
from opscope.render.wire.details import encode_details
from opscope.render.wire.program import encode_wire

Read = Callable[[], Program]


class Served:
    """One program behind the server. Threads of the server share it."""

    def __init__(self, name: str, read: Read, path: Path | None = None, program: Program | None = None) -> None:
        self.name = name
        self.path = path
        self._read = read
        self._lock = threading.Lock()
        self._program = program
        self._packed: tuple[bytes, int] | None = None
        self._stamp = self.stamp()

    @classmethod
    def of(cls, program: Program) -> Served:
        """A program that is in memory."""
        return cls(program.name, lambda: program, program=program)

    def entry(self, number: int) -> dict[str, str]:
        """How the page is told of it."""
        return {"name": self.name, "url": f"wire/{number}", "details": f"details/{number}"}

    def stamp(self) -> tuple[int, int]:
        """Changes when the file does. A file that is gone for a moment (editors do that) has not changed yet."""
        try:
            found = stat(self.path) if self.path is not None else None
        except OSError:
            return self._stamp
        return (found.st_mtime_ns, found.st_size) if found else (0, 0)

    def refresh(self) -> bool:
        """Forget what was read if the file has changed since; says whether it has."""
        stamp = self.stamp()
        if stamp == self._stamp:
            return False
        with self._lock:
            self._stamp = stamp
            self._program = self._packed = None
        return True

    def program(self) -> Program:
        with self._lock:
            if self._program is None:
                self._program = self._read()
            return self._program

    def wire(self) -> tuple[bytes, int]:
        """The compressed wire without details, which come when asked for, and its length when unpacked."""
        program = self.program()
        with self._lock:
            if self._packed is None:
                wire = encode_wire(enrich(program), details=False)
                self._packed = gzip.compress(wire, compresslevel=4, mtime=0), len(wire)
            return self._packed

    def details(self, start: int, stop: int) -> bytes:
        program = self.program()
        if not 0 <= start < stop <= max(program.node_count, start + 1) + 4096:
            raise OpscopeError(f"there are {program.node_count} nodes")
        return encode_details(program, start, min(stop, program.node_count))
