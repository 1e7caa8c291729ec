"""Reductions, norms, pools and losses."""

from __future__ import annotations

from opscope.ops.facts import Facts, Rows

REDUCTIONS: Rows = (
    (
        """
        adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool2d all amax amin any argmax argmin average_pool avg_pool avg_pool1d
        avg_pool2d avg_pool3d batch_norm batch_norm_grad batch_norm_inference batch_norm_training count_nonzero cross_entropy
        cross_entropy_loss cumlogsumexp cummax cummin cumprod cumsum global_average_pool global_max_pool group_norm instance_norm
        l1_loss layer_norm layer_normalization linalg_vector_norm log_softmax logsumexp lp_normalization lrn max_pool max_pool1d
        max_pool2d max_pool2d_with_indices max_pool3d mean median nanmean nanmedian nansum mse_loss reduction nll_loss norm prod reduce
        reduce_and reduce_max reduce_mean reduce_min reduce_or reduce_prod reduce_sum reduce_window reduce_xor rms_norm safe_softmax
        select_and_scatter select_and_scatter_add simplified_layer_normalization skip_layer_normalization smooth_l1_loss softmax std
        std_mean sum sum_to_size unvmap_all unvmap_any unvmap_max var var_mean vector_norm
        """,
        Facts("reduce"),
    ),
)
