"""Custom operators whose backward function reads data, which no trace can follow: their backward is one operation of the graph."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

_OWN = ("aten", "prims", "higher_order", "prim")


def custom_operators(module: Any) -> list[Any]:
    """The operators of a graph module that are not torch's own and have a backward function."""
    import torch

    targets = dict.fromkeys(node.target for node in module.graph.nodes if node.op == "call_function")
    return [
        target
        for target in targets
        if isinstance(target, torch._ops.OpOverload)
        and target.namespace not in _OWN
        and not target._schema.is_mutable
        and torch._C._dispatch_has_kernel_for_dispatch_key(target.name(), "Autograd")
    ]


@contextmanager
def opaque_backward(module: Any) -> Iterator[list[str]]:
    """Give the custom operators of a graph module backward operations that are not traced into. Yields the names of the operators.

    A gradient has the type of what it is the gradient of, so nothing needs to run. The operations exist inside the context only."""
    import torch

    operators = custom_operators(module)
    with ExitStack() as libraries:
        functions = {}
        for operator in operators:
            namespace, name = operator._schema.name.split("::")
            library = libraries.enter_context(torch.library._scoped_library(namespace, "FRAGMENT"))
            backward = f"{name}_backward"
            if not hasattr(getattr(torch.ops, namespace), backward):
                library.define(f"{backward}(Tensor[] gradients, Tensor[] inputs, int[] of) -> Tensor[]")
                library.impl(backward, lambda gradients, inputs, of: [torch.empty_like(inputs[index]) for index in of], "Meta")
                functions[operator] = _function(operator, getattr(getattr(torch.ops, namespace), backward).default)
        for node in module.graph.nodes:
            if node.target in functions:
                node.args, node.kwargs, node.target = _in_order(node), {}, functions[node.target]
        module.recompile()
        yield [operator._schema.name.replace("::", ".") for operator in functions]


def _in_order(node: Any) -> tuple[Any, ...]:
    """All arguments of a call by position: autograd functions take no keywords."""
    missing = node.target._schema.arguments[len(node.args) :]
    return (*node.args, *(node.kwargs.get(argument.name, argument.default_value) for argument in missing))


def _function(operator: Any, backward: Any) -> Any:
    import torch

    names = [argument.name for argument in operator._schema.arguments if argument.kwarg_only]
    positional = len(operator._schema.arguments) - len(names)

    class Opaque(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, *args: Any) -> Any:
            context.tensors = [index for index, value in enumerate(args) if isinstance(value, torch.Tensor)]
            context.count = len(args)
            context.save_for_backward(*(args[index] for index in context.tensors))
            return operator(*args[:positional], **dict(zip(names, args[positional:], strict=True)))

        @staticmethod
        def backward(context: Any, *gradients: Any) -> Any:
            of = [place for place, index in enumerate(context.tensors) if context.needs_input_grad[index]]
            computed = backward([each for each in gradients if each is not None], list(context.saved_tensors), of)
            results: list[Any] = [None] * context.count
            for place, gradient in zip(of, computed, strict=True):
                results[context.tensors[place]] = gradient
            return tuple(results)

    def call(*args: Any) -> Any:  # fx writes code with it, and looks for its module
        return Opaque.apply(*args)

    return call
