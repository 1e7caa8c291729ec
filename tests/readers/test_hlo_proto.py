"""HLO protos: the same Program as the text of the same module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import opscope
from opscope import Program
from opscope.errors import SourceError
from opscope.protobuf.hlo import HLO
from opscope.readers.hlo import parse_hlo
from opscope.readers.hlo_proto import hlo_proto, program_of
from opscope.readers.source import Source

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
ONLY_IN_CONFIG = (
    "allow_spmd_sharding_propagation_to_output",
    "allow_spmd_sharding_propagation_to_parameters",
    "num_partitions",
    "replica_count",
)
"""What the text takes from the module's configuration, which is not part of the proto."""


def contents(program: Program) -> dict[str, Any]:
    """Everything that a program says, node by node; the order of graphs is XLA's own affair."""
    attrs = {key: value for key, value in program.attrs.items() if key not in ONLY_IN_CONFIG}
    graphs = {
        graph.name: (dict(graph.attrs), graph.outputs, [(*node[:8], dict(node.attrs), node.scope, node.source) for node in graph])
        for graph in program
    }
    return {"name": program.name, "entry": program.entry, "attrs": attrs, "graphs": graphs}


def one_instruction(**fields: Any) -> dict[str, Any]:
    return {"name": "m", "computations": [{"name": "c", "instructions": [{"name": "x", **fields}]}]}


def test_a_dump_is_the_same_program_in_both_forms() -> None:
    proto = opscope.load(SAMPLES / "hlo_proto" / "layers.hlo.pb")
    assert contents(proto) == contents(opscope.load(SAMPLES / "hlo_proto" / "layers.txt"))
    assert any(node.scope and node.source for graph in proto for node in graph)


def test_a_snapshot_and_a_bare_module_have_the_same_program(tmp_path: Path) -> None:
    data = (SAMPLES / "hlo_proto" / "layers.hlo.pb").read_bytes()
    expected = contents(opscope.load(SAMPLES / "hlo_proto" / "layers.hlo.pb"))
    assert data[0] == 0x0A and "buffer_assignment" in hlo_proto(data)
    size = len(data)
    snapshot = b"\x0a" + bytes([size & 127 | 128, size >> 7 & 127 | 128, size >> 14]) + data
    length, start = 0, 1
    while data[start] > 127:
        length |= (data[start] & 127) << 7 * (start - 1)
        start += 1
    length |= data[start] << 7 * (start - 1)
    for name, wrapped in (("snapshot", snapshot), ("module", data[start + 1 : start + 1 + length])):
        (tmp_path / name).write_bytes(wrapped)
        assert contents(opscope.load(tmp_path / name)) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x0a\x05saved\x12\x03add\x1a\x01x", "unrecognized format"),
        (b"\x0a\x0c\x08\x01\x12\x08/host:ab", "has no module"),
    ],
    ids=["GraphDef", "profile without a program"],
)
def test_other_protos_are_not_taken(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(SourceError, match=message):
        opscope.load(tmp_path / "other")


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ({"name": "m", "computations": [{"name": "a b"}]}, "a computation named 'a b'"),
        (one_instruction(opcode="add", operand_ids=[5]), "uses instruction 5"),
        (one_instruction(opcode="ROOT evil("), "has the opcode"),
        (one_instruction(opcode="call", called_computation_ids=[9]), "calls computation 9"),
        ({"name": "m"}, "no computation"),
    ],
    ids=["name", "operand", "opcode", "call", "empty"],
)
def test_a_module_that_does_not_fit_together_is_one_sentence(module: dict[str, Any], message: str) -> None:
    with pytest.raises(SourceError, match=message) as error:
        program_of(module)
    assert "\n" not in str(error.value) and not error.value.line


def test_names_are_text() -> None:
    """A string that looks like HLO stays a string."""
    metadata = {"op_name": 'a"}, calls=%evil, x={"\nROOT'}
    config = b'{"a": "}", "b": [1}'
    root = {"name": "x", "opcode": "add", "id": 1, "shape": {"element_type": 11}, "metadata": metadata, "backend_config": config}
    program = program_of({"name": "m", "computations": [{"name": "c", "instructions": [root], "root_id": 1}]})
    node = program["c"]["x"]
    assert node.attrs["metadata.op_name"] == metadata["op_name"] and node.attrs["backend_config"] == config.decode() and not node.calls


