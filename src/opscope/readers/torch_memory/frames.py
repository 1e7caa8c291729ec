"""Where in a PyTorch program an allocator was called: from the stack frames of an event."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from opscope.program import BACKWARD, FORWARD, UPDATE, Frame

_OPERATION = re.compile(r"at::_ops::(\w+)::(?:call|redispatch)\b|torch::autograd::generated::(\w+Backward\d*)\b")
_BACKWARD = "torch::autograd::Engine"
_GENERATED = "/torchinductor_"
"""In the path of the code that Inductor generates."""
_PLUMBING = frozenset(["__call__", "_call_impl", "_wrapped_call_impl", "<module>", "inner", "_fn", "wrapper", "decorate_context"])


class Place:
    """The stack of an event, innermost frame first."""

    def __init__(self, frames: Sequence[Mapping[str, Any]], has_stacks: bool) -> None:
        self.frames = frames
        self.python = [frame for frame in frames if frame.keys() >= {"name", "line"} and str(frame.get("filename", "")).endswith(".py")]
        self.in_backward = any(_BACKWARD in str(frame.get("name")) for frame in frames) or (has_stacks and not frames) or self._is_applied
        """Whether autograd's own thread called, which has no Python frames, or only those of a function that it applies."""

    @property
    def _is_applied(self) -> bool:
        return bool(self.python) and self.python[-1]["name"] == "apply" and "/torch/autograd/" in _path(self.python[-1])

    def calls(self, directory: str, *functions: str) -> bool:
        """Whether a function of torch, in a file below this directory, is on the stack."""
        return any(
            f"/torch/{directory}" in str(frame["filename"]) and (not functions or frame["name"] in functions) for frame in self.python
        )

    @cached_property
    def name(self) -> str:
        """The node of an FX graph, the operation of torch or of its backward half, or the innermost Python function."""
        for frame in self.frames:
            if frame.get("fx_node_name"):
                return str(frame["fx_node_name"])
        for frame in self.frames:
            operation = _OPERATION.search(str(frame.get("name")))
            if operation:
                return operation[1] or operation[2]
        inner = next((frame for frame in self.python if frame["name"] not in _PLUMBING), None)
        if inner is not None:
            return f"{inner['name']} {_file(inner)}:{inner['line']}"
        return "backward" if self.in_backward else "unknown"

    @cached_property
    def scope(self) -> tuple[str, ...]:
        """The functions of the user's program and the modules of torch on the stack, from the outside in."""
        if not self.python:
            return ("backward",) if self.in_backward else ()
        steps = [frame for frame in reversed(self.python) if frame["name"] not in _PLUMBING]
        return tuple(f"{_file(frame)} {frame['name']}" for frame in steps if frame["name"] == "forward" or not _is_torch(frame))

    @cached_property
    def direction(self) -> str:
        """Which part of a training step called."""
        return BACKWARD if self.in_backward else UPDATE if self.calls("optim/") else FORWARD

    @cached_property
    def frame(self) -> Frame | None:
        """The innermost line of the user's program."""
        frame = next((frame for frame in self.python if not _is_torch(frame)), None)
        return None if frame is None else Frame(str(frame["filename"]), int(frame["line"]), str(frame["name"]))

    @cached_property
    def clears_gradients(self) -> bool:
        return self.calls("optim/", "zero_grad") or self.calls("nn/modules/module.py", "zero_grad")


def _path(frame: Mapping[str, Any]) -> str:
    return str(frame["filename"]).replace("\\", "/")


def _file(frame: Mapping[str, Any]) -> str:
    return "generated code" if _GENERATED in _path(frame) else _path(frame).rpartition("/")[2]


def _is_torch(frame: Mapping[str, Any]) -> bool:
    return any(part in _path(frame) for part in ("/torch/", "/site-packages/", _GENERATED))
