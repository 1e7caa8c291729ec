"""The steps of XLA's interactive_graphviz with JAX: its files, its flags and its drawing, with XLA itself beside them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import opscope
from opscope.program import Program
from opscope.render.writers.dot import dot_of
from opscope.view_options import ViewOptions

jax = pytest.importorskip("jax")


def loss(x: Any, b: Any) -> Any:
    return jax.nn.softmax(x + b).mean()


@pytest.fixture(scope="module")
def lowered() -> dict[str, Any]:
    """Add, softmax and mean: forward, and forward with backward."""
    import jax.numpy as jnp

    functions = {"softmax_fwd": loss, "softmax_train": jax.value_and_grad(loss, (0, 1))}
    return {name: jax.jit(function).lower(jnp.ones((4, 8)), jnp.ones(8)) for name, function in functions.items()}


def hlo_file(lowered: Any, directory: Path) -> Path:
    """The file that the documented code writes."""
    path = directory / "module.hlo.txt"
    path.write_text(lowered.compiler_ir("hlo").as_hlo_text())
    return path


def ask(*arguments: str, lines: str) -> str:
    done = subprocess.run([sys.executable, "-m", "opscope", "repl", *arguments], input=lines, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "name", [pytest.param("softmax_fwd", marks=pytest.mark.step("0.1")), pytest.param("softmax_train", marks=pytest.mark.step("0.2"))]
)
def test_the_file_has_every_instruction_that_xla_sees(lowered: dict[str, Any], name: str, tmp_path: Path) -> None:
    from jaxlib._hlo import hlo_module_from_text

    path = hlo_file(lowered[name], tmp_path)
    program = opscope.load(path)
    ours = {graph.name: [(node.id, [source for source, _ in node.inputs]) for node in graph] for graph in program}
    module = hlo_module_from_text(path.read_text())
    theirs = {
        computation.name: [(each.name, [operand.name for operand in each.operands()]) for each in computation.instructions()]
        for computation in module.computations()
    }
    assert ours == theirs


@pytest.mark.step("0.2")
def test_the_plain_file_says_what_is_backward_and_what_is_saved(lowered: dict[str, Any], tmp_path: Path) -> None:
    """XLA's file has neither; the names that JAX can write confirm both."""
    step = lowered["softmax_train"]
    plain, named = hlo_file(step, tmp_path), tmp_path / "named.hlo.txt"
    named.write_text(step.as_text("hlo", debug_info=True))
    counted = json.loads(info(plain, "--json"))["halves"]
    entry = named.read_text().partition("ENTRY")[2]
    backward = re.findall(r'op_name="[^"]*transpose\(', entry)
    assert 10 < len(backward) <= counted["backward"]
    halves = f"{counted['forward']} forward, {counted['backward']} backward operations, with called graphs (inferred from structure)"
    assert halves in info(plain)
    (saved,), (stated,) = (re.findall(r"^saved +(\d+ values for backward, .*)$", info(path), re.M) for path in (plain, named))
    assert saved == stated


def info(path: Path, *options: str) -> str:
    return subprocess.run([sys.executable, "-m", "opscope", "info", str(path), *options], capture_output=True, text=True, check=True).stdout


def operations_of(stats: str) -> set[str]:
    """The operations that `stats` lists. Their counts depend on compile options that JAX adds to XLA's own."""
    return {line.split()[0] for line in stats.splitlines()[1:]}


def test_platform_compiles_the_module_first(lowered: dict[str, Any], tmp_path: Path) -> None:
    path = hlo_file(lowered["softmax_train"], tmp_path)
    compiled = tmp_path / "compiled.hlo.txt"
    compiled.write_text(lowered["softmax_train"].compile().as_text())
    operations = operations_of(ask(str(compiled), lines="stats\n"))
    assert "fusion" in operations
    for platform in ("CPU", "Host"):
        assert operations_of(ask(f"--hlo_text={path}", f"--platform={platform}", lines="stats\n")) == operations
    refused = subprocess.run(
        [sys.executable, "-m", "opscope", "repl", str(path), "--platform=Abacus"], input="", capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2 and "XLA cannot compile it for Abacus: " in refused.stderr and refused.stderr.count("\n") == 1


def wrapped(message: bytes) -> bytes:
    """A protobuf message whose field 1 is this message."""
    size, length = bytearray(), len(message)
    while True:
        size.append(length & 0x7F | (0x80 if length > 0x7F else 0))
        length >>= 7
        if not length:
            return b"\x0a" + bytes(size) + message


def test_binary_forms_are_read_and_compiled_too(lowered: dict[str, Any], tmp_path: Path) -> None:
    lines = "list computations\nstats\n"
    expected = ask(str(hlo_file(lowered["softmax_fwd"], tmp_path)), lines=lines)
    message = lowered["softmax_fwd"].compiler_ir("hlo").as_serialized_hlo_module_proto()
    for flag in ("hlo_module_proto", "hlo_proto", "hlo_snapshot"):
        path = tmp_path / f"{flag}.pb"
        path.write_bytes(message)
        message = wrapped(message)
        assert ask(f"--{flag}={path}", lines=lines) == expected
    assert "fusion" in operations_of(ask(f"--{flag}={path}", "--platform=CPU", lines="stats\n"))
    path.write_bytes(b"not a message")
    refused = subprocess.run(
        [sys.executable, "-m", "opscope", "repl", f"--hlo_proto={path}"], input="", capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2 and f"{path}: has no HloModuleProto" in refused.stderr and refused.stderr.count("\n") == 1


def test_operands_have_the_numbers_of_xlas_own_dot(lowered: dict[str, Any], tmp_path: Path) -> None:
    """Where both draw an edge: opscope leaves out the numbers of sums and products, whose order does not matter."""
    from jaxlib._hlo import hlo_module_from_text, hlo_module_to_dot_graph

    path = hlo_file(lowered["softmax_train"], tmp_path)
    theirs = {
        (source, target): number
        for source, target, number in re.findall(
            r'tooltip="([^ "]+) -> ([^ "]+)" +headlabel="(\d)"', hlo_module_to_dot_graph(hlo_module_from_text(path.read_text()))
        )
    }
    program: Program = opscope.load(path)
    text = dot_of(program, ViewOptions())
    ours = {(source, target): number for source, target, number in re.findall(r'^  "(.+?)" -> "(.+?)" \[.*headlabel="(\d)"', text, re.M)}
    both = ours.keys() & theirs.keys()
    assert {program.main[target].op for _, target in both} >= {"subtract", "divide"}
    assert {edge: ours[edge] for edge in both} == {edge: theirs[edge] for edge in both}
