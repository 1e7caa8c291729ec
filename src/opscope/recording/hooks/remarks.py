"""Remarks on what a recording lacks. Recording never makes the user's own run fail."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opscope.recording.recorder import Recorder


class Remarks:
    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.sentences: list[str] = []

    def add(self, sentence: str) -> None:
        if sentence not in self.sentences:
            self.sentences.append(sentence)
            with suppress(Exception):  # a full disk must end the recording, not the run
                self._recorder.set(remarks=list(self.sentences))

    @contextmanager
    def safely(self, what: str) -> Iterator[None]:
        """Turn any error inside the block into a remark."""
        try:
            yield
        except Exception as error:
            first_line = (str(error).strip() or type(error).__name__).splitlines()[0]
            self.add(f"{what} could not be recorded: {type(error).__name__}: {first_line}")
