"""Along which axes of the user's mesh a collective operation works, from its groups of devices and the mesh that the program began with."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import product
from math import prod
from typing import NamedTuple

from opscope.program import Node, Program

_MESH = re.compile(r"#sdy\.mesh<\[([^\[\]]*+)\](, *device_ids)?")
_AXIS = re.compile(r"\\?\"(?P<name>[^\"\\]+)\\?\" *= *(?P<size>\d{1,9})")
_IOTA = re.compile(r"\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?$")
_GROUP = re.compile(r"\{(\d[\d, ]*+)\}")
_BY_AXES = re.compile(r"mesh\[([^\]]*)\] *\{([^}]*)\}$")
_SIZED = re.compile(r"'([^']*)'=(\d{1,9})")
_PART = re.compile(r"'([^']*)'(?::\((\d{1,9})\)(\d{1,9}))?")
_MOST_DEVICES = 1 << 16


class Mesh(NamedTuple):
    """Axes with their sizes, the slowest first."""

    axes: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        return ", ".join(f"{name}={size}" for name, size in self.axes)


def meshes_of(program: Program) -> list[Mesh]:
    """The meshes that JAX named in a module, if its devices are those of every mesh, in order: otherwise ids say nothing about axes."""
    found = list(_MESH.finditer(str(program.attrs.get("frontend_attributes", ""))))
    meshes = [Mesh(tuple((axis["name"], int(axis["size"])) for axis in _AXIS.finditer(mesh[1]))) for mesh in found]
    devices = str(program.attrs.get("num_partitions", "1"))
    fits = all(devices == str(prod(size for _, size in mesh.axes)) for mesh in meshes)
    return meshes if fits and "replica_count" not in program.attrs and not any(mesh[2] for mesh in found) else []


def axes_of(node: Node, meshes: Iterable[Mesh]) -> str:
    """ "mesh axis model of data=2, model=2", or nothing if the node has no groups of devices, or if no axes of one mesh give them."""
    groups = _groups(str(node.attrs.get("replica_groups", "")))
    if not groups or str(node.attrs.get("use_global_device_ids", "")) != "true":
        return ""
    found = {f"mesh ax{'i' if len(axes) == 1 else 'e'}s {', '.join(axes)} of {mesh}" for mesh in meshes if (axes := _axes(groups, mesh))}
    return found.pop() if len(found) == 1 else ""


def _axes(groups: list[tuple[int, ...]], mesh: Mesh) -> list[str]:
    """The axes along which the coordinates of a group vary, if these give all of the groups."""
    sizes = [size for _, size in mesh.axes]
    if prod(sizes) != sum(map(len, groups)) or sorted(device for group in groups for device in group) != list(range(prod(sizes))):
        return []
    strides = _strides(sizes)
    varying = [at for at, size in enumerate(sizes) if len({device // strides[at] % size for device in groups[0]}) > 1]
    along, firsts = _devices(sizes, varying), _devices(sizes, [at for at in range(len(sizes)) if at not in varying])
    expected = {frozenset(first + step for step in along) for first in firsts}
    return [mesh.axes[at][0] for at in varying] if {frozenset(group) for group in groups} == expected else []


def _devices(sizes: list[int], axes: list[int]) -> list[int]:
    """The devices along these axes, from device 0 on, where the last axis varies fastest."""
    strides = _strides(sizes)
    return [sum(c * strides[at] for at, c in zip(axes, place, strict=True)) for place in product(*(range(sizes[at]) for at in axes))]


def _strides(sizes: list[int]) -> list[int]:
    return [prod(sizes[at + 1 :]) for at in range(len(sizes))]


def _groups(text: str) -> list[tuple[int, ...]]:
    """Groups of devices, as XLA writes them: {{0,1},{2,3}}, or [2,2]<=[4], or [2,2]<=[2,2]T(1,0), or mesh['a'=2,'b'=2] {'a'}."""
    by_axes = _BY_AXES.match(text.strip())
    if by_axes:
        return _groups_by_axes(_SIZED.findall(by_axes[1]), _PART.findall(by_axes[2]))
    iota = _IOTA.match(text.strip())
    if not iota:
        return [tuple(map(int, re.findall(r"\d{1,9}", group))) for group in _GROUP.findall(text)]
    shape, dims, order = ([int(each[:9]) for each in (part or "").split(",") if each] for part in iota.groups())
    order = order or list(range(len(dims)))
    if len(shape) != 2 or prod(shape) != prod(dims) or not 0 < prod(dims) <= _MOST_DEVICES or sorted(order) != list(range(len(dims))):
        return []
    devices = _devices(dims, order)
    return [tuple(devices[start : start + shape[1]]) for start in range(0, len(devices), shape[1])]


def _groups_by_axes(mesh: list[tuple[str, str]], axes: list[tuple[str, str, str]]) -> list[tuple[int, ...]]:
    """The groups along axes of a mesh of the compiler's own, whose names are not the user's; `'a':(2)4` is a part of an axis."""
    parts = {name: (before, size) for name, before, size in axes}
    if len(parts) != len(axes) or not parts.keys() <= dict(mesh).keys():
        return []
    sizes: list[int] = []
    along: list[int] = []
    for name, whole in mesh:
        if name in parts:
            before, size = (int(each) for each in parts[name]) if parts[name][1] else (1, int(whole))
            if not before * size or int(whole) % (before * size):
                return []
            along.append(len(sizes) + 1)
            sizes += [before, size, int(whole) // (before * size)]
        else:
            sizes.append(int(whole))
    if not 0 < prod(sizes) <= _MOST_DEVICES:
        return []
    steps, firsts = _devices(sizes, along), _devices(sizes, [at for at in range(len(sizes)) if at not in along])
    return [tuple(first + step for step in steps) for first in firsts]
