"""Runs a module and remembers, for the autograd graph that results, which call and line made each function and what was cut off."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from opscope.program import Path
from opscope.readers.torch.module_calls import ModuleCalls
from opscope.readers.torch.nested import tensors
from opscope.readers.torch.origins import Cut, Origins
from opscope.readers.torch.source_lines import calling_frames
from opscope.readers.torch.values import tensor_type


class RecordedOrigins(Origins):
    """What was seen during a forward run. Autograd numbers its functions as they are made: a number tells the call it fell into."""

    def __init__(self, root: Any) -> None:
        self.calls = ModuleCalls(root)
        self._numbers: list[int] = []
        self._scopes: list[Path] = []
        """From each number on, the scope: parallel lists, in order."""
        self._cuts: dict[int, tuple[Any, Cut]] = {}
        """By id of the tensor, which is kept alive so that no other can get its id."""
        self._cuts_into: dict[Any, list[Cut]] = {}

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

    def cuts_into(self, function: Any) -> list[Cut]:
        return self._cuts_into.get(function, [])

    def cut_of(self, tensor: Any) -> Cut | None:
        found = self._cuts.get(id(tensor))
        return found[1] if found else None

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """The module's result, with gradients enabled and every function's line recorded."""
        import torch

        with (
            torch.enable_grad(),
            torch.autograd.set_detect_anomaly(True, check_nan=False),
            _cut_watch(self),
            self.calls.followed(lambda: self.note_scope(self.calls.scope), lambda: self.note_scope(self.calls._scopes[-2])),
        ):
            self.note_scope(())
            return self.calls.root(*args, **kwargs)

    def saw(self, function: Any, inputs: list[Any], results: list[Any]) -> None:
        """A torch function ran: results that lost their gradient are cut, results that have one may have met a cut."""
        import torch

        came = [self._cuts[id(tensor)][1] for tensor in inputs if id(tensor) in self._cuts]
        needing = [tensor for tensor in inputs if tensor.requires_grad]
        for result in results:
            if result.grad_fn is not None:
                if came:
                    self._cuts_into.setdefault(_function_with_gap(result.grad_fn), []).extend(came)
            elif not result.requires_grad and id(result) not in self._cuts and (needing or came):
                if needing and not any(result is tensor for tensor in inputs):
                    source = needing[0]
                    by, why = _reason(function, result, torch.is_grad_enabled())
                    kind = tensor_type(result)
                    cut = Cut(by, why, source.grad_fn, source.output_nr, kind, calling_frames())
                elif came:
                    cut = came[0]
                else:
                    continue
                self._cuts[id(result)] = (result, cut)


def _function_with_gap(function: Any) -> Any:
    """A torch function may make several autograd functions; the one that misses a producer took the cut value."""
    for candidate in (function, *(producer for producer, _ in function.next_functions if producer is not None)):
        if any(producer is None for producer, _ in candidate.next_functions):
            return candidate
    return function


def _reason(function: Any, result: Any, grad_enabled: bool) -> tuple[str, str]:
    name = getattr(function, "__name__", str(function))
    if not (result.is_floating_point() or result.is_complex()):
        kind = str(result.dtype).removeprefix("torch.")
        return kind, f"{name} gives {kind}, and only floating-point and complex tensors have gradients"
    if name in ("detach", "detach_", "__get__"):
        return "detach", "detach() takes the value out of the graph: no gradient flows back through it"
    if not grad_enabled:
        return "no_grad", f"{name} ran under no_grad (or inference_mode): no gradient flows back through it"
    return "not differentiable", f"{name} has no derivative: no gradient flows back through it"


def _next_number() -> int:
    import torch

    return int(torch.autograd._get_sequence_nr())


def _cut_watch(origins: RecordedOrigins) -> Any:
    from torch.overrides import TorchFunctionMode

    class CutWatch(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            given = [tensor for _, tensor in tensors([args, kwargs or {}])]
            if given:
                origins.saw(func, given, [tensor for _, tensor in tensors(result)])
            return result

    return CutWatch()
