"""XLA's messages: excerpts of xla/xla_data.proto and xla/service/hlo.proto. Enumerations are int64; see `ENUMS` for the names.

Field numbers never change their meaning (the rule of protocol buffers), so a table from 2026 reads files of any year.
"""

from __future__ import annotations

from opscope.protobuf.wire import Schema

XLA_DATA = Schema("""
message ShapeProto {
  int64 element_type = 2;
  repeated int64 dimensions = 3;
  repeated ShapeProto tuple_shapes = 4;
  LayoutProto layout = 5;
  repeated bool is_dynamic_dimension = 6;
}
message LayoutProto {
  repeated int64 minor_to_major = 1;
  repeated TileProto tiles = 6;
  int64 element_size_in_bits = 7;
  int64 memory_space = 8;
  ShapeProto physical_shape = 10;
  int64 index_primitive_type = 11;
  int64 pointer_primitive_type = 12;
  int64 dynamic_shape_metadata_prefix_bytes = 15;
  int64 tail_padding_alignment_in_elements = 16;
  repeated SplitConfigProto split_configs = 17;
}
message TileProto { repeated int64 dimensions = 1; }
message SplitConfigProto { int64 dimension = 1; repeated int64 split_indices = 2; }
message ProgramShapeProto { repeated ShapeProto parameters = 1; ShapeProto result = 2; repeated string parameter_names = 3; }
message OpMetadata {
  string op_type = 1;
  string op_name = 2;
  string source_file = 3;
  int64 source_line = 4;
  repeated int64 profile_type = 5;
  string deduplicated_name = 12;
  int64 stack_frame_id = 15;
  string scheduling_name = 16;
  int64 source_end_line = 17;
  int64 source_column = 18;
  int64 source_end_column = 19;
}
message LiteralProto {
  ShapeProto shape = 1;
  repeated bool preds = 2;
  bytes u8s = 3;
  repeated int32 s32s = 4;
  repeated int64 s64s = 5;
  repeated uint32 u32s = 6;
  repeated uint64 u64s = 7;
  repeated float f32s = 8;
  repeated double f64s = 9;
  bytes f16s = 11;
  repeated float c64s = 12;
  bytes bf16s = 13;
  bytes s8s = 15;
  bytes u16s = 16;
  bytes s16s = 17;
  repeated double c128s = 18;
}
message Window { repeated WindowDimension dimensions = 1; }
message WindowDimension {
  int64 size = 1;
  int64 stride = 2;
  int64 padding_low = 3;
  int64 padding_high = 4;
  int64 window_dilation = 5;
  int64 base_dilation = 6;
  bool window_reversal = 7;
}
message ConvolutionDimensionNumbers {
  int64 kernel_input_feature_dimension = 3;
  int64 kernel_output_feature_dimension = 4;
  repeated int64 kernel_spatial_dimensions = 6;
  int64 input_batch_dimension = 7;
  int64 input_feature_dimension = 8;
  int64 output_batch_dimension = 9;
  int64 output_feature_dimension = 10;
  repeated int64 input_spatial_dimensions = 11;
  repeated int64 output_spatial_dimensions = 12;
}
message PaddingConfig { repeated PaddingConfigDimension dimensions = 1; }
message PaddingConfigDimension { int64 edge_padding_low = 1; int64 edge_padding_high = 2; int64 interior_padding = 3; }
message DotDimensionNumbers {
  repeated int64 lhs_contracting_dimensions = 1;
  repeated int64 rhs_contracting_dimensions = 2;
  repeated int64 lhs_batch_dimensions = 3;
  repeated int64 rhs_batch_dimensions = 4;
}
message RaggedDotDimensionNumbers {
  DotDimensionNumbers dot_dimension_numbers = 1;
  repeated int64 lhs_ragged_dimensions = 2;
  repeated int64 rhs_group_dimensions = 3;
}
message GatherDimensionNumbers {
  repeated int64 offset_dims = 1;
  repeated int64 collapsed_slice_dims = 2;
  repeated int64 start_index_map = 3;
  int64 index_vector_dim = 4;
  repeated int64 operand_batching_dims = 5;
  repeated int64 start_indices_batching_dims = 6;
}
message ScatterDimensionNumbers {
  repeated int64 update_window_dims = 1;
  repeated int64 inserted_window_dims = 2;
  repeated int64 scatter_dims_to_operand_dims = 3;
  int64 index_vector_dim = 4;
  repeated int64 input_batching_dims = 5;
  repeated int64 scatter_indices_batching_dims = 6;
}
message PrecisionConfig { repeated int64 operand_precision = 1; int64 algorithm = 2; }
message TriangularSolveOptions { bool left_side = 1; bool lower = 2; bool unit_diagonal = 3; int64 transpose_a = 4; }
message CholeskyOptions { bool lower = 1; }
message FrontendAttributes { repeated FrontendAttribute map = 1; }
message FrontendAttribute { string key = 1; string value = 2; }
message OutputOperandAliasing { repeated int64 output_shape_index = 1; int64 operand_index = 2; repeated int64 operand_shape_index = 3; }
message ResultAccuracy { int64 mode = 1; ResultAccuracyTolerance tolerance = 2; }
message ResultAccuracyTolerance { double atol = 1; double rtol = 2; int64 ulps = 3; }
message SourceTarget { int64 source = 1; int64 target = 2; }
message ReplicaGroup { repeated int64 replica_ids = 1; }
message CollectiveDeviceListProto { repeated ReplicaGroup replica_groups = 1; }
message IotaReplicaGroupListProto {
  int64 num_replica_groups = 1;
  int64 num_devices_per_group = 2;
  repeated int64 iota_reshape_dims = 3;
  repeated int64 iota_transpose_perm = 4;
}
message MeshAxesReplicaGroupListProto { MeshProto mesh = 1; repeated AxisRefProto axes = 2; }
message MeshProto { repeated MeshAxis axes = 1; repeated int64 device_ids = 2; IotaTransform iota_transform = 3; }
message MeshAxis { string name = 1; int64 size = 2; }
message IotaTransform { repeated int64 reshape_dims = 1; repeated int64 transpose_perm = 2; }
message AxisRefProto { int64 mesh_axis_index = 1; SubAxis sub_axis_info = 2; }
message SubAxis { int64 pre_size = 1; int64 size = 2; }
message OpSharding {
  int64 type = 1;
  repeated int64 tile_assignment_dimensions = 3;
  repeated int64 tile_assignment_devices = 4;
  repeated OpSharding tuple_shardings = 5;
  bool replicate_on_last_tile_dim = 6;
  repeated OpMetadata metadata = 7;
  repeated int64 last_tile_dims = 8;
  repeated int64 iota_reshape_dims = 9;
  repeated int64 iota_transpose_perm = 10;
  bool is_shard_group = 11;
  int64 shard_group_id = 12;
  int64 shard_group_type = 13;
  NamedShardingProto named_sharding = 14;
}
message NamedShardingProto {
  MeshProto mesh = 2;
  repeated DimensionSharding dim_shardings = 3;
  repeated AxisRefProto replicated_axes = 4;
  repeated AxisRefProto unreduced_axes = 5;
  repeated OpMetadata metadata = 6;
  repeated AxisRefProto manual_axes = 7;
  int64 reduction_op = 8;
}
message DimensionSharding { repeated AxisRefProto axes = 1; bool is_closed = 2; }
""")

