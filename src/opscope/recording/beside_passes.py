"""What a compiler wrote beside its passes, as attributes of a recording that outlives the directory: reasons, what was tuned, and the code
of kernels."""

from __future__ import annotations

from typing import Any

from opscope.recording.kernel_code import CODES, codes_json
from opscope.recording.model import Recording
from opscope.recording.reasons import AUTOTUNED, REASONS, autotunings_of, notes_of


def beside_passes(recording: Recording) -> dict[str, list[dict[str, Any]]]:
    """The attributes, without those that would be empty."""
    rows = {
        REASONS: [note.to_json() for note in notes_of(recording)],
        AUTOTUNED: [note.to_json() for note in autotunings_of(recording)],
        CODES: codes_json(recording),
    }
    return {name: each for name, each in rows.items() if each}
