"""The dialects that opscope knows, and names that mean something else in one of them."""

from __future__ import annotations

from opscope.ops.facts import Dialect, Facts

DIALECTS: tuple[Dialect, ...] = (
    Dialect(
        "aten",
        (
            ("max min", Facts("reduce")),  # elsewhere, and as `aten.max.other`, these compare two tensors
            ("max.other", Facts("elementwise", sign="max", unnumbered=True)),
            ("min.other", Facts("elementwise", sign="min", unnumbered=True)),
            ("select", Facts("shape")),  # a slice; elsewhere it chooses between two tensors
        ),
        views="""
        alias as_strided chunk detach diagonal expand flatten lift_fresh movedim narrow permute real reshape_alias select slice split
        split_with_sizes squeeze swapaxes swapdims t transpose unbind unfold unsafe_chunk unsafe_split unsafe_view unsqueeze view view_as
        """,
        titles="first",
    ),
    Dialect("extern_kernels prim prims quantized quantized_decomposed _c10d_functional torchvision transformers", titles="first"),
    Dialect("executorch_exir_dialects_edge__ops_aten", titles="first"),
    Dialect("stablehlo mhlo chlo hlo arith math func"),
    Dialect("torch nn functional _C _nn ops higher_order Tensor operator _operator builtins"),
    Dialect(
        """
        _ops ai c10d cadence cf com dialects dim_order_ops distributed edge executorch executorch_exir_dialects_edge exir gpu hidet
        jax lax linalg memref microsoft ml modules nvgpu onnx scf sdy tensor tfl torchao tosa vector
        """,
        titles="whole",
    ),
)
