"""Control flow, calls, fusions, and operations that only order others."""

from __future__ import annotations

from opscope.ops.facts import Facts, Rows

CONTROL_FLOW: Rows = (
    ("while while_loop", Facts("control", control="while")),
    ("for", Facts("control", control="for")),
    ("scan associative_scan", Facts("control", control="scan")),
    ("case cond conditional if index_switch switch", Facts("control", control="cond")),
    ("call", Facts("control", control="call", titled_by="called", unnumbered=True)),
    (
        "checkpoint closed_call composite core_call custom_jvp_call custom_vjp_call custom_vjp_call_jaxpr jit pjit remat remat2 xla_call",
        Facts("control", control="call", titled_by="called"),
    ),
    ("fusion", Facts("custom", control="fusion", titled_by="id", unnumbered=True)),
    ("custom_call", Facts("custom", titled_by="text")),
    ("ffi_call kernel pallas_call pure_callback io_callback debug_callback debug_print triton_kernel_wrapper", Facts("custom")),
    ("async_done async_update", Facts("control", free=True)),
    ("add_dependency after_all create_token domain opt_barrier optimization_barrier", Facts("control", free=True)),
    ("name sharding_constraint nonbatchable nondifferentiable_backward nondifferentiable", Facts(free=True)),
    (
        """
        assert_async async_start loop manual_computation shard_map sym_constrain_range_for_size
        """,
        Facts("control"),
    ),
)
