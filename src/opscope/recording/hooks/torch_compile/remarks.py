"""Remarks on functions that this version of torch lacks."""

from __future__ import annotations

from opscope.recording.hooks.remarks import Remarks


class TorchRemarks(Remarks):
    def missing(self, what: str, loss: str = "its stage is not recorded") -> None:
        """Add a remark that this version of torch lacks a private function."""
        import torch

        self.add(f"PyTorch {torch.__version__} has no {what}: {loss}")
