"""Runs a module and records, for the resulting autograd graph, which call and line created each function and where gradients were cut."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from opscope.program import Frame, Path
from opscope.readers.torch.autograd import untrained_of_run
from opscope.readers.torch.modes import entered, gradients_on
from opscope.readers.torch.module_calls import ModuleCalls
from opscope.readers.torch.nested import tensors
from opscope.readers.torch.origins import Cut, Cuts, Origins
from opscope.readers.torch.reentrant import called_by, has_gradient, other_form
from opscope.readers.torch.source_lines import calling_frames
from opscope.readers.torch.undisturbed import undisturbed
from opscope.readers.torch.values import storage_key, tensor_type


class RecordedOrigins(Origins):
    """What a forward run recorded. Autograd numbers its functions as it creates them, so a number identifies the module call."""

    def __init__(self, root: Any, without_reentrant: bool = False) -> None:
        """`without_reentrant`: follow what runs in reentrant checkpoints, by running them in their other form."""
        self._without_reentrant = without_reentrant
        self.calls = ModuleCalls(root)
        self._numbers: list[int] = []
        self._scopes: list[Path] = []
        """The scope from each number on. The two lists are parallel and sorted."""
        self._cuts: dict[int, tuple[Any, Cuts]] = {}
        """By id of the tensor, which is kept alive so that its id is not reused."""
        self._cuts_of_leaves: dict[Any, Cut] = {}
        """By storage: a linear layer uses a view of its weight."""
        self._every_cut: list[Cut] = []
        self._cuts_into: dict[Any, list[Cuts]] = {}
        self._numbers_only: set[Any] = set()
        self._is_recomputed = False
        self._last: tuple[str, list[Any], list[Any], bool, tuple[Frame, ...]] | None = None

    @property
    def classes(self) -> Mapping[str, str]:
        return self.calls.owners.classes

    @property
    def parameters(self) -> list[tuple[str, Any]]:
        return list(self.calls.root.named_parameters()) if hasattr(self.calls.root, "named_parameters") else []

    def cut_of_leaf(self, tensor: Any) -> Cut | None:
        return self._cuts_of_leaves.get(storage_key(tensor))

    @property
    def every_cut(self) -> list[Cut]:
        return self._every_cut

    def note_scope(self, scope: Path) -> None:
        self._numbers.append(_next_number())
        self._scopes.append(scope)

    def scope(self, function: Any) -> Path:
        variable = getattr(function, "variable", None)
        if variable is not None:
            return self.calls.scope_of_parameter(variable)
        at = bisect_right(self._numbers, function._sequence_nr()) - 1
        return self._scopes[at] if at >= 0 else ()

    def name(self, variable: Any) -> str:
        return self.calls.name(variable)

    def cuts_into(self, function: Any) -> list[Cuts]:
        return self._cuts_into.get(function, [])

    def takes_only_numbers(self, function: Any) -> bool:
        return function in self._numbers_only

    def cuts_of(self, tensor: Any) -> Cuts:
        self.settle()
        entry = self._cuts.get(id(tensor))
        return entry[1] if entry else ()

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """The module's result, with gradients enabled and every function's line recorded."""
        import torch

        with (
            gradients_on(),
            torch.autograd.set_detect_anomaly(True, check_nan=False),
            _cuts_watched(self),
            other_form() if self._without_reentrant else called_by(self._recomputed),
            self.calls.followed(lambda: self.note_scope(self.calls.scope), lambda: self.note_scope(self.calls._scopes[-2])),
        ):
            self.note_scope(())
            return self.calls.root(*args, **kwargs)

    def _recomputed(self, original: Any, *args: Any) -> Any:
        """Runs a reentrant checkpoint: what runs without gradients in it runs again with them, so nothing is cut."""
        self.settle()
        self._is_recomputed, before = self._is_recomputed or has_gradient(args), self._is_recomputed
        try:
            return original(*args)
        finally:
            self._is_recomputed = before

    def settle(self) -> None:
        """Look at the last operation again: autograd attaches functions to results only after the operation has run."""
        if self._last is not None:
            operator, inputs, results, grad_enabled, frames = self._last
            self._last = None
            self._look(operator, inputs, results, grad_enabled, frames)

    def saw(self, operator: str, inputs: list[Any], results: list[Any], grad_enabled: bool) -> None:
        """Record an operation that ran. Its frames are read at once, the rest when the next one runs."""
        self.settle()
        if operator == "_local_scalar_dense":
            self.note_cut("item", "item() reads the value as a number: no gradient flows back through it", inputs[0])
        elif inputs and results and not self._is_recomputed:
            loses = any(tensor.requires_grad for tensor in inputs)
            self._last = (operator, inputs, results, grad_enabled, calling_frames() if loses else ())

    def note_cut(self, by: str, why: str, tensor: Any) -> Cut | None:
        """Record what cuts the gradient of a tensor off without a result that could show it."""
        self.settle()
        if not tensor.requires_grad or self._is_recomputed:
            return None
        cut = Cut(by, why, tensor.grad_fn, tensor.output_nr, tensor_type(tensor), calling_frames())
        self._note_cut(cut, [tensor])
        return cut

    def _note_cut(self, cut: Cut, tensors: list[Any]) -> None:
        self._every_cut.append(cut)
        self._cuts_of_leaves.update((storage_key(tensor), cut) for tensor in tensors if tensor.grad_fn is None)

    def detach_in_place(self, tensor: Any, detach: Callable[[], Any]) -> Any:
        """Autograd detaches without running an operator, and afterwards the tensor no longer shows what it came from."""
        cut = self.note_cut(*_DETACHED, tensor)
        result = detach()
        if cut:
            self._cuts[id(tensor)] = (tensor, (cut,))
        return result

    def _look(self, operator: str, inputs: list[Any], results: list[Any], grad_enabled: bool, frames: tuple[Frame, ...]) -> None:
        """Record results that lost their gradient, and functions that have such inputs."""
        input_cuts = [self._cuts[id(tensor)][1] for tensor in inputs if id(tensor) in self._cuts]
        needing = [tensor for tensor in inputs if tensor.requires_grad]
        for result in results:
            if result.grad_fn is not None:
                if len(needing) == len(inputs):
                    self._numbers_only.add(result.grad_fn)
                if input_cuts:
                    self._cuts_into.setdefault(result.grad_fn, input_cuts)
            elif not result.requires_grad and id(result) not in self._cuts:
                cuts = list(dict.fromkeys(cut for group in input_cuts for cut in group))
                if needing and not VALUELESS.match(operator) and not any(result is tensor for tensor in inputs):
                    by, why = _reason(operator, result, grad_enabled)
                    cut = Cut(by, why, needing[0].grad_fn, needing[0].output_nr, tensor_type(result), frames)
                    cuts.append(cut)
                    self._note_cut(cut, needing)
                if cuts:
                    self._cuts[id(result)] = (result, tuple(cuts))


def untrained_of_module(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Which parameters get no gradient, by a run that looks at each operation and its line: for the few models that lose a gradient."""
    origins = RecordedOrigins(module, without_reentrant=True)
    with undisturbed(module, args, kwargs):
        return untrained_of_run(origins.run(*args, **kwargs), origins)


