"""XLA's own plan for the memory of a `Compiled`."""

from __future__ import annotations

from typing import Any

from opscope.program import MemoryPlan


def memory_plan_of(compiled: Any) -> MemoryPlan | None:
    """What XLA says about a compiled function; None where a backend does not say it, or for several modules at once."""
    try:
        assignment = compiled.memory_analysis().serialized_buffer_assignment_proto
        (module,) = compiled.runtime_executable().hlo_modules()
        return MemoryPlan(module.as_serialized_hlo_module_proto(), assignment) if assignment else None
    except (AttributeError, NotImplementedError, RuntimeError, ValueError):
        return None
