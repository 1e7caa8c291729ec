"""JAX as a source: functions and everything that JAX makes of them."""

from opscope.readers.jax.capture import STAGES, capture

__all__ = ["STAGES", "capture"]