HLO = Schema(
    """
message HloSnapshot { HloProto hlo = 1; string execution_platform = 4; }
message HloProto { HloModuleProto hlo_module = 1; bytes buffer_assignment = 3; }
message HloModuleProto {
  string name = 1;
  string entry_computation_name = 2;
  repeated HloComputationProto computations = 3;
  ProgramShapeProto host_program_shape = 4;
  int64 id = 5;
  int64 entry_computation_id = 6;
  HloScheduleProto schedule = 7;
  HloInputOutputAliasProto input_output_alias = 8;
  StackFrameIndexProto stack_frame_index = 17;
  HloBufferDonorProto buffer_donor = 18;
  FrontendAttributes frontend_attributes = 19;
}
message HloComputationProto {
  string name = 1;
  repeated HloInstructionProto instructions = 2;
  ProgramShapeProto program_shape = 4;
  int64 id = 5;
  int64 root_id = 6;
  string execution_thread = 8;
}
message HloScheduleProto { repeated HloSequence sequences = 1; }
message HloSequence { int64 key = 1; InstructionSequence value = 2; }
message InstructionSequence { repeated int64 instruction_ids = 1; }
message HloInputOutputAliasProto { repeated AliasEntryProto entries = 1; }
message AliasEntryProto {
  repeated int64 output_shape_index = 1;
  int64 parameter_number = 2;
  repeated int64 parameter_shape_index = 3;
  int64 kind = 4;
}
message HloBufferDonorProto { repeated BufferDonorEntryProto entries = 1; }
message BufferDonorEntryProto { int64 parameter_number = 1; repeated int64 parameter_shape_index = 2; }
message StackFrameIndexProto {
  repeated string file_names = 1;
  repeated string function_names = 2;
  repeated FileLocation file_locations = 3;
  repeated StackFrame stack_frames = 4;
}
message FileLocation {
  int64 file_name_id = 1;
  int64 function_name_id = 2;
  int64 line = 3;
  int64 column = 4;
  int64 end_line = 5;
  int64 end_column = 6;
}
message StackFrame { int64 file_location_id = 1; int64 parent_frame_id = 2; }
message SliceDimensions { int64 start = 1; int64 limit = 2; int64 stride = 3; }
message ParameterReplication { repeated bool replicated_at_leaf_buffers = 1; }
message HloInstructionProto {
  string name = 1;
  string opcode = 2;
  ShapeProto shape = 3;
  OpMetadata metadata = 7;
  bytes literal = 8;
  int64 parameter_number = 9;
  string fusion_kind = 11;
  int64 tuple_index = 13;
  repeated int64 dimensions = 14;
  Window window = 15;
  ConvolutionDimensionNumbers convolution_dimension_numbers = 16;
  repeated SliceDimensions slice_dimensions = 17;
  int64 exponent_bits = 18;
  int64 mantissa_bits = 19;
  repeated int64 dynamic_slice_sizes = 20;
  PaddingConfig padding_config = 21;
  bytes outfeed_config = 22;
  int64 distribution = 23;
  float epsilon = 24;
  int64 feature_index = 25;
  int64 channel_id = 26;
  bytes infeed_config = 27;
  string custom_call_target = 28;
  ShapeProto outfeed_shape = 29;
  DotDimensionNumbers dot_dimension_numbers = 30;
  int64 fft_type = 31;
  repeated int64 fft_length = 32;
  GatherDimensionNumbers gather_dimension_numbers = 33;
  repeated int64 gather_slice_sizes = 34;
  int64 id = 35;
  repeated int64 operand_ids = 36;
  repeated int64 control_predecessor_ids = 37;
  repeated int64 called_computation_ids = 38;
  OpSharding sharding = 40;
  bytes backend_config = 43;
  bool is_host_transfer = 47;
  ScatterDimensionNumbers scatter_dimension_numbers = 48;
  repeated ReplicaGroup replica_groups = 49;
  int64 feature_group_count = 50;
  PrecisionConfig precision_config = 51;
  repeated SourceTarget source_target_pairs = 52;
  OpSharding domain_entry_sharding = 54;
  OpSharding domain_exit_sharding = 55;
  bool constrain_layout = 56;
  repeated ShapeProto operand_shapes_with_layout = 57;
  int64 batch_group_count = 58;
  TriangularSolveOptions triangular_solve_options = 59;
  bool is_stable = 60;
  ParameterReplication parameter_replication = 61;
  CholeskyOptions cholesky_options = 62;
  string comparison_direction = 63;
  bool custom_call_has_side_effect = 65;
  int64 delta = 66;
  bool indices_are_sorted = 67;
  FrontendAttributes frontend_attributes = 68;
  bool unique_indices = 69;
  int64 rng_algorithm = 70;
  bool use_global_device_ids = 71;
  string comparison_type = 72;
  repeated OutputOperandAliasing output_operand_aliasing = 74;
  int64 padding_type = 75;
  int64 custom_call_schedule = 76;
  int64 custom_call_api_version = 77;
  string async_execution_thread = 79;
  int64 cross_program_prefetch_index = 80;
  int64 k = 81;
  bool largest = 85;
  CollectiveDeviceListProto collective_device_list = 87;
  bool is_composite = 89;
  RaggedDotDimensionNumbers ragged_dot_dimension_numbers = 90;
  ResultAccuracy result_accuracy = 91;
  IotaReplicaGroupListProto iota_collective_device_list = 92;
  MeshAxesReplicaGroupListProto mesh_axes_replica_group_list = 93;
  bool is_reverse = 94;
  int64 num_carries = 95;
  int64 is_associative = 96;
  int64 conv_kind = 97;
  bool has_dynamic_root = 100;
}
""",
    XLA_DATA,
)

