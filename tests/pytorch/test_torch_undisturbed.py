"""Looking changes nothing: attributes, hooks, containers, inputs, random numbers, settings and registries of torch are as before."""

from __future__ import annotations

import random
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from copy import deepcopy
from functools import lru_cache, partial
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from support.torch_state import differences, registries, state_of, tensors_of, world
from torch import nn
from torch.utils.flop_counter import FlopCounterMode
from torch_models import ARCHITECTURES, Example, segformer

import opscope
from opscope.compat import torchsummary
from opscope.readers.torch.caches import caches_registered

Look = Callable[..., Any]

LOOKS: dict[str, Look] = {stage: partial(opscope.capture, stage=stage) for stage in ("forward", "joint", "eager", "autograd")}
LOOKS["summary"] = lambda model, *args, **kwargs: opscope.summary(model, input_data=args or kwargs)
LOOKS["measure"] = partial(opscope.measure, runs=1)
MODELS = {name: (ARCHITECTURES[name], {"output_hidden_states": True}) for name in ("BERT", "GPT-2", "Llama", "T5", "ViT")}
MODELS["Segformer"] = (segformer, {})  # asks for its encoder's hidden states itself


@pytest.fixture(scope="module", autouse=True)
def imported() -> None:
    """What looking imports registers classes and filters of its own, once."""
    for look in LOOKS.values():
        look(nn.Linear(2, 2), torch.rand(1, 2))


def results(model: nn.Module, kwargs: dict[str, Any]) -> dict[str, Any]:
    with torch.no_grad():
        return dict(model(**kwargs))


def assert_same_results(now: dict[str, Any], before: dict[str, Any]) -> None:
    assert list(now) == list(before)
    for name, value in before.items():
        parts, parts_now = (each if isinstance(each, tuple) else (each,) for each in (value, now[name]))
        assert len(parts_now) == len(parts), name
        assert all(map(torch.equal, parts_now, parts)), name


@pytest.mark.parametrize(("make", "asked"), MODELS.values(), ids=MODELS)
def test_transformers_models_return_what_they_returned(make: Callable[[], Example], asked: dict[str, Any]) -> None:
    """transformers installs hooks at the first call that requests hidden states, and records that it has."""
    model, _, inputs = make()
    kwargs = {**inputs, **asked}
    untouched, state, tensors, outside = deepcopy(model), state_of(model), tensors_of(model), world()
    for name, look in LOOKS.items():
        look(model, **kwargs)
        assert state_of(model) == state, name
        assert tensors_of(model) == tensors, name
        assert differences(outside, world()) == [], name
    expected = results(untouched, kwargs)
    assert_same_results(results(model, kwargs), expected)
    for name in ("eager", "summary"):  # the hooks are installed now, and stay
        LOOKS[name](model, **kwargs)
        assert_same_results(results(model, kwargs), expected)
    assert_same_results(results(model, inputs), results(untouched, inputs))


