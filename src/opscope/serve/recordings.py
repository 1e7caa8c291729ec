"""A served recording: the list of passes at once, their programs and diffs on demand.

Comparing passes takes longer than reading them. A thread starts with the first request, so that the timeline fills in while the user is
already looking at it.
"""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from os import stat
from pathlib import Path

from opscope.analysis.roofline import estimated_for
from opscope.analysis.source_files import recorded_texts
from opscope.errors import OpscopeError, error_line
from opscope.memory.pass_peaks import PassPeak, pass_peaks
from opscope.program import Program
from opscope.recording.kernel_code import CodeFiles, code_json
from opscope.recording.model import NOTHING_RECORDED, Recording, Snapshot
from opscope.recording.pass_costs import pass_costs
from opscope.recording.reasons import notes_json
from opscope.recording.rows import Row
from opscope.recording.store.comparison_cache import Comparison
from opscope.recording.store.store import open_store
from opscope.render.wire.compare_passes import compare, compared
from opscope.render.wire.details import encode_details
from opscope.render.wire.memory import packed_memory
from opscope.render.wire.recording import pass_rows
from opscope.serve.packed_programs import PackedPrograms
from opscope.serve.source_files import source_answer
from opscope.serve.sources import Served, what_if
from opscope.terminal import say

JSON, BYTES = "application/json", "application/octet-stream"


class ServedRecording(Served):
    """A recording, as `opscope view run.opscope` serves it."""

    def __init__(self, name: str, read: Callable[[], Recording], recording: Recording, path: Path | None = None) -> None:
        super().__init__(name, lambda: self.recording.snapshot(-1).program, path)
        self._reread = read
        self._use(recording)

    def _use(self, recording: Recording) -> None:
        if not len(recording):
            raise OpscopeError(f"{recording.name}: {NOTHING_RECORDED}")
        self._reading = threading.Lock()
        self.recording = recording
        self._rows: list[Row | None] = [None] * len(recording)
        self._peaks: Mapping[int, PassPeak] = {}
        self._programs = PackedPrograms(recording, self._reading)
        self._diffs: dict[int, bytes] = {}
        self._seconds: dict[int, float] = {}
        self._code_files: CodeFiles | None = None
        self._comparing: threading.Thread | None = None

    def entry(self, number: int) -> dict[str, str]:
        return {"name": self.name, "recording": f"recording/{number}"}

    def refresh(self) -> bool:
        if self._wrote_it_ourselves():
            self._stamp = self.stamp()
        if not super().refresh():
            return False
        self._use(self._reread())
        return True

    def _wrote_it_ourselves(self) -> bool:
        """Whether the file changed because comparisons of a finished recording are stored in it."""
        return "finished" in self.recording.attrs and self._comparing is not None and self._comparing.is_alive()

    def source(self) -> Recording:
        """Read anew: the thread that compares passes uses the other one."""
        return self._reread()

    def program(self) -> Program:
        with self._reading:
            return self.recording.snapshot(-1).program

    def program_after(self, pass_: int) -> Program:
        """The program after a pass, which requests name by its position."""
        with self._reading:
            program: Program = self.recording[pass_].program
            return program

    def answer(self, what: str, pass_: int, query: Mapping[str, str]) -> tuple[bytes, str]:
        """The body and media type of a request under /recording/NUMBER/."""
        if what in ("passes", "peaks"):
            self._compare()
            if what == "peaks" and not self._peaks:
                self._peaks = self._found_peaks(self.recording)
            rows = pass_rows(self.recording, self._rows, self._seconds, self._peaks)
            return json.dumps({"name": self.name, "passes": rows}).encode(), JSON
        if what == "code":
            files = self._code_files = self._code_files or CodeFiles(self.recording)
            codes = files.of(self.recording[pass_].module, query["node"]) if 0 <= pass_ < len(self.recording) else ()
            return json.dumps([code_json(code) for code in codes]).encode(), JSON
        if what == "reasons":
            return json.dumps(notes_json(self.recording)).encode(), JSON
        if not 0 <= pass_ < len(self.recording):
            raise OpscopeError(f"no pass {pass_}; the recording has {len(self.recording)}")
        snapshot = self.recording.snapshots[pass_]
        if what == "diff":
            return gzip.compress(self._diff(snapshot), 4, mtime=0), BYTES
        if what == "wire":
            return self._programs.after(pass_), BYTES
        program = self.program_after(pass_)
        if what == "details":
            start, stop = int(query["start"]), min(int(query["stop"]), program.node_count)
            return gzip.compress(encode_details(program, start, stop), 4, mtime=0), BYTES
        if what == "source":
            written = self.recording.file or Path(self.recording.name)
            when = stat(written).st_mtime if written.exists() else None
            return source_answer(program, query, recorded_texts(self.recording.attrs), when), JSON
        if what == "memory":
            question = query.get("what-if")
            answer = packed_memory(program, self.recording, 4) if question is None else what_if(program, question, self.recording)
            return answer, BYTES
        raise KeyError(what)

    def _found_peaks(self, recording: Recording) -> Mapping[int, PassPeak]:
        """The peak after each pass, which takes as long as comparing them. Of a file, another opening is read: threads share this one."""
        if recording.file is not None:
            return pass_peaks(copy := open_store(recording.file), copy)
        with self._reading:
            return pass_peaks(recording, recording)

    def _compare(self) -> None:
        if self._comparing is None:
            self._comparing = threading.Thread(target=self._compare_all, args=(self._rows, self.recording), daemon=True)
            self._comparing.start()

    def _compare_all(self, rows: list[Row | None], recording: Recording) -> None:
        """What the thread does. Python would print the traceback of an error in it, with the names of the file as they are."""
        try:
            self._compare_each(rows, recording)
        except Exception as error:
            say(error_line(error), err=True)

    def _compare_each(self, rows: list[Row | None], recording: Recording) -> None:
        if recording.file is None:
            for snapshot in recording:
                if rows is self._rows:
                    self._diff(snapshot)
            return
        for snapshot, comparison in zip(recording, compared(open_store(recording.file)), strict=True):
            with self._reading:
                if rows is not self._rows:
                    return
                self._take(snapshot, comparison)
                self._stamp = self.stamp()

    def _diff(self, snapshot: Snapshot) -> bytes:
        """Empty if there is nothing to compare with. Passes that only rename or reorder have one, because node numbers change."""
        with self._reading:
            if snapshot.index not in self._diffs:
                self._take(snapshot, compare(self.recording, snapshot))
            return self._diffs[snapshot.index]

    def _take(self, snapshot: Snapshot, comparison: Comparison) -> None:
        self._diffs[snapshot.index] = comparison.diff
        device = estimated_for(self.recording.attrs)
        if device is not None and snapshot.content not in self._seconds:
            self._seconds[snapshot.content] = pass_costs([snapshot], device)[snapshot.index].estimated_seconds or 0.0
        self._rows[self.recording.position(snapshot)] = Row(snapshot, *comparison.counts)


class ServedComparison(ServedRecording):
    """Two programs, compared again when one of their files changes."""

    def __init__(self, name: str, read: Callable[[], Recording], recording: Recording, files: Sequence[Path]) -> None:
        self._files = files
        super().__init__(name, read, recording)

    def stamp(self) -> tuple[int, int]:
        """Changes when one of the files does; while one is missing, it counts as unchanged."""
        try:
            statuses = [stat(file) for file in self._files]
        except OSError:
            return self._stamp
        return sum(status.st_mtime_ns for status in statuses), sum(status.st_size for status in statuses)