def test_a_schedule_orders_the_instructions() -> None:
    ops = [{"name": name, "opcode": "after-all", "id": i, "shape": {"element_type": 17}} for i, name in enumerate("abc")]
    module: dict[str, Any] = {"name": "m", "computations": [{"name": "c", "id": 4, "instructions": ops, "root_id": 0}]}
    assert [node.id for node in program_of(module).main] == ["a", "b", "c"]
    module["schedule"] = {"sequences": [{"key": 4, "value": {"instruction_ids": [2, 0, 1]}}]}
    assert [node.id for node in program_of(module).main] == ["c", "a", "b"]
    assert program_of(module).attrs["is_scheduled"] == "true"


@pytest.mark.frameworks
@pytest.mark.parametrize("is_compiled", [False, True], ids=["lowered", "compiled"])
@pytest.mark.parametrize("name", ["training", "control", "convolution", "data", "numbers"])
def test_modules_of_jax_are_the_same_in_both_forms(name: str, is_compiled: bool) -> None:
    jax = pytest.importorskip("jax")
    lowered = jax.jit(functions()[name]).lower(jax.numpy.ones((4, 6)))
    module = lowered.compile().runtime_executable().hlo_modules()[0] if is_compiled else lowered.compiler_ir("hlo").get_hlo_module()
    (text,) = parse_hlo(module.to_string())
    program = program_of(hlo_proto(module.as_serialized_hlo_module_proto())["hlo_module"])
    assert contents(program) == contents(text)


def functions() -> dict[str, Any]:
    """Functions whose modules have most kinds of attributes."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    def control(x: Any) -> Any:
        x = lax.fori_loop(0, 5, lambda i, carry: carry * 2 + i, x)
        branch = lax.switch(jnp.int32(x[0, 0]), [lambda y: y, lambda y: y * 3, lambda y: y - 1], x)
        return lax.cond(x[0, 0] > 0, lambda y: y + 1, lambda y: y * 2, branch), lax.scan(lambda c, y: (c + y.sum(), y * c), x[0, 0], x)

    def convolution(x: Any) -> Any:
        image = x[None, :, :, None].repeat(3, -1)
        kernel = jnp.ones((3, 3, 3, 6))
        labels = ("NHWC", "HWIO", "NHWC")
        convolved = lax.conv_general_dilated(image, kernel, (2, 1), "SAME", rhs_dilation=(1, 2), dimension_numbers=labels)
        return convolved, lax.reduce_window(image, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def data(x: Any) -> Any:
        rows = jnp.array([0, 2, 1])
        return (
            jnp.sort(x, axis=0), x[::2, 1:4], jnp.pad(x, ((1, 2), (0, 3))), x[rows], x.at[rows].add(3.0), jnp.fft.rfft(x), lax.top_k(x, 3),
            lax.dynamic_slice(x, (1, 2), (2, 2)), jnp.cumsum(x, 1), jnp.argmax(x, 1), jax.random.normal(jax.random.key(0), (3,)),
            jnp.linalg.cholesky(x @ x.T + jnp.eye(4)),
        )  # fmt: skip

    def numbers(x: Any) -> Any:
        return (
            x.astype(jnp.bfloat16) * jnp.bfloat16(1.7), jnp.array([[1.5, 2.25], [3e-7, -jnp.inf]]) + x[:2, :2],
            x.astype(jnp.int8) >> jnp.int8(2),
            jnp.array([True, False]) & (x[0, :2] > 1), (x + 1j * x) * (2.5 + 1j), lax.reduce_precision(x, 5, 7),
            x.astype(jnp.float16) * jnp.float16(0.1), x * 0.1, jnp.einsum("ij,ik->jk", x, x, precision="highest"),
        )  # fmt: skip

    def training(x: Any) -> Any:
        with jax.named_scope("layer"):
            return jax.grad(lambda y: jnp.tanh(y @ y.T).sum())(x)

    return {function.__name__: function for function in (training, control, convolution, data, numbers)}


def test_the_schema_knows_the_memory_plan() -> None:
    """The buffer assignment stays bytes until somebody asks for it."""
    proto = hlo_proto(Source(SAMPLES / "hlo_proto" / "layers.hlo.pb").read_bytes())
    assert isinstance(proto["buffer_assignment"], bytes) and "HloProto" in HLO.messages
