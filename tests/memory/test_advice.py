"""The advice of `--suggest`, applied to real models as it is printed: memory falls by what was estimated."""

from __future__ import annotations

import math
from pathlib import Path
from types import ModuleType

import jax
import jax.numpy as jnp
import pytest
import torch
from jax._src.ad_checkpoint import saved_residuals
from torch import nn

import opscope
from opscope.loading import load_all
from opscope.memory.read_from import remember_source
from opscope.memory.shown import memory_of, planner_of
from opscope.memory.suggest import MERGED, answer
from opscope.memory.what_if import Change, Planner

pytestmark = pytest.mark.frameworks

NETWORK = """
import jax, jax.numpy as jnp

def norm(x, scale):
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale

def attend(p, x):
    q, k, v = (part.reshape(8, 128, 4, 16).swapaxes(1, 2) for part in jnp.split(x @ p["qkv"], 3, -1))
    scores = jnp.where(jnp.tril(jnp.ones((128, 128), bool)), q @ k.swapaxes(-1, -2), -1e9)
    return (jax.nn.softmax(scores) @ v).swapaxes(1, 2).reshape(x.shape) @ p["out"]

def mlp(p, x):
    return jax.nn.gelu(x @ p["up"]) @ p["down"]

def block(p, x):
    x = x + attend(p, norm(x, p["scale"]))
    return x + mlp(p, norm(x, p["scale2"]))

def loss(params, x):
    for p in params:
        x = block(p, x)
    return jnp.mean(x**2)

def step(params, x):
    grads = jax.grad(loss)(params, x)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
"""
LAYERS, WIDTH = 4, 64
KEEPS_BARRIERS = {"xla_disable_hlo_passes": "cse_barrier_expander"}
"""Without it, XLA for the CPU merges what is recomputed with what it repeats."""


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """A network in a file, as users have it."""
    file = tmp_path_factory.mktemp("network") / "network.py"
    file.write_text(NETWORK)
    return _loaded(file)


def _loaded(file: Path) -> ModuleType:
    module = ModuleType("network")
    exec(compile(file.read_text(), str(file), "exec"), module.__dict__)
    module.__file__ = str(file)
    return module


def _arguments() -> tuple[list[dict[str, jax.Array]], jax.Array]:
    shapes: dict[str, tuple[int, ...]] = {
        "qkv": (WIDTH, 3 * WIDTH),
        "out": (WIDTH, WIDTH),
        "up": (WIDTH, 4 * WIDTH),
        "down": (4 * WIDTH, WIDTH),
    }
    shapes |= dict.fromkeys(("scale", "scale2"), (WIDTH,))
    return [{name: jnp.full(shape, 0.01) for name, shape in shapes.items()} for _ in range(LAYERS)], jnp.ones((8, 128, WIDTH))


def _bytes_used(module: ModuleType, **options: str | bool) -> int:
    """What XLA reserves for a step."""
    jax.clear_caches()
    compiled = jax.jit(module.step, donate_argnums=0).lower(*_arguments()).compile(compiler_options={**KEEPS_BARRIERS, **options})
    analysis = compiled.memory_analysis()
    return analysis.argument_size_in_bytes + analysis.output_size_in_bytes - analysis.alias_size_in_bytes + analysis.temp_size_in_bytes


def _residual_bytes(module: ModuleType) -> int:
    """What JAX itself says is saved for backward, without arguments."""
    residuals = saved_residuals(module.loss, *_arguments())
    return sum(math.prod(value.shape) * value.dtype.itemsize for value, where in residuals if "argument" not in where)


def _with(module: ModuleType, lines: list[str]) -> ModuleType:
    """The network with these lines at its end."""
    changed = _loaded(Path(str(module.__file__)))
    exec("\n".join(lines), changed.__dict__)
    return changed


