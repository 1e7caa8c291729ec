"""Measures a module: its calls with their inputs, parameters, multiply-adds, and the memory that autograd really saves.

The module runs once, unchanged. Hooks follow its calls, torch's FLOP counter counts what its kernels do, and hooks on saved tensors
see every tensor that backward would need, by storage: a tensor saved twice counts once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from opscope.errors import OpscopeError
from opscope.program import TensorType
from opscope.readers.torch.autograd_run import untrained_of_module
from opscope.readers.torch.flops import flop_counter
from opscope.readers.torch.module_calls import can_be_hooked
from opscope.readers.torch.names import first_words
from opscope.readers.torch.nested import tensors
from opscope.readers.torch.undisturbed import runs, undisturbed
from opscope.readers.torch.untrained import reached_leaves, untrained_note
from opscope.readers.torch.values import dense_parts, tensor_type


@dataclass
class Layer:
    """One call of a module, or a module that was never called but owns parameters."""

    path: str
    cls: str
    depth: int
    parent: int
    """Position of the caller in the list of layers; -1 for the root."""
    called: bool = True
    repeat: int = 0
    """How many times this module had been called before."""
    inputs: list[tuple[str, TensorType]] = field(default_factory=list)
    outputs: list[tuple[str, TensorType]] = field(default_factory=list)
    own_parameters: int = 0
    """Elements of its direct parameters that no earlier layer has counted: tied parameters count once."""
    own_trainable: int = 0
    shared_parameters: int = 0
    """Elements of its parameters that an earlier layer has counted."""
    flops: int | None = 0
    """Including everything called in it; None if unknown."""
    saved_bytes: int = 0
    """Saved for backward, first in this call itself."""
    kernel: tuple[int, ...] = ()


@dataclass
class Measured:
    """A whole module."""

    name: str
    layers: list[Layer]
    ran: bool
    parameters: int
    trainable: int
    parameter_bytes: int
    buffer_bytes: int
    input_bytes: int | None = 0
    saved_bytes: int | None = 0
    """Saved for backward; None if nothing ran."""
    flops: int | None = 0
    note: str = ""
    """Which parameters get no gradient, and the lines that cut them off."""


def measure(module: Any, args: tuple[Any, ...] | None, kwargs: dict[str, Any] | None) -> Measured:
    """Layers and totals. Without inputs (None) nothing runs, and only parameters are counted."""
    ran = args is not None
    if ran and not can_be_hooked(module):
        raise OpscopeError(f"{type(module).__name__} is TorchScript, whose layers cannot be followed; pass the module it was made from")
    unique = {id(parameter): parameter for parameter in module.parameters()}.values()
    whole = Measured(
        type(module).__name__,
        [],
        ran,
        sum(parameter.numel() for parameter in unique),
        sum(parameter.numel() for parameter in unique if parameter.requires_grad),
        sum(parameter.numel() * parameter.element_size() for parameter in unique),
        sum(part.numel() * part.element_size() for buffer in {id(b): b for b in module.buffers()}.values() for part in dense_parts(buffer)),
    )
    follower = _Follower(module, whole.layers)
    if not ran:
        follower.list_modules()
        return whole
    assert args is not None
    input_tensors = [tensor for _, tensor in tensors([args, kwargs or {}])]
    whole.input_bytes = sum(tensor.numel() * tensor.element_size() for tensor in input_tensors)
    try:
        reached = reached_leaves(follower.run(args, kwargs or {}, input_tensors))
    except RunFailed as error:
        if not runs(module, args, kwargs or {}):
            raise
        raise OpscopeError(
            f"{whole.name} runs, but not while torch counts its FLOPs; opscope.capture and `opscope info` count them in its graph. "
            f"{first_words(error.__cause__ or error)}"
        ) from error
    if reached is not None and untrained_note(module.named_parameters(), reached, lambda tensor: ""):
        whole.note = untrained_of_module(module, args, kwargs or {})
    whole.saved_bytes = follower.saved_bytes
    whole.flops = whole.layers[0].flops
    return whole


class RunFailed(OpscopeError):
    """The module itself raised; the cause is what it raised."""


class _Follower:
    def __init__(self, root: Any, layers: list[Layer]) -> None:
        self.root = root
        self.layers = layers
        self.open: list[int] = []
        self.calls: dict[str, int] = {}
        self.counted: set[int] = set()
        self.counter: Any = None
        self.started: list[int] = []
        self.storages: dict[int, Any] = {}
        self.saved_bytes = 0

    def add(self, path: str, module: Any, *, called: bool, parent: int) -> Layer:
        depth = self.layers[parent].depth + 1 if parent >= 0 else 0
        layer = Layer(path, type(module).__name__, depth, parent, called, self.calls.get(path, 0))
        self.layers.append(layer)
        for parameter in module.parameters(recurse=False):
            elements = parameter.numel()
            if id(parameter) in self.counted:
                layer.shared_parameters += elements
                continue
            self.counted.add(id(parameter))
            layer.own_parameters += elements
            layer.own_trainable += elements if parameter.requires_grad else 0
        kernel = getattr(module, "kernel_size", ())
        layer.kernel = tuple(kernel) if isinstance(kernel, tuple | list) else (int(kernel),) if isinstance(kernel, int) else ()
        return layer

    def list_modules(self) -> None:
        """The tree of modules, without a run."""
        positions: dict[str, int] = {}
        for path, module in self.root.named_modules():
            parent = positions.get(path.rpartition(".")[0], 0) if path else -1
            positions[path] = len(self.layers)
            self.add(path, module, called=True, parent=parent)

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any], input_tensors: list[Any]) -> Any:
        import torch

        self.counter = flop_counter()
        for tensor in (*input_tensors, *self.root.parameters(), *self.root.buffers()):
            for part in dense_parts(tensor):
                storage = part.untyped_storage()
                self.storages[storage._cdata] = storage  # exists anyway, and is counted separately
        with ExitStack() as watched:
            watched.enter_context(undisturbed(self.root, args, kwargs))
            watched.enter_context(_without_fast_path())
            watched.enter_context(torch.autograd.graph.saved_tensors_hooks(self._saved, lambda tensor: tensor))
            watched.enter_context(self.counter)
            watched.enter_context(self._hooked())
            try:
                return self.root(*args, **kwargs)
            except Exception as error:
                raise RunFailed(f"{type(self.root).__name__} raised {first_words(error)}{self._where()}") from error

    def _where(self) -> str:
        """The innermost open call, which is where an error came from."""
        layer = self.layers[self.open[-1]] if self.open else None
        return f" (in {layer.path}: {layer.cls})" if layer is not None and layer.path else ""

    @contextmanager
    def _hooked(self) -> Iterator[None]:
        handles = []
        for path, module in self.root.named_modules():
            if not can_be_hooked(module):
                continue

            def before(module: Any, args: Any, kwargs: Any, path: str = path) -> None:
                layer = self.add(path, module, called=True, parent=self.open[-1] if self.open else -1)
                self.calls[path] = self.calls.get(path, 0) + 1
                layer.inputs = _types([*args], kwargs)
                self.open.append(len(self.layers) - 1)
                self.started.append(self.counter.get_total_flops())

            def after(module: Any, args: Any, kwargs: Any, result: Any) -> None:
                layer = self.layers[self.open[-1]]
                layer.outputs = [(name, tensor_type(tensor)) for name, tensor in tensors(result)]
                layer.flops = self.counter.get_total_flops() - self.started.pop()
                self._uncalled(module, layer.path, self.open[-1])
                self.open.pop()

            handles.append(module.register_forward_pre_hook(before, with_kwargs=True, prepend=True))
            handles.append(module.register_forward_hook(after, with_kwargs=True))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _uncalled(self, module: Any, path: str, parent: int) -> None:
        """Add children that own parameters but were not called: attention reads the weights of its output projection directly."""
        for name, child in module.named_children():
            child_path = f"{path}.{name}" if path else name
            if child_path not in self.calls and any(id(p) not in self.counted for p in child.parameters(recurse=False)):
                self.add(child_path, child, called=False, parent=parent)

    def _saved(self, tensor: Any) -> Any:
        """Autograd saves a tensor. Storages stay referenced, as they will be in training: the address of a freed one may be reused."""
        for part in dense_parts(tensor):
            storage = part.untyped_storage()
            if storage._cdata not in self.storages:
                self.storages[storage._cdata] = storage
                self.saved_bytes += storage.nbytes()
                if self.open:
                    self.layers[self.open[-1]].saved_bytes += storage.nbytes()
        return tensor.detach()


def _types(args: list[Any], kwargs: dict[str, Any]) -> list[tuple[str, TensorType]]:
    return [(name, tensor_type(tensor)) for name, tensor in [*tensors(args), *tensors(kwargs)]]


@contextmanager
def _without_fast_path() -> Iterator[None]:
    """Disable the fused kernel of nn.TransformerEncoderLayer, which would hide its children from the summary."""
    import torch

    mha = getattr(torch.backends, "mha", None)
    if mha is None:
        yield
        return
    before = mha.get_fastpath_enabled()
    mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        mha.set_fastpath_enabled(before)
