"""FLOPs of operations that stand for several: norms, softmax, pools, resized images, losses.

Each is counted as the plain operations that it is made of, one for each element of its first operand: a softmax is a maximum, a
difference, an exponential, a sum and a quotient. Kernels may arrange this differently; beside the products of a model it is little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

_SOFTMAX = 5
_NORM = 6
"""Mean, difference, square, mean, product, and the root of the variance."""

_PER_ELEMENT: dict[str, int] = {
    **dict.fromkeys(("softmax", "log_softmax", "safe_softmax", "logsumexp", "cumlogsumexp"), _SOFTMAX),
    **dict.fromkeys(("layer_norm", "layer_normalization", "group_norm", "instance_norm", "skip_layer_normalization"), _NORM),
    **dict.fromkeys(("batch_norm", "cudnn_batch_norm", "miopen_batch_norm", "batch_norm_training"), _NORM),
    **dict.fromkeys(("batch_norm_legit", "batch_norm_legit_functional", "batch_norm_with_update"), _NORM),
    **dict.fromkeys(("batch_norm_inference", "batch_norm_legit_no_training"), 2),
    **dict.fromkeys(("rms_norm", "fused_rms_norm", "simplified_layer_normalization", "lp_normalization"), 3),
    "lrn": 4,
    **dict.fromkeys(("cross_entropy", "cross_entropy_loss"), _SOFTMAX + 1),
    **dict.fromkeys(("nll_loss", "nll_loss_nd", "nll_loss2d"), 1),
    **dict.fromkeys(("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"), 3),
    **dict.fromkeys(("binary_cross_entropy", "binary_cross_entropy_with_logits"), 6),
    **dict.fromkeys(("var", "var_mean", "std", "std_mean"), 4),
    **dict.fromkeys(("norm", "vector_norm", "linalg_vector_norm"), 2),
    **dict.fromkeys(("count_nonzero", "median", "logcumsumexp", "bincount"), 1),
    "aminmax": 2,
    "polar": 4,
    **dict.fromkeys(("weight_norm", "weight_norm_interface"), 4),
    "histc": 3,
    **dict.fromkeys(("softmax_backward_data", "log_softmax_backward_data"), 4),
    **dict.fromkeys(("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "global_average_pool"), 1),
    **dict.fromkeys(("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d", "global_max_pool"), 1),
}
_SCALES_AND_SHIFTS = frozenset(
    [
        *("layer_norm", "layer_normalization", "group_norm", "instance_norm", "rms_norm", "fused_rms_norm"),
        *("batch_norm", "batch_norm_legit", "batch_norm_legit_functional", "batch_norm_legit_no_training", "batch_norm_with_update"),
    ]
)
_POOLS = frozenset(
    [
        "average_pool",
        *(f"{kind}_pool{rank}{more}" for kind in ("avg", "max") for rank in ("", "1d", "2d", "3d") for more in ("", "_with_indices")),
    ]
)
RESIZED: dict[str, int] = {
    **dict.fromkeys(("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d"), 0),
    **dict.fromkeys(("upsample_nearest_exact1d", "upsample_nearest_exact2d", "upsample_nearest_exact3d"), 0),
    "upsample_linear1d": 2,
    "upsample_bilinear2d": 4,
    "upsample_trilinear3d": 8,
    "upsample_bicubic2d": 16,
    "grid_sampler_2d": 4,
    "grid_sampler_3d": 8,
}
"""The neighbours that each element of an image is made of: each is multiplied by its weight, and they are added.
The gradient of a resized image is spread over as many."""
_DROPOUTS = frozenset(["dropout", "native_dropout", "alpha_dropout", "feature_dropout"])


ATTRIBUTES_READ = frozenset(["train", "training", "kernel_size", "kernel_shape"])
"""What `composite_flops` looks at: whether an operation trains, and the window of a pool."""


def composite_flops(name: str, elements: Sequence[int], out: int, attrs: Mapping[str, Any]) -> int | None:
    """The FLOPs of an operation with operands and results of so many elements, or None if it is not one of these."""
    if name in _DROPOUTS:
        trains = attrs.get("train", attrs.get("training")) not in (False, "False")
        return 2 * out if trains else 0
    if name in RESIZED:
        return max(0, 2 * RESIZED[name] - 1) * out
    if name in _POOLS:
        window = _window(attrs)
        return None if window is None else out * window
    count = _PER_ELEMENT.get(name)
    if count is None or not elements:
        return None
    affine = min(2, len(elements) - 1) if name in _SCALES_AND_SHIFTS else 0
    if name == "batch_norm" and attrs.get("training") is False:
        count = 2  # the mean and the variance are known
    return (count + affine) * elements[0]


def is_composite(name: str) -> bool:
    return name in _PER_ELEMENT or name in _POOLS or name in _DROPOUTS or name in RESIZED


def _window(attrs: Mapping[str, Any]) -> int | None:
    """The elements of a pool's window; torch and ONNX give its sizes."""
    sizes = attrs.get("kernel_size", attrs.get("kernel_shape"))
    sizes = sizes if isinstance(sizes, list | tuple) else [sizes]
    return prod(sizes) if all(isinstance(size, int) for size in sizes) else None
