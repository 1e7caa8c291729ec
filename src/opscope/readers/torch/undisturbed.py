"""Looking must change nothing: whatever tracing or running leaves behind in a module, in its inputs or in torch is undone here."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

from opscope.readers.torch.function_state import state_of_function
from opscope.readers.torch.modes import entered
from opscope.readers.torch.reach import Reach
from opscope.readers.torch.tensor_state import TensorState
from opscope.readers.torch.values import storage_key

_PRECISIONS = (("generic", "all"), *((backend, kind) for backend in ("cuda", "mkldnn") for kind in ("all", "matmul", "conv", "rnn")))
"""Where torch has a setting of `fp32_precision`, since 2.9."""


@contextmanager
def same_state(module: Any, *inputs: Any) -> Iterator[Reach]:
    """Restore, on exit, the class and attributes of every module and object in reach of a module and its inputs, the contents of every
    container, every tensor that is not a parameter, and every generator of random numbers.

    Everything has to be restored: transformers records in an attribute that its hooks are installed, and the hooks themselves are in
    the dicts of other modules. A model may write into its inputs, too: an activation in place, a cache of keys and values.
    """
    reach = Reach([module, *state_of_function(getattr(module, "opscope_function", None)), *inputs])
    classes = [(part, type(part)) for part in reach.modules]
    for state in reach.tensors:
        state.copy()
    try:
        yield reach
    finally:
        for part, cls in classes:
            if type(part) is not cls:  # a lazy module changes its class when it first runs
                part.__class__ = cls
        reach.put_back()


@contextmanager
def undisturbed(module: Any, *inputs: Any, is_timed: bool = False) -> Iterator[Any]:
    """For real runs: parameters, random numbers and the settings that a model may change are restored too, and nothing is compiled.

    Parameters are watched as long as the mode that this yields is entered: here, or, where runs are timed, by who runs it once before.

    Dynamo would cache what it compiles for `torch.cond` under our modes, and `torch.export` would then fail on it.
    """
    import torch

    with (
        same_settings(),
        same_state(module, *inputs) as reach,
        torch.compiler.set_stance("force_eager"),
    ):
        copying = _copying(reach.parameters)
        with nullcontext() if is_timed else entered(copying):
            yield copying


def _copying(parameters: list[TensorState]) -> Any:
    """A mode that copies parameters and gradients just before an operation writes to them, as `nn.Embedding(max_norm=…)` does."""
    from torch.utils._python_dispatch import TorchDispatchMode

    by_storage: dict[Any, list[TensorState]] = {}
    for state in parameters:
        by_storage.setdefault(storage_key(state.tensor), []).append(state)

    class Copying(TorchDispatchMode):  # type: ignore[misc]
        supports_higher_order_operators = True

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            schema = getattr(func, "_schema", None)
            if schema is not None and schema.is_mutable:
                for argument in (*args, *(kwargs or {}).values()):
                    for tensor in argument if isinstance(argument, list | tuple) else (argument,):
                        for state in by_storage.pop(storage_key(tensor), ()):
                            state.copy()
            return func(*args, **(kwargs or {}))

    return Copying()


@contextmanager
def same_settings() -> Iterator[None]:
    """Restore, on exit, the random numbers of torch, Python and NumPy, whether gradients are recorded, and other settings of torch."""
    import torch

    numpy_random = getattr(sys.modules.get("numpy"), "random", None)
    of_python, of_numpy = random.getstate(), numpy_random.get_state() if numpy_random else None
    settings = [(value, read, write) for read, write in _settings() if (value := _value(read)) is not None]
    devices = range(torch.cuda.device_count()) if torch.cuda.is_available() and torch.cuda.is_initialized() else ()
    try:
        with torch.random.fork_rng(devices=devices):
            yield
    finally:
        random.setstate(of_python)
        if numpy_random:
            numpy_random.set_state(of_numpy)
        for value, read, write in settings:
            if _value(read) != value:
                write(*value)


def _value(read: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...] | None:
    """None for a setting that cannot be read: torch refuses the old ones for precision once a new one has been set."""
    try:
        return read()
    except RuntimeError:
        return None


def _settings() -> Iterator[tuple[Callable[[], tuple[Any, ...]], Callable[..., Any]]]:
    """What a forward may set for the whole process: how each is read, and how it is written."""
    import torch

    yield lambda: (torch.is_grad_enabled(),), torch.set_grad_enabled
    yield lambda: (torch.get_default_dtype(),), torch.set_default_dtype
    yield lambda: (torch.get_float32_matmul_precision(),), torch.set_float32_matmul_precision
    yield lambda: (torch.get_num_threads(),), torch.set_num_threads
    yield lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()), torch.set_anomaly_enabled
    yield lambda: (torch.backends.mha.get_fastpath_enabled(),), torch.backends.mha.set_fastpath_enabled
    yield (
        lambda: (torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()),
        lambda mode, warn_only: torch.use_deterministic_algorithms(mode, warn_only=warn_only),
    )
    precision: Any = getattr(torch._C, "_get_fp32_precision_getter", None)
    for where in _PRECISIONS if precision else ():
        yield partial(_tuple_of, precision, *where), partial(torch._C._set_fp32_precision_setter, *where)
    for device in ("cpu", "cuda"):
        yield partial(_autocast, device), partial(_set_autocast, device)
    kernels = torch.backends.cuda
    for kernel in ("flash", "math", "mem_efficient", "cudnn"):  # of attention
        yield partial(_tuple_of, getattr(kernels, f"{kernel}_sdp_enabled")), getattr(kernels, f"enable_{kernel}_sdp")
    for name in ("enabled", "benchmark", "deterministic", "allow_tf32"):
        yield partial(_of_cudnn, name), partial(setattr, torch.backends.cudnn, name)


def _tuple_of(read: Callable[..., Any], *arguments: Any) -> tuple[Any]:
    return (read(*arguments),)


def _of_cudnn(name: str) -> tuple[Any]:
    import torch

    return (getattr(torch.backends.cudnn, name),)


def _autocast(device: str) -> tuple[bool, Any]:
    import torch

    return torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)


def _set_autocast(device: str, is_enabled: bool, dtype: Any) -> None:
    import torch

    torch.set_autocast_enabled(device, is_enabled)
    torch.set_autocast_dtype(device, dtype)


def runs(module: Any, args: Any, kwargs: Any) -> bool:
    """Whether a module takes these inputs: a detector does take a list of images."""
    import torch

    try:
        with undisturbed(module, args, kwargs), torch.no_grad():
            module(*args, **kwargs)
    except Exception:  # whatever a model raises
        return False
    return True
