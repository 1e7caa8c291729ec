"""Elementwise arithmetic, products and random numbers."""

from __future__ import annotations

from opscope.ops.facts import Facts, Rows

_QUANTIZE = Facts("elementwise", quantization="quantize")
_DEQUANTIZE = Facts("elementwise", quantization="dequantize")

ARITHMETIC: Rows = (
    ("add addf addi", Facts("elementwise", sign="+", unnumbered=True)),
    ("sub subf subi subtract", Facts("elementwise", sign="−")),
    ("mul mulf muli multiply", Facts("elementwise", sign="×", unnumbered=True)),
    ("div divf divide divsi divui", Facts("elementwise", sign="÷")),
    ("pow power", Facts("elementwise", sign="^")),
    ("max maximum maximumf", Facts("elementwise", sign="max", unnumbered=True)),
    ("min minimum minimumf", Facts("elementwise", sign="min", unnumbered=True)),
    (
        "add_any and bitwise_and bitwise_or bitwise_xor eq logical_and logical_or logical_xor ne or xor",
        Facts("elementwise", unnumbered=True),
    ),
    ("convert convert_element_type", Facts("elementwise", spreads=True)),
    ("identity", Facts("elementwise", forwards="value", spreads=True, quantization="auxiliary")),
    ("to_copy", Facts("elementwise", spreads=True, quantization="auxiliary")),
    (
        """
        alias_copy clamp elu gelu hard_sigmoid hard_swish hardtanh leaky_relu lift_fresh_copy mish relu relu6 sigmoid silu
        softplus swish tanh
        """,
        Facts("elementwise", quantization="auxiliary"),
    ),
    ("quantize quantize_linear quantize_per_channel quantize_per_tensor uniform_quantize", _QUANTIZE),
    ("dequantize dequantize_linear dequantize_per_channel dequantize_per_tensor uniform_dequantize", _DEQUANTIZE),
    (
        """
        abs absolute acos acosh add_scalar addcdiv addcmul angle arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan
        atan2 atanh bessel_i0e bessel_i1e bitwise_left_shift bitwise_not bitwise_right_shift cast cast_like cbrt ceil celu clamp_max
        clamp_min clip cmpf cmpi compare complex conj conj_physical copysign cos cosh cosine count_leading_zeros deg2rad digamma
        divide_scalar elementwise equal erf erf_inv erfc exp exp2 expm1 exponential exponential_minus_one fake_quantize fix float_power
        floor floor_divide floordiv fmax fmin fmod frac gcd ge glu greater greater_equal greater_or_equal greater_than gt hardshrink
        heaviside hypot i0 igamma igammac imag integer_pow invert is_finite isclose isinf isnan isneginf isposinf isreal lcm ldexp le
        lerp less less_equal le_to less_or_equal less_than lgamma log log10 log1p log2 log_plus_one log_sigmoid logaddexp logaddexp2
        logical_not logistic logit lt lt_to map masked_fill mod multiply_scalar nan_to_num neg negate negative next_after not not_equal
        pointwise polygamma popcnt population_count positive prelu prelu_kernel rad2deg r_divide_scalar r_sub_scalar real reciprocal
        reduce_precision rem remainder requantize round round_nearest_afz round_nearest_even rsqrt rsub select select_if_vmap select_n
        selu shift_left shift_right shift_right_arithmetic shift_right_logical sgn sign signbit sin sinc sine sinh softshrink softsign
        sqrt square squared_difference stochastic_convert sub_scalar tan threshold to to_dtype true_divide trunc truncdiv type_as where
        where_scalar_scalar where_scalar_tensor where_tensor_scalar xlogy
        """,
        Facts("elementwise"),
    ),
    (
        """
        addbmm addmm addmv addr attention attn baddbmm bilinear block_scaled_dot bmm cholesky conv conv1d conv2d conv3d
        conv_general_dilated conv_transpose convolution dense dot dot_general eig eigh einsum fft gemm geqrf gru hessenberg
        householder_product inner linear lstm lu
        matmul mm multi_head_attention mv ragged_dot ragged_dot_general qr rnn scaled_dot scaled_dot_product_attention schur svd
        triangular_solve tridiagonal tridiagonal_solve vdot
        """,
        Facts("matmul"),
    ),
    ("dropout", Facts("random", quantization="auxiliary")),
    (
        """
        bernoulli binomial multinomial native_dropout normal normal_functional poisson rand rand_like randint randn randn_like random_bits
        random_fold_in random_seed random_split random_unwrap random_wrap rng rng_bit_generator rng_get_and_update_state
        rng_uniform threefry2x32 uniform
        """,
        Facts("random"),
    ),
)
