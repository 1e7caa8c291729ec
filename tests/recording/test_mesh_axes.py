"""A collective is told by the axes of the user's mesh, which the partitioner drops from the text."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from opscope.analysis.mesh_axes import Mesh, axes_of, meshes_of
from opscope.cli import main
from opscope.program import Node, Program, ProgramBuilder, TensorType

MESHED = Path(__file__).parent / "meshed"
"""Texts that XLA wrote for `tanh(x @ w1) @ w2` on a mesh of data=2, model=2: both weights are split along model."""
MESH = Mesh((("a", 2), ("b", 3), ("c", 4)))


def collective(groups: str, **attrs: str) -> Node:
    builder = ProgramBuilder("m")
    graph = builder.graph("main")
    attrs = {"replica_groups": groups, "use_global_device_ids": "true", **attrs}
    graph.node("sum", "all-reduce", outputs=[TensorType("f32", (4,))], attrs=attrs)
    return builder.build().main["sum"]


def groups_along(axes: tuple[int, ...]) -> np.ndarray:
    """The groups of devices that differ only along these axes, by NumPy."""
    sizes = [size for _, size in MESH.axes]
    rest = [axis for axis in range(3) if axis not in axes]
    return np.arange(24).reshape(sizes).transpose(*rest, *axes).reshape(-1, int(np.prod([sizes[axis] for axis in axes])))


@pytest.mark.parametrize("axes", [axes for count in (1, 2, 3) for axes in combinations(range(3), count)])
def test_groups_along_any_axes_are_told(axes: tuple[int, ...]) -> None:
    rows = groups_along(axes)
    names = [MESH.axes[axis][0] for axis in axes]
    expected = f"mesh {'axis' if len(names) == 1 else 'axes'} {', '.join(names)} of a=2, b=3, c=4"
    listed = "{" + ",".join("{" + ",".join(map(str, row)) + "}" for row in rows) + "}"
    order = ",".join(str(axis) for axis in (*(axis for axis in range(3) if axis not in axes), *axes))
    for text in (listed, f"[{len(rows)},{rows.shape[1]}]<=[2,3,4]T({order})"):
        assert axes_of(collective(text), [MESH]) == expected


@pytest.mark.parametrize(
    ("groups", "along"),
    [
        ("mesh['axis_0'=2,'axis_1'=1,'axis_2'=2] {'axis_0'}", "mesh axis data of data=2, model=2"),
        ("mesh['x'=2,'y'=2] {'y'}", "mesh axis model of data=2, model=2"),
        ("mesh['x'=4] {'x'}", "mesh axes data, model of data=2, model=2"),
        ("mesh['x'=4] {'x':(1)2}", "mesh axis data of data=2, model=2"),
        ("mesh['x'=4] {'x':(2)2}", "mesh axis model of data=2, model=2"),
        ("mesh['x'=2,'y'=2], device_ids=(0,2,1,3) {'y'}", ""),
        ("mesh['x'=4] {'x':(3)2}", ""),
        ("mesh['x'=4] {'y'}", ""),
        (f"mesh['x'={'9' * 9}] {{'x'}}", ""),
    ],
)
def test_groups_along_the_axes_of_the_compilers_own_mesh_are_told(groups: str, along: str) -> None:
    """XLA writes so what its combiner of all-reduces makes of several; the names of these axes are not the user's."""
    assert axes_of(collective(groups), [Mesh((("data", 2), ("model", 2)))]) == along


@pytest.mark.parametrize(
    "groups", ["", "{}", "{{0,1},{2,3}}", "{{0,5},{1,2}}", "[2,12]<=[23]", "[1,24]<=[2,3,4]T(0,0,1)", f"[1,{'9' * 5000}]<=[{'9' * 5000}]"]
)
def test_groups_that_no_axes_give_are_not_named(groups: str) -> None:
    assert axes_of(collective(groups), [MESH]) == ""


def test_ids_that_are_not_devices_say_nothing() -> None:
    assert axes_of(collective("{{0,1},{2,3}}", use_global_device_ids="false"), [Mesh((("a", 2), ("b", 2)))]) == ""


def test_meshes_are_read_from_the_module_if_all_devices_are_in_their_order() -> None:
    def program(meshes: str, **attrs: str) -> Program:
        builder = ProgramBuilder("m")
        builder.attrs.update(frontend_attributes=f"{{xla.sdy.meshes={{{meshes}}}}}", **attrs)
        builder.graph("main").node("x", "parameter", outputs=[TensorType("f32", (4,))])
        return builder.build()

    mesh = 'mesh = #sdy.mesh<["data"=2, "model"=2]>'
    assert meshes_of(program(mesh, num_partitions="4")) == [Mesh((("data", 2), ("model", 2)))]
    shuffled = f'{mesh}, other = #sdy.mesh<["x"=4], device_ids=[3,2,1,0]>'
    assert meshes_of(program(shuffled, num_partitions="4")) == meshes_of(program("", num_partitions="4")) == []
    assert meshes_of(program(mesh, num_partitions="8")) == meshes_of(program(mesh, num_partitions="4", replica_count="2")) == []


def test_history_names_the_axis_and_the_product(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["passes", str(MESHED), "--history", "all-reduce"]) == 0
    output = capsys.readouterr().out
    assert "dot_general.0 became dot.1, all-reduce" in output
    assert "all-reduce works along mesh axis model of data=2, model=2" in output


def test_exported_hlo_keeps_the_mesh_and_what_the_partitioner_may_change(tmp_path: Path) -> None:
    """A pass that runs on the file needs the header of the dump."""
    (dumped,) = MESHED.glob("*before_optimizations.txt")
    assert main(["export", f"{MESHED}@0", "-o", str(tmp_path / "prefix.hlo")]) == 0
    assert (tmp_path / "prefix.hlo").read_text().splitlines()[0] == dumped.read_text().splitlines()[0]