PRIMITIVE_TYPES = {
    1: "pred", 2: "s8", 3: "s16", 4: "s32", 5: "s64", 6: "u8", 7: "u16", 8: "u32", 9: "u64", 10: "f16", 11: "f32", 12: "f64",
    13: "tuple", 14: "opaque", 15: "c64", 16: "bf16", 17: "token", 18: "c128", 19: "f8e5m2", 20: "f8e4m3fn", 21: "s4", 22: "u4",
    23: "f8e4m3b11fnuz", 24: "f8e5m2fnuz", 25: "f8e4m3fnuz", 26: "s2", 27: "u2", 28: "f8e4m3", 29: "f8e3m4", 30: "s1", 31: "u1",
    32: "f4e2m1fn", 33: "f8e8m0fnu", 34: "buffer", 35: "f6e3m2fn", 36: "f6e2m3fn",
}  # fmt: skip
TUPLE, BUFFER = 13, 34

ENUMS: dict[str, tuple[str, ...]] = {
    "algorithm": (
        "unset", "dot_any_f8_any_f8_f32", "dot_any_f8_any_f8_f32_fast_accum", "dot_f16_f16_f16", "dot_f16_f16_f32",
        "dot_bf16_bf16_bf16", "dot_bf16_bf16_f32", "dot_bf16_bf16_f32_x3", "dot_bf16_bf16_f32_x6", "dot_tf32_tf32_f32",
        "dot_tf32_tf32_f32_x3", "dot_f32_f32_f32", "dot_f64_f64_f64", "dot_bf16_bf16_f32_x9",
    ),
    "conv_kind": ("unset", "fprop", "dgrad", "wgrad"),
    "custom_call_api_version": (
        "API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING", "API_VERSION_STATUS_RETURNING_UNIFIED",
        "API_VERSION_TYPED_FFI",
    ),
    "custom_call_schedule": ("SCHEDULE_NONE", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST"),
    "distribution": ("rng_invalid", "rng_uniform", "rng_normal"),
    "fft_type": ("FFT", "IFFT", "RFFT", "IRFFT"),
    "operand_precision": ("default", "high", "highest"),
    "padding_type": ("PADDING_INVALID", "PADDING_VALID", "PADDING_SAME"),
    "rng_algorithm": ("rng_default", "rng_three_fry", "rng_philox"),
    "sharding_type": ("replicated", "maximal", "tuple", "other", "manual", "unknown", "unreduced"),
    "transpose_a": ("TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"),
}  # fmt: skip
"""The names of enumerated values, as HLO text writes them."""


def enum_name(field: str, value: int) -> str:
    """The name of an enumerated value, or its number if it is newer than this table."""
    names = ENUMS[field]
    return names[value] if 0 <= value < len(names) else str(value)
