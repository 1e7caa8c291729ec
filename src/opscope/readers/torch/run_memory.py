"""How much memory a run takes, by what PyTorch's allocators report to its profiler. Their own statistics stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from opscope.profile.peak import MeasuredPeak

_DEVICES = ("cpu", "cuda")
"""Whose allocators the profiler listens to."""


def peak_of(run: Callable[[], Any], arguments: Iterable[Any]) -> MeasuredPeak:
    """The most bytes in use during a run: its arguments, and what it allocates. What else is in memory is not counted."""
    import torch

    tensors = [value for value in arguments if isinstance(value, torch.Tensor)]
    devices = sorted({tensor.device.type for tensor in tensors} or {"cpu"})
    if len(devices) > 1:
        return MeasuredPeak(None, f"it runs on several devices, {' and '.join(devices)}")
    if devices[0] not in _DEVICES:
        return MeasuredPeak(None, f"PyTorch's profiler does not see the memory of {devices[0]}")
    try:
        from torch.autograd import ProfilerConfig, ProfilerState, _disable_profiler_legacy, _enable_profiler_legacy
    except ImportError:
        return MeasuredPeak(None, f"torch {torch.__version__} does not say what its allocators do")
    # The newer profiler counts the same, but takes seconds to start and prints lines of its own.
    no_more = torch._C._profiler._ExperimentalConfig()
    try:
        _enable_profiler_legacy(ProfilerConfig(ProfilerState.CPU, False, True, False, False, False, no_more))
    except RuntimeError:
        return MeasuredPeak(None, "another profiler is running")
    try:
        results = run()
    finally:
        threads = _disable_profiler_legacy()
    del results
    storages = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in tensors}
    return MeasuredPeak(sum(storages.values()) + _most(threads, devices[0]))


def _most(threads: list[list[Any]], device: str) -> int:
    """The highest sum of what was allocated and freed on a device, by events of several threads."""
    events = [event for thread in threads for event in thread]
    changes = [event for event in events if event.kind() == "memory_alloc"]
    changes.sort(key=lambda event: events[0].cpu_elapsed_us(event))
    most = now = 0
    for event in changes:
        now += event.cpu_memory_usage() if device == "cpu" else event.cuda_memory_usage()
        most = max(most, now)
    return most
