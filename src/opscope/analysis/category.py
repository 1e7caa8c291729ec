"""What kind of work an operation does, for colours and counts. This is the one place that knows: others carry the number.

Compilers name the same work differently (`aten.mm.default`, `aten::mm`, `MmBackward0`, `dot_general`, `Gemm`, `stablehlo.dot`), so
a name is first brought to one form, then looked up, then matched against a few telling fragments.
"""

from __future__ import annotations

import re
from functools import lru_cache

from opscope.program import Role

CATEGORIES = (
    "other",
    "elementwise",
    "matmul",
    "reduce",
    "shape",
    "communication",
    "control",
    "data",
    "parameter",
    "constant",
    "custom",
    "output",
    "random",
    "function",
    "leaf",
    "saved",
    "base",
    "cut",
)
"""The same names in the same order as in `web/src/core/program/types.ts`; a test compares them."""

AUTOGRAD_KINDS = frozenset(("function", "leaf", "saved", "base", "cut"))
"""Categories that only graphs behind tensors have: there, colours say what torchviz's say."""

_OF_ROLE: dict[Role, str] = {
    "parameter": "parameter",
    "constant": "constant",
    "output": "output",
    "gradient": "parameter",
    "saved": "data",
}

_OPS = {
    "elementwise": """
        abs absolute acos acosh add add_any addcdiv addcmul addf addi alias_copy and angle arccos arcsin arctan arctan2
        arctanh asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift
        bitwise_xor cast cast_like cbrt ceil celu clamp clamp_max clamp_min clip cmpf cmpi compare complex conj convert
        convert_element_type copysign cos cosh cosine count_leading_zeros dequantize dequantize_linear
        dequantize_per_channel dequantize_per_tensor digamma div divf divide divsi divui elementwise elu eq equal erf
        erf_inv erfc erfinv exp exp2 expm1 exponential exponential_minus_one fake_quantize floor floor_divide floordiv fmod
        frac ge gelu glu greater greater_equal greater_or_equal greater_than gt hard_sigmoid hard_swish hardsigmoid
        hardswish hardtanh identity imag integer_pow invert is_finite isfinite isinf isnan ldexp le leaky_relu lerp less
        less_equal less_or_equal less_than lgamma lift_fresh_copy log log10 log1p log2 log_plus_one log_sigmoid logical_and
        logical_not logical_or logical_xor logistic logit lt map masked_fill max maximum maximumf min minimum minimumf mish
        mod mul mulf muli multiply ne neg negate negative next_after nextafter not not_equal or pointwise polygamma popcnt
        population_count pow power prelu quantize quantize_linear quantize_per_channel quantize_per_tensor real reciprocal
        reduce_precision relu relu6 rem remainder requantize round round_nearest_afz round_nearest_even rsqrt rsub select
        select_n selu shift_left shift_right shift_right_arithmetic shift_right_logical sigmoid sign signbit silu sin sine
        sinh softplus softsign sqrt square squared_difference stochastic_convert sub subf subi subtract swish tan tanh
        threshold to to_copy to_dtype trunc truncdiv type_as where xor
    """,
    "matmul": """
        addbmm addmm addmv addr attention attn baddbmm bilinear block_scaled_dot bmm cholesky conv conv1d conv2d conv3d
        conv_general_dilated conv_transpose convolution dense dot dot_general einsum fft gemm gru inner linear lstm lu
        matmul mm multi_head_attention mv ragged_dot ragged_dot_general rnn scaled_dot scaled_dot_product_attention svd
        triangular_solve vdot
    """,
    "reduce": """
        adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool2d all amax amin any argmax argmin average_pool
        avg_pool avg_pool1d avg_pool2d avg_pool3d batch_norm batch_norm_grad batch_norm_inference batch_norm_training
        count_nonzero cross_entropy cross_entropy_loss cumlogsumexp cummax cummin cumprod cumsum global_average_pool
        global_max_pool group_norm instance_norm l1_loss layer_norm layer_normalization linalg_vector_norm log_softmax
        logsumexp lp_normalization lrn max_pool max_pool1d max_pool2d max_pool2d_with_indices max_pool3d mean median
        mse_loss reduction nll_loss norm prod reduce reduce_and reduce_max reduce_mean reduce_min reduce_or reduce_prod reduce_sum
        reduce_window reduce_xor rms_norm safe_softmax select_and_scatter select_and_scatter_add
        simplified_layer_normalization skip_layer_normalization smooth_l1_loss softmax std std_mean sum var var_mean
        vector_norm
    """,
    "shape": """
        as_strided bitcast bitcast_convert bitcast_convert_type bitcast_vec broadcast broadcast_in_dim broadcast_to cat
        chunk concat concatenate contiguous depth_to_space detach diagonal dynamic_reshape expand expand_as expand_dims
        flatten flip get_dimension_size hstack movedim narrow pad permute pixel_shuffle real_dynamic_slice repeat
        repeat_interleave reshape rev reverse roll rot90 select_copy select_int set_dimension_size shape size slice
        space_to_depth split split_copy split_with_sizes split_with_sizes_copy squeeze squeeze_copy stack strided_slice
        swapaxes t tile transpose unbind unflatten unfold unsafe_view unsqueeze unsqueeze_copy upsample view view_as
        view_copy vstack
    """,
    "communication": """
        all_gather all_gather_done all_gather_into_tensor all_gather_start all_reduce all_reduce_done all_reduce_start
        all_to_all axis_index collective_broadcast collective_permute collective_permute_done collective_permute_start
        cross_replica_sum partition_id pbroadcast pmax pmin ppermute psum psum2 psum_invariant psum_scatter pvary
        ragged_all_to_all recv recv_done reduce_scatter reduce_scatter_tensor replica_id send send_done wait_tensor
    """,
    "control": """
        add_dependency after_all assert_async async_done async_start async_update call case checkpoint closed_call
        composite cond conditional core_call create_token custom_jvp_call custom_vjp_call custom_vjp_call_jaxpr domain
        if jit loop manual_computation opt_barrier optimization_barrier pjit remat remat2 scan shard_map sym_constrain_range_for_size while
        while_loop xla_call
    """,
    "data": """
        argsort copy copy_done copy_start dynamic_gather dynamic_slice dynamic_update_slice embedding embedding_bag
        gather gather_elements gather_nd grid_sampler index index_add index_copy index_put index_select infeed lookup
        masked_select nonzero one_hot outfeed resize scatter scatter_add scatter_elements scatter_max scatter_min
        scatter_mul scatter_nd searchsorted slice_scatter sort take take_along_dim top_k topk tril triu unique
    """,
    "constant": """
        arange const constant constant_of_shape empty empty_like eye fill full full_like iota lift_fresh linspace
        new_empty new_full new_ones new_zeros ones ones_like range scalar_tensor zeros zeros_like
    """,
    "parameter": "accumulate_grad arg argument get_attr getattr input param parameter placeholder variable",
    "output": "func_return output result return ret root",
    "custom": "custom_call ffi_call fusion kernel pallas_call pure_callback io_callback debug_callback triton_kernel_wrapper",
    "random": """
        bernoulli dropout multinomial native_dropout normal rand rand_like randint randn randn_like random_bits
        random_fold_in random_seed random_split random_unwrap random_wrap rng rng_bit_generator rng_get_and_update_state
        rng_uniform threefry2x32 uniform
    """,
}

