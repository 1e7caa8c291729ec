"""An instruction's attributes, in XLA's order and spelling (`PrintExtraAttributes` in xla/hlo/ir/hlo_instructions.cc)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from opscope.errors import SourceError
from opscope.protobuf.hlo import PRIMITIVE_TYPES, enum_name
from opscope.protobuf.wire import Message
from opscope.readers.hlo.lexing import group_end
from opscope.readers.hlo_proto.literals import literal_text
from opscope.readers.hlo_proto.shardings import replica_groups, sharding_text
from opscope.readers.hlo_proto.types import joined, type_text

_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "'": "\\'", "\\": "\\\\"}
_ESCAPED = re.compile(r"[\x00-\x1f\x7f\"'\\]")
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.:/-]*")
_COLLECTIVES = frozenset(
    ["all-gather", "all-gather-start", "all-reduce", "all-reduce-start", "all-to-all", "collective-broadcast", "collective-reduce",
     "ragged-all-to-all", "reduce-scatter"]
)  # fmt: skip
_DIMENSIONS = frozenset(
    ["broadcast", "concatenate", "get-dimension-size", "map", "reduce", "reverse", "scan", "set-dimension-size", "sort", "transpose"]
)


def quoted(text: str) -> str:
    """A string of HLO text."""
    return '"' + _ESCAPED.sub(lambda match: _ESCAPES.get(match[0], f"\\{ord(match[0]):03o}"), text) + '"'


def braces(values: Sequence[object]) -> str:
    return f"{{{joined(values)}}}"


def _is_dictionary(text: str) -> bool:
    """Whether XLA writes a text as it is, because its braces match: `{"n":"7"}`."""
    if not text.startswith("{") or "\n" in text:
        return False
    try:
        return group_end(text, 0) == len(text)
    except SourceError:
        return False


def own_attributes(instruction: Message, operand_type: int) -> Iterator[str]:
    """The attributes that belong to the opcode. `operand_type` is the element type of the first operand."""
    opcode = instruction.get("opcode", "")
    yield from _channel(instruction, opcode)
    if opcode == "scan":
        yield f"dimensions={braces(instruction.get('dimensions', ()))}"
        yield f"num_carries={instruction.get('num_carries', 0)}"
        yield from _flags(instruction, "is_reverse")
        if instruction.get("is_associative"):
            yield f"is_associative={'true' if instruction['is_associative'] == 1 else 'false'}"
    elif opcode in _DIMENSIONS:
        yield f"dimensions={braces(instruction.get('dimensions', ()) or ((0,) if opcode.endswith('dimension-size') else ()))}"
        if opcode == "sort":
            yield from _flags(instruction, "is_stable")
    elif opcode == "compare":
        yield f"direction={instruction.get('comparison_direction', 'EQ')}"
        kind = instruction.get("comparison_type", "")
        if kind and kind != _usual_comparison(operand_type):
            yield f"type={kind}"
    else:
        yield from _OWN.get(opcode, _nothing)(instruction)


def _nothing(_: Message) -> Iterator[str]:
    return iter(())


def _flags(instruction: Message, *names: str) -> Iterator[str]:
    """`name=true` for the fields that are set."""
    return (f"{name}=true" for name in names if instruction.get(name))


def _numbers(*names: str) -> Callable[[Message], Iterator[str]]:
    return lambda instruction: (f"{name}={instruction.get(name, 0)}" for name in names)


def _usual_comparison(element_type: int) -> str:
    name = PRIMITIVE_TYPES.get(element_type, "")
    return "SIGNED" if name.startswith("s") else "UNSIGNED" if name.startswith(("u", "p")) else "FLOAT"


def _channel(instruction: Message, opcode: str) -> Iterator[str]:
    """Collectives, and other instructions that talk over a channel."""
    is_collective = opcode in _COLLECTIVES
    is_permute = opcode in ("collective-permute", "collective-permute-start")
    if not is_collective and not is_permute and opcode not in ("send", "send-done", "recv", "recv-done"):
        return
    if instruction.get("channel_id", 0) > 0:
        yield f"channel_id={instruction['channel_id']}"
    if is_permute:
        pairs = instruction.get("source_target_pairs", ())
        yield f"source_target_pairs={braces([braces((pair.get('source', 0), pair.get('target', 0))) for pair in pairs])}"
        return
    if not is_collective:
        yield from _flags(instruction, "is_host_transfer")
        return
    yield f"replica_groups={replica_groups(instruction)}"
    yield from _flags(instruction, "constrain_layout")
    dimensions = instruction.get("dimensions", ())
    at = [f"dimensions={braces(dimensions)}"] if dimensions else []
    if opcode.startswith(("all-reduce", "reduce-scatter", "collective-reduce")):
        yield from _flags(instruction, "use_global_device_ids")
        yield from at
    else:
        yield from at
        yield from _flags(instruction, "use_global_device_ids")
    if opcode in ("collective-broadcast", "collective-reduce"):
        yield f"has_dynamic_root={'true' if instruction.get('has_dynamic_root') else 'false'}"


def _aliasing(instruction: Message) -> Iterator[str]:
    pairs = instruction.get("output_operand_aliasing", ())
    if pairs:
        texts = [
            f"{braces(pair.get('output_shape_index', ()))}: ({pair.get('operand_index', 0)}, {braces(pair.get('operand_shape_index', ()))})"
            for pair in pairs
        ]
        yield f"output_to_operand_aliasing={{{', '.join(texts)}}}"


def _slice(instruction: Message) -> Iterator[str]:
    parts = instruction.get("slice_dimensions", ())
    steps = any(part.get("stride", 0) != 1 for part in parts)
    texts = [f"[{part.get('start', 0)}:{part.get('limit', 0)}" + (f":{part.get('stride', 0)}]" if steps else "]") for part in parts]
    yield f"slice={{{', '.join(texts)}}}"


def _fusion(instruction: Message) -> Iterator[str]:
    yield f"kind={instruction.get('fusion_kind', '')}"
    yield from _aliasing(instruction)


def _pad(instruction: Message) -> Iterator[str]:
    parts = instruction.get("padding_config", {}).get("dimensions", ())
    inner = any(part.get("interior_padding", 0) for part in parts)
    texts = [
        f"{part.get('edge_padding_low', 0)}_{part.get('edge_padding_high', 0)}" + (f"_{part.get('interior_padding', 0)}" if inner else "")
        for part in parts
    ]
    yield f"padding={'x'.join(texts)}"


def _gather(instruction: Message) -> Iterator[str]:
    numbers = instruction.get("gather_dimension_numbers", {})
    yield from _lists(numbers, "offset_dims", "collapsed_slice_dims", "start_index_map")
    yield from _lists(numbers, "operand_batching_dims", "start_indices_batching_dims", always=False)
    yield f"index_vector_dim={numbers.get('index_vector_dim', 0)}"
    yield f"slice_sizes={braces(instruction.get('gather_slice_sizes', ()))}"
    yield from _flags(instruction, "indices_are_sorted")


def _scatter(instruction: Message) -> Iterator[str]:
    numbers = instruction.get("scatter_dimension_numbers", {})
    yield from _lists(numbers, "update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims")
    yield from _lists(numbers, "input_batching_dims", "scatter_indices_batching_dims", always=False)
    yield f"index_vector_dim={numbers.get('index_vector_dim', 0)}"
    yield from _flags(instruction, "indices_are_sorted", "unique_indices")


def _lists(message: Message, *names: str, always: bool = True) -> Iterator[str]:
    return (f"{name}={braces(message.get(name, ()))}" for name in names if always or message.get(name))


def _contraction(numbers: Message) -> Iterator[str]:
    for side in ("lhs", "rhs"):
        if numbers.get(f"{side}_batch_dimensions"):
            yield f"{side}_batch_dims={braces(numbers[f'{side}_batch_dimensions'])}"
        yield f"{side}_contracting_dims={braces(numbers.get(f'{side}_contracting_dimensions', ()))}"


def _dot(instruction: Message) -> Iterator[str]:
    yield from _contraction(instruction.get("dot_dimension_numbers", {}))
    yield from _precision(instruction)


def _ragged_dot(instruction: Message) -> Iterator[str]:
    numbers = instruction.get("ragged_dot_dimension_numbers", {})
    yield from _contraction(numbers.get("dot_dimension_numbers", {}))
    for name in ("lhs_ragged", "rhs_group"):
        if numbers.get(f"{name}_dimensions"):
            yield f"{name}_dims={braces(numbers[f'{name}_dimensions'])}"
    yield from _precision(instruction)


def _precision(instruction: Message) -> Iterator[str]:
    config = instruction.get("precision_config", {})
    operands = config.get("operand_precision", ())
    if any(operands):
        yield f"operand_precision={braces([enum_name('operand_precision', one) for one in operands])}"
    if config.get("algorithm"):
        yield f"algorithm={enum_name('algorithm', config['algorithm'])}"


def _window(instruction: Message) -> Iterator[str]:
    sizes = instruction.get("window", {}).get("dimensions", ())
    if not sizes:
        return
    columns: list[tuple[str, list[str], bool]] = []
    for name, field, usual in (("size", "size", None), ("stride", "stride", 1), ("pad", "", 0), ("lhs_dilate", "base_dilation", 1),
                               ("rhs_dilate", "window_dilation", 1), ("rhs_reversal", "window_reversal", False)):  # fmt: skip
        if name == "pad":
            pads = [(size.get("padding_low", 0), size.get("padding_high", 0)) for size in sizes]
            columns.append((name, [f"{low}_{high}" for low, high in pads], any(low or high for low, high in pads)))
        else:
            values = [size.get(field, 0) for size in sizes]
            columns.append((name, [str(int(value)) for value in values], any(value != usual for value in values)))
    shown = [f"{name}={'x'.join(texts)}" for name, texts, is_shown in columns if is_shown]
    yield f"window={{{' '.join(shown)}}}"


def _convolution(instruction: Message) -> Iterator[str]:
    yield from _window(instruction)
    yield from _dim_labels(instruction)
    yield from _groups(instruction)
    if instruction.get("conv_kind"):
        yield f"convolution_kind={enum_name('conv_kind', instruction['conv_kind'])}"
    yield from _precision(instruction)


def _groups(instruction: Message) -> Iterator[str]:
    for name in ("feature_group_count", "batch_group_count"):
        if instruction.get(name, 1) not in (0, 1):
            yield f"{name}={instruction[name]}"


def _dim_labels(instruction: Message) -> Iterator[str]:
    numbers = instruction.get("convolution_dimension_numbers")
    if numbers is not None:
        sides = [
            _labels(numbers, "bf", "input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"),
            _labels(numbers, "io", "kernel_input_feature_dimension", "kernel_output_feature_dimension", "kernel_spatial_dimensions"),
            _labels(numbers, "bf", "output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions"),
        ]
        yield f"dim_labels={sides[0]}_{sides[1]}->{sides[2]}"


def _labels(numbers: Message, letters: str, first: str, second: str, spatial: str) -> str:
    """`b01f`: which dimension is what."""
    labels = {numbers.get(first, 0): letters[0], numbers.get(second, 0): letters[1]}
    labels |= {dimension: str(i) for i, dimension in enumerate(numbers.get(spatial, ()))}
    return "".join(labels[dimension] for dimension in sorted(labels))


def _custom_call(instruction: Message) -> Iterator[str]:
    yield from _window(instruction)
    yield from _dim_labels(instruction)
    yield from _groups(instruction)
    yield from _precision(instruction)
    if instruction.get("padding_type"):
        yield f"padding_type={enum_name('padding_type', instruction['padding_type'])}"
    yield f"custom_call_target={quoted(instruction.get('custom_call_target', ''))}"
    if instruction.get("constrain_layout"):
        types = map(type_text, instruction.get("operand_shapes_with_layout", ()))
        yield f"operand_layout_constraints={{{joined(types, ', ')}}}"
    yield from _flags(instruction, "custom_call_has_side_effect")
    if "literal" in instruction:
        yield f"literal={literal_text(instruction['literal'], instruction.get('shape', {}))}"
    yield from _aliasing(instruction)
    if instruction.get("custom_call_schedule"):
        yield f"schedule={enum_name('custom_call_schedule', instruction['custom_call_schedule'])}"
    if instruction.get("custom_call_api_version", 1) > 1:
        yield f"api_version={enum_name('custom_call_api_version', instruction['custom_call_api_version'])}"


def _options(field: str, enums: Sequence[str] = ()) -> Callable[[Message], Iterator[str]]:
    """The fields of an options message that are set."""

    def write(instruction: Message) -> Iterator[str]:
        for name, value in instruction.get(field, {}).items():
            yield f"{name}={enum_name(name, value) if name in enums else 'true' if value else 'false'}"

    return write


def _named(key: str, field: str) -> Callable[[Message], Iterator[str]]:
    return lambda instruction: iter((f"{key}={enum_name(field, instruction.get(field, 0))}",))


def _config(field: str) -> Callable[[Message], Iterator[str]]:
    def write(instruction: Message) -> Iterator[str]:
        if field == "outfeed_config":
            yield f"outfeed_shape={type_text(instruction.get('outfeed_shape', {}))}"
        if instruction.get(field):
            yield f"{field}={quoted(instruction[field].decode('utf-8', 'replace'))}"

    return write


def _first_dimension(key: str) -> Callable[[Message], Iterator[str]]:
    return lambda instruction: iter((f"{key}={(instruction.get('dimensions') or (0,))[0]}",))


def _reshape(instruction: Message) -> Iterator[str]:
    if instruction.get("dimensions"):
        yield f"inferred_dimension={instruction['dimensions'][0]}"


def _fft(instruction: Message) -> Iterator[str]:
    yield f"fft_type={enum_name('fft_type', instruction.get('fft_type', 0))}"
    yield f"fft_length={braces(instruction.get('fft_length', ()))}"


def _top_k(instruction: Message) -> Iterator[str]:
    yield f"k={instruction.get('k', 0)}"
    yield f"largest={'true' if instruction.get('largest') else 'false'}"
    yield from _flags(instruction, "is_stable")


def _batch_norm(instruction: Message) -> Iterator[str]:
    yield f"epsilon={instruction.get('epsilon', 0.0):g}"
    yield f"feature_index={instruction.get('feature_index', 0)}"


def _copy_start(instruction: Message) -> Iterator[str]:
    if "cross_program_prefetch_index" in instruction:
        yield f"cross_program_prefetch_index={instruction['cross_program_prefetch_index']}"


def _domain(instruction: Message) -> Iterator[str]:
    entry, exit = (sharding_text(instruction.get(f"domain_{side}_sharding", {})) for side in ("entry", "exit"))
    yield f'domain={{kind="sharding", entry={entry}, exit={exit}}}'


def _parameter(instruction: Message) -> Iterator[str]:
    leaves = instruction.get("parameter_replication", {}).get("replicated_at_leaf_buffers")
    if leaves:
        yield f"parameter_replication={braces(['true' if leaf else 'false' for leaf in leaves])}"


def _async_start(instruction: Message) -> Iterator[str]:
    thread = instruction.get("async_execution_thread", "main")
    if thread not in ("main", ""):
        yield f"async_execution_thread={quoted(thread)}"


_OWN: dict[str, Callable[[Message], Iterator[str]]] = {
    "async-done": _aliasing,
    "async-start": _async_start,
    "async-update": _aliasing,
    "batch-norm-grad": _batch_norm,
    "batch-norm-inference": _batch_norm,
    "batch-norm-training": _batch_norm,
    "cholesky": _options("cholesky_options"),
    "convolution": _convolution,
    "copy-start": _copy_start,
    "custom-call": _custom_call,
    "domain": _domain,
    "dot": _dot,
    "dynamic-slice": lambda instruction: _lists(instruction, "dynamic_slice_sizes"),
    "fft": _fft,
    "fusion": _fusion,
    "gather": _gather,
    "get-tuple-element": lambda instruction: iter((f"index={instruction.get('tuple_index', 0)}",)),
    "infeed": _config("infeed_config"),
    "iota": _first_dimension("iota_dimension"),
    "outfeed": _config("outfeed_config"),
    "pad": _pad,
    "parameter": _parameter,
    "ragged-dot": _ragged_dot,
    "reduce-precision": _numbers("exponent_bits", "mantissa_bits"),
    "reduce-window": _window,
    "reshape": _reshape,
    "rng": _named("distribution", "distribution"),
    "rng-bit-generator": _named("algorithm", "rng_algorithm"),
    "rng-get-and-update-state": _numbers("delta"),
    "scaled-dot": _dot,
    "scatter": _scatter,
    "select-and-scatter": _window,
    "slice": _slice,
    "topk": _top_k,
    "triangular-solve": _options("triangular_solve_options", ["transpose_a"]),
}


def frontend_attributes(message: Message) -> str:
    """`{key="value",…}`, sorted."""
    pairs = sorted((pair.get("key", ""), pair.get("value", "")) for pair in message.get("map", ()))
    texts = [
        f"{key if _PLAIN_KEY.fullmatch(key) else quoted(key)}={value if _is_dictionary(value) else quoted(value)}" for key, value in pairs
    ]
    return f"{{{','.join(texts)}}}"


def common_attributes(instruction: Message, control: Sequence[str]) -> Iterator[str]:
    """The attributes that any instruction may have, before its metadata."""
    if "sharding" in instruction:
        yield f"sharding={sharding_text(instruction['sharding'])}"
    if instruction.get("frontend_attributes", {}).get("map"):
        yield f"frontend_attributes={frontend_attributes(instruction['frontend_attributes'])}"
    if control:
        yield f"control-predecessors={{{joined((f'%{name}' for name in control), ', ')}}}"
    accuracy = instruction.get("result_accuracy", {})
    if accuracy.get("mode"):
        yield "result_accuracy={mode=highest}"
    elif "tolerance" in accuracy:
        limits = joined(f"{name}={accuracy['tolerance'].get(name, 0):g}" for name in ("atol", "rtol", "ulps"))
        yield f"result_accuracy={{tolerance={{{limits}}}}}"


_METADATA = (
    ("op_type", True), ("op_name", True), ("source_file", True), ("source_line", False), ("source_end_line", False),
    ("source_column", False), ("source_end_column", False), ("deduplicated_name", True), ("scheduling_name", True),
    ("stack_frame_id", False),
)  # fmt: skip
"""The fields of the metadata in the order of the text, and whether each is a string."""


def metadata_text(metadata: Message) -> str:
    parts = [f"{key}={quoted(metadata[key]) if is_string else metadata[key]}" for key, is_string in _METADATA if metadata.get(key)]
    return f"metadata={{{' '.join(parts)}}}" if parts else ""


def backend_config(data: bytes) -> str:
    text = data.decode("utf-8", "replace")
    return f"backend_config={text if _is_dictionary(text) else quoted(text)}"
