"""HLO that opscope writes compiles with XLA: a whole program as it was after a pass, and one fusion of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import opscope
from opscope.cli import main

pytestmark = [pytest.mark.frameworks, pytest.mark.slow]


def run(path: Path, *arguments: Any) -> tuple[str, list[Any]]:
    """The name of the module in a file, and its results."""
    import jax
    import numpy as np
    from jaxlib import _hlo, _jax, xla_client

    module = _hlo.hlo_module_from_text(path.read_text())
    stablehlo = _jax.mlir.xla_computation_to_mlir_module(_hlo.XlaComputation(module.as_serialized_hlo_module_proto()))
    device = jax.devices()[0]
    compiled = device.client.compile_and_load(stablehlo, _jax.DeviceList((device,)), xla_client.CompileOptions())
    return module.name, [np.asarray(each) for each in compiled.execute([jax.device_put(each) for each in arguments])]


def test_a_program_after_a_pass_and_one_of_its_fusions_compile_and_run(tmp_path: Path) -> None:
    import jax
    import jax.numpy as jnp
    import numpy as np

    def norm(w: Any, x: Any) -> Any:
        hidden = jnp.tanh(x @ w)
        return jnp.exp(hidden * 2 + 1) / jnp.sum(hidden**2)

    lowered = jax.jit(norm).lower(*(jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((16, 4), (8, 16))))
    random = np.random.default_rng(0)
    w, x = random.normal(size=(16, 4)).astype("f"), random.normal(size=(8, 16)).astype("f")
    dump = tmp_path / "dump"
    dump.mkdir()
    (dump / "module_0001.jit_norm.0000.start.after_pipeline-start.before_fusion.txt").write_text(lowered.as_text("hlo"))
    (dump / "module_0001.jit_norm.0001.start.after_fusion.before_pipeline-end.txt").write_text(lowered.compile().as_text())
    assert main(["export", f"{dump}@0", "-o", str(tmp_path / "prefix.hlo")]) == 0
    name, (result,) = run(tmp_path / "prefix.hlo", w, x)
    assert name == "jit_norm"
    np.testing.assert_allclose(result, norm(w, x), rtol=1e-5)

    program = opscope.load(f"{dump}@1")
    fusion = next(node for node in program.main if node.op == "fusion" and node.attrs.get("kind") == "kLoop")
    assert main(["export", f"{dump}@1", "-o", str(tmp_path / "fusion.hlo"), "--around", fusion.id, "--hops", "0"]) == 0
    values = [jnp.full(program.main[name].outputs[0].shape, 0.5, jnp.float32) for name, _ in fusion.inputs]
    name, (result,) = run(tmp_path / "fusion.hlo", *values)
    assert name.endswith("_extracted") and result.shape == tuple(fusion.outputs[0].shape) and np.isfinite(result).all()
