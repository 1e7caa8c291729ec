"""What a recording lacks, in sentences. Recording never makes the user's own run fail."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opscope.recording.recorder import Recorder


class Remarks:
    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.said: list[str] = []

    def say(self, remark: str) -> None:
        if remark not in self.said:
            self.said.append(remark)
            with suppress(Exception):  # a full disk ends the recording, not the run
                self._recorder.set(remarks=list(self.said))

    def missing(self, what: str, lost: str = "its stage is not in the recording") -> None:
        """A private function of torch that this version does not have."""
        import torch

        self.say(f"PyTorch {torch.__version__} has no {what}: {lost}")

    @contextmanager
    def safely(self, what: str) -> Iterator[None]:
        """Whatever recording trips over becomes a remark."""
        try:
            yield
        except Exception as error:
            first_line = (str(error).strip() or type(error).__name__).splitlines()[0]
            self.say(f"{what} could not be recorded: {type(error).__name__}: {first_line}")