_DETACHED = ("detach", "detach() takes the value out of the graph: no gradient flows back through it")
VALUELESS = re.compile(r"(new|empty|zeros|ones|full|rand)_|.*_like$|(empty|zeros|ones|full|randn?)$")
"""Operations that use only the shape of their input."""


def _reason(name: str, result: Any, grad_enabled: bool) -> tuple[str, str]:
    if not (result.is_floating_point() or result.is_complex()):
        kind = str(result.dtype).removeprefix("torch.")
        return kind, f"{name} returns {kind}, and only floating-point and complex tensors have gradients"
    if not grad_enabled:
        return "no_grad", f"{name} ran under no_grad (or inference_mode): no gradient flows back through it"
    if name in ("detach", "data"):
        return _DETACHED
    return "not differentiable", f"{name} has no derivative: no gradient flows back through it"


def _next_number() -> int:
    import torch

    return int(torch.autograd._get_sequence_nr())


@contextmanager
def _cuts_watched(origins: RecordedOrigins) -> Iterator[None]:
    """Record every operator that runs, and `tensor.data`, which is not an operator."""
    import torch
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    class Operators(TorchDispatchMode):  # type: ignore[misc]
        supports_higher_order_operators = True

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            origins.settle()
            result = func(*args, **(kwargs or {}))
            operands = [tensor for _, tensor in tensors([args, kwargs or {}])]
            name = func._schema.name.rpartition("::")[2] if hasattr(func, "_schema") else str(func)
            origins.saw(name, operands, [t for _, t in tensors(result)], torch.is_grad_enabled())
            return result

    class Data(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func in (torch.Tensor.detach_, torch.detach_):
                tensor = args[0] if args else (kwargs or {})["input"]
                return origins.detach_in_place(tensor, partial(func, *args, **(kwargs or {})))
            if func == torch.Tensor.tolist:  # not an operator either
                origins.note_cut("tolist", "tolist() reads the values as numbers: no gradient flows back through it", args[0])
            result = func(*args, **(kwargs or {}))
            if func == torch.Tensor.data.__get__:
                origins.saw("data", [args[0]], [result], True)
            return result

    with entered(Operators()), Data():
        yield
    origins.settle()
