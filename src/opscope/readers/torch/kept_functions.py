"""Functions with a backward of their own (torch.autograd.Function), kept by torch.export for the joint graph.

torch.export follows their forward and forgets their backward, so that AOTAutograd would differentiate the operations of the forward.
Inside the context each call is one operator; in the module that is differentiated, it is the call of the function again."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_NAMESPACE = "opscope_function"
_OF_DYNAMO = "ApplyTemplate"
"""What strict export, which follows the code with Dynamo, calls instead of a function: a function of torch with both halves."""
_LOCK = threading.RLock()
"""`apply` belongs to the whole process; what other threads do with it stays as it is."""


class KeptFunctions:
    """The calls of functions with a backward of their own, by the operator that stands for each."""

    def __init__(self, library: Any, apply: Callable[..., Any], keeps: bool) -> None:
        self._library = library
        self._apply = apply
        self._calls: dict[Any, Callable[[list[Any]], list[Any]]] = {}
        self._keeps = keeps
        self._exports = True
        self._backwards: list[Any] = []
        """The graphs of the backward halves that Dynamo followed."""
        self.names: set[str] = set()
        """The functions that are kept."""
        self._followed: set[str] = set()
        """Those that are not."""

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What `function.apply` returns. What cannot be an operator is followed by torch.export, as ever."""
        import torch
        from torch.utils._pytree import tree_leaves

        places = [index for index, value in enumerate(args) if isinstance(value, torch.Tensor)]
        others = tree_leaves((*(value for index, value in enumerate(args) if index not in places), kwargs))
        if not self._exports:
            return self._apply(function, *args, **kwargs)
        unknown = any(isinstance(each, torch.Tensor | torch.SymInt | torch.SymFloat) for each in others)
        if not self._keeps or kwargs or not places or unknown:
            if function.__name__ != _OF_DYNAMO:  # its forward has no gradients at all, which the graph shows
                self._followed.add(function.__name__)
            return self._apply(function, *args, **kwargs)
        self.names.add(function.__name__)
        if function.__name__ == _OF_DYNAMO:
            captured = inspect.getclosurevars(function.backward).nonlocals.values()
            self._backwards += [each.graph for each in captured if isinstance(each, torch.fx.GraphModule)]
        results: list[Any] = []
        """What the function returned, which says where its tensors are."""

        def run(tensors: list[Any]) -> list[Any]:
            values = list(args)
            for index, tensor in zip(places, tensors, strict=True):
                values[index] = tensor
            returned = self._apply(function, *values)
            results[:] = [returned]
            return [each for each in _listed(returned) if isinstance(each, torch.Tensor)]

        name = f"{function.__name__}_{len(self._calls)}"
        self._library.define(f"{name}(Tensor[] tensors) -> Tensor[]")
        torch.library.register_fake(f"{_NAMESPACE}::{name}", run, lib=self._library)
        operator = getattr(getattr(torch.ops, _NAMESPACE), name).default
        self._calls[operator] = run
        tensors = iter(operator([args[index] for index in places]))
        returned = results.pop()
        values = tuple(next(tensors) if isinstance(each, torch.Tensor) else each for each in _listed(returned))
        return values if isinstance(returned, tuple) else values[0]

    def note(self) -> str:
        names = ", ".join(sorted(self._followed))
        return f"The backward of {names} is not its own, but that of the operations of its forward." if names else ""

    def restore(self, module: Any) -> None:
        """Call the functions themselves in an exported graph module, from now on."""
        self._exports = False
        for node in (node for graph in self._backwards for node in graph.nodes):
            node.meta.clear()  # it would replace what autograd says: which operation each one differentiates
        for node in module.graph.nodes:
            if node.target in self._calls:
                node.target = _called(self._calls[node.target])
        if self._calls:
            module.recompile()


def _listed(returned: Any) -> tuple[Any, ...]:
    return returned if isinstance(returned, tuple) else (returned,)


def _called(run: Callable[[list[Any]], list[Any]]) -> Any:
    def call(tensors: list[Any]) -> list[Any]:  # fx writes code with it, and looks for its module
        return run(tensors)

    return call


@contextmanager
def kept_functions(keeps: bool) -> Iterator[KeptFunctions]:
    import torch

    with _LOCK, torch.library._scoped_library(_NAMESPACE, "FRAGMENT") as library:
        original = torch.autograd.Function.__dict__["apply"]
        kept = KeptFunctions(library, original.__func__, keeps)
        thread = threading.get_ident()

        def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
            own = cls.__module__.partition(".")[0] == "torch" and cls.__name__ != _OF_DYNAMO
            if torch.compiler.is_dynamo_compiling() or own or threading.get_ident() != thread:
                return original.__func__(cls, *args, **kwargs)
            return kept.call(cls, args, kwargs)

        torch.autograd.Function.apply = classmethod(apply)
        try:
            yield kept
        finally:
            torch.autograd.Function.apply = original
