"""Operations that move, reshape, store and exchange values; tuples and access to their elements."""

from __future__ import annotations

from opscope.ops.facts import Facts, Rows

DATA: Rows = (
    ("tuple", Facts(forwards="tuple", unnumbered=True, free=True)),
    ("get_tuple_element", Facts(forwards="value", free=True)),
    ("getitem", Facts(forwards="element", free=True, quantization="auxiliary")),
    # Assertions about a value add nothing to a picture: they disappear into its edges.
    ("assert_tensor_metadata assert_scalar", Facts(forwards="value")),
    ("bitcast", Facts("shape", forwards="value", spreads=True, free=True)),
    ("broadcast broadcast_in_dim expand reshape", Facts("shape", spreads=True)),
    ("get_dimension_size", Facts("shape", free=True)),
    (
        """
        adjoint as_strided as_strided_copy atleast_1d atleast_2d atleast_3d bitcast_convert bitcast_convert_type bitcast_vec block_diag
        broadcast_to cartesian_prod cat channel_shuffle chunk combinations concat concatenate contiguous
        depth_to_space detach detach_copy diag diag_embed diagflat diagonal diagonal_copy dynamic_reshape expand_as expand_copy expand_dims
        fft_fftshift fft_ifftshift flatten flip fliplr flipud hstack m_h m_t matrix_h meshgrid moveaxis movedim narrow narrow_copy
        numpy_t pad permute permute_copy pixel_shuffle pixel_unshuffle ravel real_dynamic_slice rearrange reflection_pad1d reflection_pad2d
        reflection_pad3d replication_pad1d replication_pad2d replication_pad3d resolve_conj resolve_neg
        repeat repeat_interleave rev reverse roll rot90 select_copy select_int
        set_dimension_size shape size slice space_to_depth split split_copy split_with_sizes split_with_sizes_copy squeeze
        squeeze_copy stack strided_slice swapaxes swapdims t t_copy tile transpose transpose_copy unbind unbind_copy unflatten unfold
        unfold_copy unsafe_chunk unsafe_split unsafe_view unsqueeze unsqueeze_copy
        upsample view view_as view_copy vstack
        """,
        Facts("shape"),
    ),
    ("copy", Facts("data", spreads=True, quantization="auxiliary")),
    ("alias", Facts(forwards="value", spreads=True, quantization="auxiliary")),
    ("clone clone_dim_order to_dim_order_copy", Facts(quantization="auxiliary")),
    (
        """
        argsort argwhere bucketize copy_done copy_start dynamic_gather dynamic_slice dynamic_update_slice embedding embedding_bag
        gather gather_elements gather_nd get grid_sampler im2col index index_add index_copy index_put index_select infeed
        isin local_scalar_dense lookup masked_select max_unpool2d max_unpool3d maybe_set nonzero nonzero_numpy nonzero_static one_hot
        outfeed pack_padded_sequence pad_packed_sequence put resize scatter scatter_add scatter_elements scatter_max scatter_min
        scatter_mul scatter_nd searchsorted slice_scatter sort swap take take_along_dim top_k tril triu unique
        """,
        Facts("data"),
    ),
    (
        """
        arange as_tensor bartlett_window blackman_window const constant constant_of_shape empty empty_like empty_strided eye
        fft_fftfreq fft_rfftfreq fill full full_like hamming_window hann_window iota kaiser_window lift lift_fresh linspace logspace
        new_empty new_empty_strided new_full new_ones new_zeros ones ones_like range scalar_tensor zero zeros zeros_like
        """,
        Facts("constant"),
    ),
    ("accumulate_grad arg argument get_attr input param parameter placeholder variable", Facts("parameter")),
    ("output return", Facts("output", unnumbered=True)),
    ("func_return result ret root", Facts("output")),
    ("all_reduce", Facts("communication", unnumbered=True)),
    ("partition_id pvary replica_id", Facts("communication", free=True)),
    (
        """
        all_gather all_gather_done all_gather_into_tensor all_gather_start all_reduce_done all_reduce_start
        all_to_all axis_index collective_broadcast collective_permute collective_permute_done collective_permute_start
        cross_replica_sum pbroadcast pmax pmin ppermute psum psum2 psum_invariant psum_scatter
        ragged_all_to_all recv recv_done reduce_scatter reduce_scatter_tensor reshard send send_done wait_tensor
        """,
        Facts("communication"),
    ),
)
