"""Shardings and groups of devices, as HLO text writes them."""

from __future__ import annotations

from collections.abc import Sequence

from opscope.protobuf.hlo import enum_name
from opscope.protobuf.wire import Message
from opscope.readers.hlo_proto.types import joined

_REDUCTIONS = ("", "max", "min")


def iota(dims: Sequence[int], reshape: Sequence[int], permutation: Sequence[int]) -> str:
    """`[4,2]<=[2,4]T(1,0)`: devices counted up, reshaped and transposed."""
    transposed = f"T({joined(permutation)})" if len(reshape) > 1 else ""
    return f"[{joined(dims)}]<=[{joined(reshape)}]{transposed}"


def replica_groups(instruction: Message) -> str:
    """Which devices a collective runs on together: a list, a counted list, or axes of a mesh."""
    if "mesh_axes_replica_group_list" in instruction:
        by_axes = instruction["mesh_axes_replica_group_list"]
        mesh = by_axes.get("mesh", {})
        return f"{_mesh(mesh)} {{{joined(_axes(by_axes.get('axes', ()), mesh))}}}"
    if "iota_collective_device_list" in instruction:
        counted = instruction["iota_collective_device_list"]
        dims = (counted.get("num_replica_groups", 0), counted.get("num_devices_per_group", 0))
        return iota(dims, counted.get("iota_reshape_dims", ()), counted.get("iota_transpose_perm", ()))
    listed = instruction.get("collective_device_list", instruction).get("replica_groups", ())
    groups = ["{" + joined(group.get("replica_ids", ())) + "}" for group in listed]
    return "{" + ",".join(groups) + "}"


def sharding_text(sharding: Message) -> str:
    """A sharding; that of a tuple is a list, nested no deeper than messages may be."""
    if "named_sharding" in sharding:
        return _named(sharding["named_sharding"])
    kind = enum_name("sharding_type", sharding.get("type", 0))
    if kind == "tuple":
        return f"{{{joined(map(sharding_text, sharding.get('tuple_shardings', ())), ', ')}}}"
    devices = sharding.get("tile_assignment_devices", [])
    if kind == "maximal":
        text = f"maximal device={devices[0] if devices else 0}"
    elif kind == "other":
        text = _tiles(sharding, devices)
    else:
        text = kind
    if sharding.get("is_shard_group"):
        text += f" shard_{'like' if sharding.get('shard_group_type') else 'as'} {sharding.get('shard_group_id', 0)}"
    return f"{{{text}}}"


def _tiles(sharding: Message, devices: Sequence[int]) -> str:
    """`devices=[2,1,4]<=[8] last_tile_dim_replicate`."""
    dims, reshape = sharding.get("tile_assignment_dimensions", ()), sharding.get("iota_reshape_dims", ())
    counted = iota(dims, reshape, sharding.get("iota_transpose_perm", ())) if reshape else f"[{joined(dims)}]{joined(devices)}"
    last = [enum_name("sharding_type", kind) for kind in sharding.get("last_tile_dims", ())]
    replicated = " last_tile_dim_replicate" if sharding.get("replicate_on_last_tile_dim") else ""
    return f"devices={counted}{replicated}" + (f" last_tile_dims={{{', '.join(last)}}}" if last else "")


def _named(sharding: Message) -> str:
    """`{mesh['dp'=2,'tp'=4], [{'dp'}, {'tp', ?}], replicated={'x'}}`."""
    mesh = sharding.get("mesh", {})
    dims = sharding.get("dim_shardings", ())
    which = sharding.get("reduction_op", 0)
    reduction = _REDUCTIONS[which] if 0 <= which < len(_REDUCTIONS) else ""
    axes = {kind: _axes(sharding.get(f"{kind}_axes", ()), mesh) for kind in ("replicated", "unreduced", "manual")}
    if not dims and not any(axes.values()):
        return "{replicated}" if mesh.get("axes") or not mesh.get("device_ids") else f"{{{_mesh(mesh)}}}"
    if not dims and axes["unreduced"] and len(axes["unreduced"]) == len(mesh.get("axes", ())):
        return f"{{unreduced{f'={reduction}' if reduction else ''}}}"
    if not dims and axes["manual"] and len(axes["manual"]) == len(mesh.get("axes", ())):
        return f"{{{_mesh(mesh)}, manual}}"
    parts = [_mesh(mesh), f"[{joined((_dimension(dim, mesh) for dim in dims), ', ')}]"]
    parts += [f"{kind}={reduction if kind == 'unreduced' else ''}{{{joined(names, ', ')}}}" for kind, names in axes.items() if names]
    return f"{{{', '.join(parts)}}}"


def _dimension(dimension: Message, mesh: Message) -> str:
    axes = _axes(dimension.get("axes", ()), mesh)
    return f"{{{joined(axes if dimension.get('is_closed') else [*axes, '?'], ', ')}}}"


def _mesh(mesh: Message) -> str:
    """`mesh['dp'=2,'tp'=4]`, and the devices unless they are counted up."""
    axes, devices = mesh.get("axes", ()), mesh.get("device_ids", ())
    if not axes and len(devices) == 1:
        return f"maximal_mesh[device_id={devices[0]}]"
    transform = mesh.get("iota_transform", {})
    reshape = transform.get("reshape_dims", ())
    ids = f"[{joined(reshape)}]T({joined(transform.get('transpose_perm', ()))})" if len(reshape) > 1 else joined(devices)
    names = joined(f"'{axis.get('name', '')}'={axis.get('size', 0)}" for axis in axes)
    return f"mesh[{names}]" + (f", device_ids=({ids})" if ids else "")


def _axes(axes: Sequence[Message], mesh: Message) -> list[str]:
    """Axes by name; `'x':(2)4` is a part of one."""
    known = mesh.get("axes", ())
    texts = []
    for axis in axes:
        index = axis.get("mesh_axis_index", 0)
        part = axis.get("sub_axis_info")
        name = f"'{known[index].get('name', '')}'" if 0 <= index < len(known) else str(index)
        texts.append(name + (f":({part.get('pre_size', 0)}){part.get('size', 0)}" if part else ""))
    return texts