@pytest.fixture(scope="module")
def planner(network: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Planner:
    dump = tmp_path_factory.mktemp("dump")
    _bytes_used(network, xla_dump_to=str(dump), xla_dump_hlo_as_text=True)
    (file,) = dump.glob("*.cpu_after_optimizations.txt")
    (program,) = load_all(str(file))
    remember_source(str(file), program)
    return planner_of(program)


@pytest.mark.slow
def test_the_advice_for_jax_lowers_the_peak_as_estimated(network: ModuleType, planner: Planner) -> None:
    found = answer(planner, [], suggests=True)
    assert found.note == MERGED
    assert found.advice and {each.name for each in (*found.suggestions, *found.others)} >= {"block", "block:dots_saveable", "attend"}
    assert not planner.checkpoints.keys() & {"step", "loss"}, "they compute no more than the calls of `block`"
    assert found.suggestions[0].name == "block:dots_saveable", "of which the pieces between products are recomputed one by one"
    before, residuals = _bytes_used(network), _residual_bytes(network)
    for each in (found.suggestions[0], *(other for other in found.others if other.name == "block")):
        changed = _with(network, list(each.code))
        fell = before - _bytes_used(changed)
        assert fell == pytest.approx(planner.memory.live_peak - each.peak, rel=0.1), each.name
        assert residuals - _residual_bytes(changed) >= 0.8 * each.bytes, f"{each.name}: JAX saves less as well"


SCAN = """
import jax, jax.numpy as jnp

def block(x, w):
    return jnp.tanh(jax.nn.gelu(x @ w) @ w.T), None

def step(ws, x):
    return jax.grad(lambda ws: jnp.sum(jax.lax.scan(block, x, ws)[0] ** 2))(ws)
"""


@pytest.mark.slow
def test_what_a_loop_saves_is_not_there_if_what_it_repeats_is_checkpointed(tmp_path: Path) -> None:
    """XLA merges nothing between two loops, on any device."""
    file = tmp_path / "network.py"
    file.write_text(SCAN)

    def compiled(module: ModuleType, **options: str | bool) -> int:
        lowered = jax.jit(module.step).lower(jnp.ones((8, 64, 256)), jnp.ones((256, 64)))
        return int(lowered.compile(compiler_options=options).memory_analysis().temp_size_in_bytes)

    network = _loaded(file)
    before = compiled(network, xla_dump_to=str(tmp_path), xla_dump_hlo_as_text=True)
    (text,) = tmp_path.glob("*.cpu_after_optimizations.txt")
    (program,) = load_all(str(text))
    remember_source(str(text), program)
    planner = planner_of(program)
    found = answer(planner, [], suggests=True)
    assert found.advice and not found.note
    assert {each.name for each in (*found.suggestions, *found.others)} >= {"block", "block:dots_saveable"}
    for name, least in (("block", 0.5), ("block:dots_saveable", 0.3)):
        peak = planner.what_if([Change("checkpoint", name)]).memory.live_peak
        jax.clear_caches()
        fell = before - compiled(_with(network, list(planner.checkpoints[name].code)))
        assert fell == pytest.approx(planner.memory.live_peak - peak, rel=0.15) and fell > least * before, name


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self, blocks: nn.Module) -> None:
        super().__init__()
        self.layers, self.head = blocks, nn.Linear(WIDTH, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return self.head(x).logsumexp(-1).mean()


def _saved_bytes(model: nn.Module, x: torch.Tensor) -> int:
    """What autograd saves for backward, each memory once, without parameters."""
    given = {each.untyped_storage().data_ptr() for each in (x, *model.parameters())}
    sizes: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.untyped_storage().data_ptr() not in given:
            sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = model(x)
    loss.backward()
    return sum(sizes.values())


@pytest.mark.slow
def test_the_advice_for_torch_lowers_what_is_saved_as_estimated() -> None:
    model, x = Model(nn.ModuleList(Block(WIDTH) for _ in range(LAYERS))), torch.ones(8, 128, WIDTH)
    planner = planner_of(opscope.capture(model, x, stage="joint"))
    found = answer(planner, [], suggests=True)
    assert [each.name for each in found.suggestions] == ["layers.*"] and "model.layers[i]" in "\n".join(found.advice)
    before = _saved_bytes(model, x)
    exec("\n".join(found.advice), {"model": model})
    fell = before - _saved_bytes(model, x)
    inside = planner.checkpoints["layers.*"].recomputed
    saved = sum(each.bytes or 0 for each in planner.memory.buffers if each.kind == "saved" and (each.graph, each.node) in inside)
    assert fell == pytest.approx(saved, rel=0.02) and fell > before / 2
    assert found.suggestions[0].peak < planner.memory.live_peak - 0.7 * fell
    again = memory_of(opscope.capture(model, x, stage="joint"))
    assert again.live_peak == found.suggestions[0].peak, "a model that is checkpointed has that peak"


def test_modules_without_a_common_number_get_a_line_each() -> None:
    from opscope.memory.checkpoints import _wrapped_modules

    assert list(_wrapped_modules([["encoder", "0"], ["encoder", "2"]]))[2:] == [
        "model.encoder[0].forward = partial(checkpoint, model.encoder[0].forward, use_reentrant=False)",
        "model.encoder[2].forward = partial(checkpoint, model.encoder[2].forward, use_reentrant=False)",
    ]
