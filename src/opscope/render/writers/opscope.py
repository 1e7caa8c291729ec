"""A recording as a file, including the comparisons of its passes, so that it opens quickly."""

from __future__ import annotations

from collections import deque
from pathlib import Path

from opscope.plugin import Progress
from opscope.recording.beside_passes import beside_passes
from opscope.recording.model import Recording
from opscope.recording.store.store import open_store, save_recording
from opscope.render.wire.compare_passes import compared
from opscope.view_options import ViewOptions


def write(recordings: list[Recording], target: Path, options: ViewOptions, progress: Progress | None = None) -> None:
    (recording,) = recordings
    save_recording(recording, target, attrs=beside_passes(recording))
    deque(compared(open_store(target), progress), maxlen=0)
