"""Remarks on what a recording lacks. Recording never makes the user's own run fail."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opscope.recording.recorder import Recorder


class Remarks:
    def __init__(self, recorder: Recorder) -> None:
        self.add = recorder.remark

    @contextmanager
    def safely(self, what: str) -> Iterator[None]:
        """Turn any error inside the block into a remark."""
        try:
            yield
        except Exception as error:
            first_line = (str(error).strip() or type(error).__name__).splitlines()[0]
            self.add(f"{what} could not be recorded: {type(error).__name__}: {first_line}")
