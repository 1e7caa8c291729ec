"""The programs of a recording as pages fetch them. A search in all passes asks for every one of them, and the next search again."""

from __future__ import annotations

import gzip
import threading
from collections import OrderedDict

from opscope.recording.model import Recording
from opscope.render.wire.program import encode_wire
from opscope.render.wire.recording import shown_program

MOST_CACHED_BYTES = 64 << 20


class PackedPrograms:
    """The programs after the passes of one recording, packed. The latest are cached, by content."""

    def __init__(self, recording: Recording, reading: threading.Lock) -> None:
        self._recording = recording
        self._reading = reading
        self._cache: OrderedDict[int, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def after(self, position: int) -> bytes:
        """Encodes outside the locks: other requests go on meanwhile."""
        snapshot = self._recording[position]
        with self._lock:
            if snapshot.content in self._cache:
                self._cache.move_to_end(snapshot.content)
                return self._cache[snapshot.content]
        with self._reading:
            program = snapshot.program
        packed = gzip.compress(encode_wire(shown_program(self._recording, program), details=False), 4, mtime=0)
        with self._lock:
            self._cache[snapshot.content] = packed
            while len(self._cache) > 1 and sum(map(len, self._cache.values())) > MOST_CACHED_BYTES:
                self._cache.popitem(last=False)
        return packed
