"""How much memory a run takes, as JAX's devices count it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opscope.profile.peak import MeasuredPeak


def peak_of(run: Callable[[], Any], arguments: Any) -> MeasuredPeak:
    """The most bytes in use during a run: its arguments, and what it allocates. What else is in memory is not counted.

    A device keeps the highest peak since the process started, and it cannot be reset. So the peak of a run is known only if the run is
    what raised it."""
    import jax

    arrays = [leaf for leaf in jax.tree_util.tree_leaves(arguments) if isinstance(leaf, jax.Array)]
    devices = {device for array in arrays for device in array.devices()} or {jax.devices()[0]}
    if len(devices) > 1:
        return MeasuredPeak(None, f"it runs on {len(devices)} devices")
    (device,) = devices
    jax.block_until_ready(arrays)
    before = device.memory_stats()
    if not before or "peak_bytes_in_use" not in before:
        return MeasuredPeak(None, f"JAX does not count the memory of a {device.platform} device")
    run()
    highest = device.memory_stats()["peak_bytes_in_use"]
    if highest <= before["peak_bytes_in_use"]:
        return MeasuredPeak(None, "something else in this process has needed more, and JAX keeps only the highest peak")
    buffers = {array.unsafe_buffer_pointer(): array.nbytes for array in arrays}
    return MeasuredPeak(highest - before["bytes_in_use"] + sum(buffers.values()))
