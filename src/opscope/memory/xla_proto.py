"""XLA's buffer assignment as a protocol buffer, next to the module in a `.hlo.pb` file. Live ranges follow from the schedule."""

from __future__ import annotations

from opscope.memory.model import Memory
from opscope.memory.schedule import schedule_ranges
from opscope.memory.xla import assigned_memory
from opscope.memory.xla_reports import HOST, Allocation, Assigned
from opscope.program import Program
from opscope.protobuf.wire import Message, Schema
from opscope.readers.hlo_proto import hlo_proto, program_of, sniff
from opscope.readers.source import Source

_SCHEMA = Schema("""
message BufferAssignmentProto { repeated LogicalBufferProto logical_buffers = 1; repeated BufferAllocationProto buffer_allocations = 3; }
message LogicalBufferProto { int64 id = 1; int64 size = 2; Location defined_at = 3; }
message Location { repeated int64 shape_index = 3; int64 instruction_id = 4; }
message BufferAllocationProto {
  int64 index = 1;
  int64 size = 2;
  bool is_thread_local = 3;
  bool is_entry_computation_parameter = 5;
  int64 parameter_number = 6;
  bool maybe_live_out = 7;
  int64 color = 8;
  repeated Assigned assigned = 9;
  bool is_constant = 12;
}
message Assigned { int64 logical_buffer_id = 1; int64 offset = 2; int64 size = 3; }
""")


def read_proto(source: Source) -> list[Memory]:
    """The memory of an HLO proto; none if the source is not one, or has no buffer assignment."""
    if not sniff(source).confidence:
        return []
    proto = hlo_proto(source.read_bytes())
    data = proto.get("buffer_assignment")
    return [proto_memory(program_of(proto["hlo_module"]), proto["hlo_module"], data)] if data else []


def proto_memory(program: Program, module: Message, data: bytes) -> Memory:
    """The memory of a module, from its BufferAssignmentProto."""
    names = {
        instruction.get("id", 0): instruction["name"]
        for computation in module.get("computations", ())
        for instruction in computation.get("instructions", ())
    }
    assignment = _SCHEMA.decode("BufferAssignmentProto", data)
    values = {buffer.get("id", 0): _defined_at(buffer, names) for buffer in assignment.get("logical_buffers", ())}
    allocations = [_allocation(each, values) for each in assignment.get("buffer_allocations", ())]
    return assigned_memory(program.name, allocations, schedule_ranges(program), program)


def _defined_at(buffer: Message, names: dict[int, str]) -> tuple[str, str]:
    place = buffer.get("defined_at", {})
    return names.get(place.get("instruction_id", 0), ""), "{" + ",".join(map(str, place.get("shape_index", ()))) + "}"


def _allocation(each: Message, values: dict[int, tuple[str, str]]) -> Allocation:
    is_parameter, is_output = each.get("is_entry_computation_parameter", False), each.get("maybe_live_out", False)
    is_constant = each.get("is_constant", False)
    assigned = [
        Assigned(*values.get(value.get("logical_buffer_id", 0), ("", "{}")), value.get("size", 0), value.get("offset", 0), "")
        for value in each.get("assigned", ())
    ]
    return Allocation(
        each.get("index", 0),
        each.get("size", 0),
        each.get("parameter_number", 0) if is_parameter else None,
        is_output,
        not (is_parameter or is_output or is_constant or each.get("is_thread_local", False)),
        is_constant,
        each.get("color", 0) == HOST,
        assigned,
    )