_FRAGMENTS = (
    (r"all_?reduce|all_?gather|all_?to_?all|collective|reduce_?scatter|^send|^recv|nccl", "communication"),
    (r"gemm|matmul|(^|_)b?mm($|_)|conv\d?d?($|_)|convolution|attention|(^|_)dot($|_)|linear$|einsum", "matmul"),
    (r"rand|dropout|rng|threefry|philox", "random"),
    (r"^callback|custom|triton|kernel|pallas|cudnn|cublas|mlir", "custom"),
    (r"softmax|norm($|_|ali[sz])|pool|^reduce|^cum|^arg_?m|_loss|^sum|^mean", "reduce"),
    (r"scatter|gather|index|embedding|sort|slice_update|^copy|lookup|topk", "data"),
    (r"reshape|transpose|permute|broadcast|view|slice|concat|squeeze|pad($|_)|expand|flatten|split|stack|layout", "shape"),
    (r"quant|relu|gelu|silu|sigmoid|tanh|bitwise|logical|^elementwise|^fused_elementwise", "elementwise"),
    (r"^custom_[jv][vj]p|^remat|checkpoint|while|^cond|^if$|^for$|^scan", "control"),
)

_NAMESPACES = """
    _c10d_functional _ops ai arith aten builtins c10d cf chlo distributed edge executorch_exir_dialects_edge func functional
    gpu hidet higher_order hlo jax lax linalg math memref mhlo modules nn nvgpu onnx operator ops prim prims quantized
    quantized_decomposed scf sdy stablehlo tensor torch torchao tosa vector
"""

_NUMBER = {name: number for number, name in enumerate(CATEGORIES)}
_KNOWN = {op.replace("_", ""): name for name, ops in _OPS.items() for op in ops.split()}
_FRAGMENT = tuple((re.compile(pattern), name) for pattern, name in _FRAGMENTS)
_DIALECTS = frozenset(_NAMESPACES.split())


def category_of(op: str, role: Role = "op", kind: str = "") -> int:
    """The number of an operation's category in CATEGORIES. `kind` is what a node of an autograd graph calls itself."""
    return _NUMBER[kind if kind in AUTOGRAD_KINDS else _OF_ROLE.get(role) or _by_name(op)]


@lru_cache(maxsize=4096)
def _by_name(op: str) -> str:
    name = plain_name(op)
    if name in ("max", "min") and op.startswith("aten") and not op.endswith("other"):
        return "reduce"  # elsewhere, and as `aten.max.other`, these take the larger of two tensors
    if name == "select" and op.startswith("aten"):
        return "shape"  # a slice; elsewhere it chooses between two tensors
    known = _KNOWN.get(name.replace("_", ""))
    if known is None:
        known = next((category for pattern, category in _FRAGMENT if pattern.search(name)), "other")
    return known


@lru_cache(maxsize=4096)
def plain_name(op: str) -> str:
    """One form for all compilers: "aten.add_.Tensor", "aten::add", "AddBackward0" and "stablehlo.add" are all "add"."""
    parts = [part for part in re.split(r"::|[./]", op) if part]
    while len(parts) > 1 and parts[0].lower() in _DIALECTS:
        del parts[0]
    name = parts[0] if parts else op
    if not name.isupper():
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    name = re.sub(r"_?backward\d*$", "", name.lower().replace("-", "_"))
    return re.sub(r"^(native|batched)_(?!dropout)", "", name.strip("_"))
