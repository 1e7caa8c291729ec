"""torchsummary's `summary`: the same arguments, and character for character the same table.

To be comparable, it also keeps torchsummary's errors: only `weight` and `bias` count as parameters, a layer that is used twice counts
twice, and every number takes four bytes. `opscope.summary` gets these right. Where torchsummary fails because a model contains no other
module (a single `nn.Linear`), the table has one row, with all parameters of the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import Any, NamedTuple

from opscope.errors import OpscopeError
from opscope.readers.torch.undisturbed import undisturbed
from opscope.terminal import say

NUMBER_BYTES = 4
MEGABYTE = 1024**2
WIDTH = 64


class DeviceError(OpscopeError, AssertionError):
    """An error of both kinds: torchsummary's users expect an AssertionError."""


class _Line(NamedTuple):
    name: str
    shape: list[Any]
    parameters: int
    trainable: int

    @property
    def elements(self) -> int:
        """The elements of its output. Several outputs are multiplied, as in the original."""
        return _product(self.shape)


def summary(model: Any, input_size: Any, batch_size: int = -1, device: str = "cuda") -> None:
    """Print the table. `input_size` does not include the batch dimension; `device` is "cuda" or "cpu"."""
    import torch

    if device.lower() not in ("cuda", "cpu"):
        raise DeviceError("Input device is not valid, please specify 'cuda' or 'cpu'")
    place = "cuda" if device.lower() == "cuda" and torch.cuda.is_available() else "cpu"
    sizes = [input_size] if isinstance(input_size, tuple) else list(input_size)
    lines: list[_Line] = []
    with undisturbed(model), _recorded(model, lines, batch_size):
        model(*[torch.rand(2, *size).to(place, torch.float32) for size in sizes])
    _print_table(lines, abs(_product(sizes) * batch_size))


@contextmanager
def _recorded(model: Any, lines: list[_Line], batch_size: int) -> Iterator[None]:
    from torch import nn

    def record(module: Any, inputs: Any, result: Any) -> None:
        tensors = [getattr(module, name, None) for name in ("weight", "bias")]
        parameters = sum(int(tensor.numel()) for tensor in tensors if tensor is not None and hasattr(tensor, "size"))
        trainable = parameters if getattr(tensors[0], "requires_grad", False) else 0
        lines.append(_Line(f"{type(module).__name__}-{len(lines) + 1}", shape_of(result), parameters, trainable))

    def record_alone(module: Any, inputs: Any, result: Any) -> None:
        if not lines:
            counts = [(int(parameter.numel()), parameter.requires_grad) for parameter in module.parameters()]
            total, trainable = sum(count for count, _ in counts), sum(count for count, trained in counts if trained)
            lines.append(_Line(f"{type(module).__name__}-1", shape_of(result), total, trainable))

    def shape_of(result: Any) -> list[Any]:
        if isinstance(result, list | tuple):
            return [[-1, *part.size()[1:]] for part in result]
        return [batch_size, *result.size()[1:]]

    handles = [model.register_forward_hook(record_alone)]
    for module in _in_apply_order(model):
        if module is not model and not isinstance(module, nn.Sequential | nn.ModuleList):
            handles.append(module.register_forward_hook(record))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _in_apply_order(model: Any) -> Iterator[Any]:
    """Every module, once per place in the tree: a shared module gets two hooks, and two lines per call."""
    waiting = [model]
    while waiting:
        module = waiting.pop()
        yield module
        waiting.extend(module.children())


def _product(shape: Any) -> int:
    """The product of all numbers in a nested list of shapes."""
    return prod(_product(part) if isinstance(part, list | tuple) else part for part in shape)


def _print_table(lines: list[_Line], input_elements: int) -> None:
    thin, thick = "-" * WIDTH, "=" * WIDTH
    total = sum(line.parameters for line in lines)
    trainable = sum(line.trainable for line in lines)
    sizes = [
        ("Input size", input_elements * NUMBER_BYTES / MEGABYTE),
        ("Forward/backward pass size", abs(2 * sum(line.elements for line in lines) * NUMBER_BYTES / MEGABYTE)),
        ("Params size", total * NUMBER_BYTES / MEGABYTE),
    ]
    sizes.append(("Estimated Total Size", sum(size for _, size in sizes)))
    table = [
        thin,
        f"{'Layer (type)':>20}  {'Output Shape':>25} {'Param #':>15}",
        thick,
        *(f"{line.name:>20}  {line.shape!s:>25} {line.parameters:>15,}" for line in lines),
        thick,
        f"Total params: {total:,}",
        f"Trainable params: {trainable:,}",
        f"Non-trainable params: {total - trainable:,}",
        thin,
        *(f"{name} (MB): {size:0.2f}" for name, size in sizes),
        thin,
    ]
    say(*table)