class Strict(OrderedDict[str, Any]):
    """Like transformers' ModelOutput: it stores everything twice and refuses `update` and `clear`."""

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        self.__dict__[key] = value

    def update(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError("not allowed")

    def clear(self) -> None:
        raise TypeError("not allowed")


class Hoarder(nn.Module):
    """Every call leaves something in every kind of container."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(1))
        self.hidden = [nn.BatchNorm1d(4)]  # not a submodule for torch
        self.nested: dict[str, Any] = {"calls": [], "by name": {"last": ([1],)}}
        self.seen = {"before"}
        self.recent: deque[Any] = deque([1, 2], maxlen=2)
        self.order = OrderedDict(a=1, b=2)
        self.strict = Strict()
        self.strict["a"] = 1
        self.cycle: list[Any] = [self]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.hidden[0](x)
        self.count += 1
        self.extra = nn.Linear(4, 4)
        self.register_forward_hook(lambda module, args, result: result + 1)
        self.hidden[0].last = y
        self.hidden.append(nn.BatchNorm1d(4))
        self.nested["calls"].append(y)
        self.nested["by name"]["last"][0][0] += 1
        self.seen.add("after")
        self.recent.append(y)
        self.order.move_to_end("a")
        self.strict["b"] = y
        self.cycle.append(y)
        self.training = False
        return y * 2


class Memory:
    """State that is neither a module nor a container."""

    def __init__(self) -> None:
        self.calls = 0
        self.seen: list[Any] = []
        self.total = torch.zeros(2)


class Meddler(nn.Module):
    """Every call takes random numbers, writes into its inputs and into an object, and changes settings of torch."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.memory = Memory()

    def forward(self, x: torch.Tensor, cache: dict[str, Any]) -> torch.Tensor:
        scale = random.random() + float(np.random.rand())
        x += 1
        cache["last"] = x
        self.memory.calls += 1
        self.memory.seen.append(scale)
        self.memory.total += 1
        y = torch.dropout(self.layer(x) * scale, 0.5, True)
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
        return y


@pytest.mark.parametrize("name", LOOKS)
def test_inputs_objects_and_settings_are_as_before(name: str) -> None:
    model, x, cache = Meddler(), torch.ones(3, 2), {"first": torch.zeros(1)}
    first, before = cache["first"], world()
    memory = model.memory
    with suppress(opscope.OpscopeError):  # torch.export may refuse it, after it has run a part
        LOOKS[name](model, x, cache)
    assert differences(before, world()) == []
    assert torch.equal(x, torch.ones(3, 2))
    assert list(cache) == ["first"] and cache["first"] is first
    assert (memory.calls, memory.seen, memory.total.tolist()) == (0, [], [0.0, 0.0])


class Noisy(nn.Module):
    """Every call takes random numbers from generators of the module's own."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.torch_numbers = torch.Generator().manual_seed(1)
        self.others: dict[str, Any] = {
            "python": random.Random(2),
            "numpy": np.random.default_rng(3),
            "older numpy": np.random.RandomState(4),
            "system": random.SystemRandom(),
        }

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale = self.others["python"].random() + float(self.others["numpy"].random()) + float(self.others["older numpy"].randn())
        self.others["system"].random()
        return self.layer(x) * scale + torch.randn(2, generator=self.torch_numbers)


@pytest.mark.parametrize("name", LOOKS)
def test_generators_of_a_model_are_where_they_were(name: str) -> None:
    x = torch.ones(3, 2)
    untouched, model = Noisy(), Noisy()
    model.load_state_dict(untouched.state_dict())
    LOOKS[name](model, x)
    if name not in ("summary", "measure"):  # they take modules
        numbers = model.torch_numbers
        LOOKS[name](lambda x: x + torch.randn(2, generator=numbers).requires_grad_(), x)
    with torch.no_grad():
        assert torch.equal(model(x), untouched(x))
        assert torch.equal(model(x), untouched(x)), "the second number of a pair that RandomState makes"


class Slotted:
    """An object without a `__dict__`."""

    __slots__ = ("calls", "last")

    def __init__(self) -> None:
        self.calls = 0

    def count(self, *_: Any) -> None:
        self.calls += 1
        self.last = self.calls


class Scattered(nn.Module):
    """Every call leaves something where neither modules nor plain containers are: in variables of hooks, slots, the class, and others."""

    made = 0
    shared: ClassVar[dict[str, int]] = {}

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.table = nn.Linear(4, 4), nn.Embedding(3, 4, max_norm=0.1)
        self.slotted, self.by_bound_method = Slotted(), Slotted()
        self.plain = SimpleNamespace(calls=[], numbers=torch.Generator().manual_seed(1))
        self.weak: weakref.WeakKeyDictionary[nn.Module, int] = weakref.WeakKeyDictionary()
        self.array = np.zeros(2)
        self.listed: list[int] = []
        self.counted = 0
        self.layer.register_forward_hook(partial(lambda calls, *_: calls.append(1), self.in_partial()))
        self.layer.register_forward_hook(self.counting_hook())
        self.layer.register_forward_pre_hook(self.by_bound_method.count)

    def in_partial(self) -> list[int]:
        calls: list[int] = []
        self.state_of_hooks: list[Callable[[], Any]] = [lambda: list(calls)]
        return calls

    def counting_hook(self) -> Callable[..., None]:
        calls = 0

        def hook(*_: Any) -> None:
            nonlocal calls
            calls += 1

        self.state_of_hooks.append(lambda: calls)
        return hook

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        cls = type(self)
        cls.made += 1
        cls.shared["last"] = cls.made
        cls.new = cls.made
        self.slotted.count()
        self.plain.calls.append(1)
        self.weak[self.layer] = self.weak.get(self.layer, 0) + 1
        self.array += 1
        with torch.no_grad():
            self.layer.bias.add_(1)
        return self.layer(x) + self.table(torch.arange(1)) + torch.rand(4, generator=self.plain.numbers)

    def everything(self) -> list[Any]:
        slots = [(each.calls, getattr(each, "last", None)) for each in (self.slotted, self.by_bound_method)]
        of_class = [Scattered.made, dict(Scattered.shared), hasattr(Scattered, "new")]
        others = [list(self.plain.calls), self.plain.numbers.get_state().tolist(), list(self.weak.items()), self.array.tolist()]
        values = [(name, value.tolist(), value._version, dict(vars(value))) for name, value in self.named_parameters()]
        return [*slots, *of_class, *others, *values, *(read() for read in self.state_of_hooks)]


@pytest.mark.parametrize("name", [*LOOKS, "torchsummary"])
def test_what_is_left_outside_of_modules_is_undone(name: str) -> None:
    model = Scattered()
    x = torch.rand(3, 4)
    loss = model.layer(x).square().mean() + model.table.weight.square().sum()
    before = model.everything()
    with suppress(opscope.OpscopeError):  # torch.export refuses a parameter that is written to
        LOOKS.get(name, torchsummary_of)(model, x)
    assert model.everything() == before
    loss.backward()  # what the user's graphs saved was not touched


class Reshapes(nn.Module):
    """Every call gives its tensors other memory, sizes or numbers, and parameters other gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.other = nn.Linear(4, 4), nn.Linear(4, 4)
        self.layer.weight.grad = torch.ones(4, 4)
        for name, value in {"resized": torch.ones(2), "replaced": torch.ones(2), "halved": torch.ones(2), "result": torch.ones(4)}.items():
            self.register_buffer(name, value)
        self.register_buffer("base", torch.ones(1, 4))
        self.register_buffer("repeated", self.base.expand(3, 4))
        self.register_buffer("sparse", torch.eye(3).to_sparse())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.resized.resize_(5).zero_()
        self.replaced.data = torch.zeros(3)
        self.halved.data = self.halved.half() * 2
        self.result *= self.layer.bias
        self.base += 1
        self.sparse.values().mul_(2) if self.sparse.is_coalesced() else self.sparse.mul_(2)
        self.layer.weight.data = self.layer.weight.data * 2
        self.zero_grad(set_to_none=False)
        self.other.weight.requires_grad_(False)
        with torch.enable_grad():
            self.other(x.detach()).sum().backward()
        return self.layer(x)

    def everything(self) -> list[Any]:
        values = [(name, each.dtype, each.to_dense().tolist(), each.requires_grad) for name, each in self.named_buffers()]
        parameters = [(name, each.data_ptr(), each.tolist(), each.requires_grad, each._version) for name, each in self.named_parameters()]
        return [values, parameters, [(id(each.grad), None if each.grad is None else each.grad.tolist()) for each in self.parameters()]]


@pytest.mark.parametrize("name", [*LOOKS, "torchsummary"])
def test_memory_sizes_and_gradients_are_as_before(name: str) -> None:
    """Observers of quantization resize their buffers. Torch refuses to write to an expanded tensor."""
    model = Reshapes()
    before = model.everything()
    with suppress(opscope.OpscopeError):
        LOOKS.get(name, torchsummary_of)(model, torch.rand(3, 4))
    assert model.everything() == before


@lru_cache
def scale_of(size: int) -> torch.Tensor:
    return torch.full((size,), 2.0)


SCALES: dict[int, torch.Tensor] = {}


class Caches(nn.Module):
    """Keeps what its functions compute, which is not real while torch.export traces."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    @staticmethod
    @lru_cache
    def shift_of(size: int) -> torch.Tensor:
        return torch.full((size,), 3.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if 4 not in SCALES:
            SCALES[4] = torch.ones(4)
        return self.layer(x) * scale_of(4) * SCALES[4] + self.shift_of(4)


@pytest.mark.parametrize("name", LOOKS)
def test_no_fake_tensor_stays_in_a_cache(name: str) -> None:
    model = Caches()
    LOOKS[name](model, torch.rand(3, 4))
    x = torch.rand(3, 4)
    assert torch.equal(model(x), model.layer(x) * 2 + 3)


class Sets(nn.Module):
    """Every call changes settings of the process."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.set_float32_matmul_precision("medium")
        torch.backends.mha.set_fastpath_enabled(False)
        torch.backends.cudnn.benchmark = True
        torch.set_num_threads(1 + torch.get_num_threads())
        torch.set_autocast_enabled("cpu", True)
        torch.set_anomaly_enabled(True, False)
        return x * 2


@pytest.mark.parametrize("name", LOOKS)
def test_settings_of_torch_are_as_before(name: str) -> None:
    def settings() -> list[Any]:
        return [
            torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled(),
            torch.get_float32_matmul_precision(), torch.backends.mha.get_fastpath_enabled(), torch.backends.cudnn.benchmark,
            torch.get_num_threads(), torch.is_autocast_enabled("cpu"), torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled(),
        ]  # fmt: skip

    before = settings()
    with suppress(opscope.OpscopeError):
        LOOKS[name](Sets(), torch.rand(3, requires_grad=True))
    assert settings() == before


@pytest.mark.skipif(not hasattr(torch.backends, "fp32_precision"), reason="since torch 2.9")
@pytest.mark.parametrize("name", LOOKS)
def test_the_newer_settings_of_precision_are_as_before(name: str) -> None:
    """Once one of them is set, torch refuses to read the older ones."""
    precision = torch.backends.cuda.matmul.fp32_precision
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    try:
        LOOKS[name](nn.Linear(2, 2), torch.rand(1, 2))
        assert torch.backends.cuda.matmul.fp32_precision == "tf32"
    finally:
        torch.backends.cuda.matmul.fp32_precision = precision


@pytest.mark.parametrize("name", LOOKS)
def test_a_lazy_module_stays_lazy(name: str) -> None:
    lazy = nn.Sequential(nn.LazyLinear(3))
    with pytest.raises(opscope.OpscopeError, match=r"Sequential has uninitialized parameters \(lazy modules\); run it once"):
        LOOKS[name](lazy, torch.rand(2, 4))
    assert type(lazy[0]) is nn.LazyLinear and lazy[0].has_uninitialized_params()


def may_refuse(look: str) -> AbstractContextManager[None]:
    """AOTAutograd refuses a batch norm that is not a submodule, but only after it has counted the batch."""
    return suppress(opscope.OpscopeError) if look in ("joint", "measure") else nullcontext()


def torchsummary_of(model: nn.Module, x: torch.Tensor) -> None:
    torchsummary.summary(model, tuple(x.shape[1:]), device="cpu")


@pytest.mark.parametrize("name", [*LOOKS, "torchsummary"])
def test_containers_hold_what_they_held(name: str) -> None:
    model = Hoarder()
    hidden = model.hidden[0]
    statistics = deepcopy(hidden.state_dict())
    state = state_of(model)
    with may_refuse(name):
        LOOKS.get(name, torchsummary_of)(model, torch.rand(3, 4))
    assert state_of(model) == state
    assert vars(model.strict) == {"a": 1}
    assert all(map(torch.equal, hidden.state_dict().values(), statistics.values()))


SHARED = Hoarder()


def through_a_global(x: torch.Tensor) -> torch.Tensor:
    return beside_it(x) + 1


def beside_it(x: torch.Tensor) -> torch.Tensor:
    return sum([SHARED(each) for each in (x, x)])


class Trainer:
    def __init__(self) -> None:
        self.model = Hoarder()

    def step(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x).mean()

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return self.step(x)


@pytest.mark.parametrize("stage", ["forward", "joint", "eager", "autograd"])
def test_models_behind_a_function_are_left_alone(stage: str) -> None:
    """A function has no submodules, but it uses models: from its closure, by name, through its object, or as a bound argument."""
    model, trainer = Hoarder(), Trainer()
    ways: list[tuple[Callable[..., Any], Hoarder]] = [
        (lambda x: [each(x) for each in [model]], model),
        (through_a_global, SHARED),
        (trainer.step, trainer.model),
        (trainer, trainer.model),
        (partial(lambda each, x: each(x), model), model),
    ]
    for function, used in ways:
        state, statistics = state_of(used), deepcopy(used.hidden[0].state_dict())
        with may_refuse(stage):
            opscope.capture(function, torch.rand(3, 4), stage=stage)
        assert state_of(used) == state, function
        assert all(map(torch.equal, used.hidden[0].state_dict().values(), statistics.values())), function


def test_a_lazy_module_behind_a_function_still_runs() -> None:
    lazy = nn.LazyLinear(3)
    opscope.capture(lambda x: lazy(x), torch.rand(2, 4), stage="eager")
    assert type(lazy) is nn.LazyLinear
    assert lazy(torch.rand(2, 4)).shape == (2, 3)
    assert type(lazy) is nn.Linear and lazy.in_features == 4


def test_pytree_registries_are_as_before() -> None:
    """Exporting a cache needs an entry during the export. One that stays makes torch's FLOP counter fail on Mamba."""
    model, _, kwargs = ARCHITECTURES["Llama"]()
    opscope.capture(model, **kwargs)  # imports that register classes of their own
    opscope.capture(model, **kwargs, stage="joint")
    model.config.use_cache = True
    before = registries()
    for stage in ("forward", "joint", "forward"):
        program = opscope.capture(model, **kwargs, stage=stage)
        assert "notes" not in program.attrs, "exported, not run"
        assert registries() == before, stage
    mamba, _, kwargs = ARCHITECTURES["Mamba"]()
    mamba.config.use_cache = True
    with FlopCounterMode(display=False) as counter:
        mamba(**kwargs)
    assert counter.get_total_flops() > 0


def test_an_entry_of_the_users_stays() -> None:
    from transformers import DynamicCache

    model, _, kwargs = ARCHITECTURES["Llama"]()
    model.config.use_cache = True
    with caches_registered() as registered:
        before = registries()
        assert registered and DynamicCache in before[0]
        assert "notes" not in opscope.capture(model, **kwargs).attrs
        assert registries() == before
    assert DynamicCache not in registries()[0]
