"""JAX as a source: functions and everything that JAX turns them into."""

from opscope.readers.jax.capture import STAGES, capture

__all__ = ["STAGES", "capture"]
