"""XLA's buffer assignment as a protocol buffer: next to a module in a `.hlo.pb` file or a profile, or captured from a live object. The
schedule has the live ranges."""

from __future__ import annotations

from opscope.memory.model import Memory
from opscope.memory.schedule import schedule_ranges
from opscope.memory.xla import assigned_memory
from opscope.memory.xla_reports import HOST, Allocation, Assigned, check_place
from opscope.profile.xplane import is_xplane, modules_in
from opscope.program import Program
from opscope.protobuf.hlo import HLO
from opscope.protobuf.wire import Message, Schema
from opscope.readers.hlo_proto import hlo_proto, sniff
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


def proto_memory(source: Source, program: Program) -> Memory | None:
    """The memory of one program of a file: of an HLO proto, or of a profile, which has the protos of its modules. None without a plan."""
    if is_xplane(source.head):
        modules = modules_in(source.read_bytes())
        names = {f"{module.name}({number})": module.hlo for number, module in modules.items()}
        data = names.get(program.name) or next((module.hlo for module in modules.values() if module.name == program.name), b"")
    else:
        data = source.read_bytes() if sniff(source).confidence else b""
    proto = hlo_proto(data) if data else {}
    plan = proto.get("buffer_assignment")
    return _planned_memory(program, proto["hlo_module"], plan) if plan else None


def captured_memory(program: Program) -> Memory | None:
    """The memory of a program that was captured with XLA's plan for it."""
    plan = program.memory_plan
    return None if plan is None else _planned_memory(program, HLO.decode("HloModuleProto", plan.module), plan.assignment)


def _planned_memory(program: Program, module: Message, data: bytes) -> Memory:
    """The memory of a module, from its BufferAssignmentProto."""
    names = {
        instruction.get("id", 0): instruction["name"]
        for computation in module.get("computations", ())
        for instruction in computation.get("instructions", ())
    }
    assignment = _SCHEMA.decode("BufferAssignmentProto", data)
    values = {buffer.get("id", 0): _defined_at(buffer, names) for buffer in assignment.get("logical_buffers", ())}
    tuples = {name for name, element in values.values() if element != "{}"}
    allocations = [_allocation(each, values) for each in assignment.get("buffer_allocations", ())]
    for allocation in allocations:
        for value in allocation.values:
            check_place(value, allocation)
    return assigned_memory(program.name, allocations, schedule_ranges(program, tuples), program)


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
