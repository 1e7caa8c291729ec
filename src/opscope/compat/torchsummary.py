"""`summary` with torchsummary's arguments: it prints that tool's table, letter by letter.

The table keeps that tool's idea of things (only `weight` and `bias` are parameters, a layer that is used twice counts twice, every
number has four bytes), so that people can compare with what they had. `opscope.summary` is right where this table is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import Any, NamedTuple

from opscope.errors import OpscopeError
from opscope.readers.torch.undisturbed import undisturbed

NUMBER_BYTES = 4
MEGABYTE = 1024**2
WIDTH = 64


class _Line(NamedTuple):
    name: str
    shape: list[Any]
    parameters: int
    trainable: bool

    @property
    def elements(self) -> int:
        """Of its output; several outputs are multiplied, as the original does with the nested list."""
        return _product(self.shape)


def summary(model: Any, input_size: Any, batch_size: int = -1, device: str = "cuda") -> None:
    """Prints the table. `input_size` is without the batch; `device` is "cuda" or "cpu"."""
    import torch

    if device.lower() not in ("cuda", "cpu"):
        raise OpscopeError("Input device is not valid, please specify 'cuda' or 'cpu'")
    place = "cuda" if device.lower() == "cuda" and torch.cuda.is_available() else "cpu"
    sizes = [input_size] if isinstance(input_size, tuple) else list(input_size)
    lines: list[_Line] = []
    with undisturbed(model), _watched(model, lines, batch_size):
        model(*[torch.rand(2, *size).to(place, torch.float32) for size in sizes])
    _print_table(lines, abs(_product(sizes) * batch_size))


@contextmanager
def _watched(model: Any, lines: list[_Line], batch_size: int) -> Iterator[None]:
    from torch import nn

    def note(module: Any, given: Any, result: Any) -> None:
        if isinstance(result, list | tuple):
            shape: list[Any] = [[-1, *part.size()[1:]] for part in result]
        else:
            shape = [batch_size, *result.size()[1:]]
        owned = [getattr(module, name, None) for name in ("weight", "bias")]
        parameters = sum(int(tensor.numel()) for tensor in owned if tensor is not None and hasattr(tensor, "size"))
        trainable = bool(getattr(owned[0], "requires_grad", False))
        name = f"{type(module).__name__}-{len(lines) + 1}"
        lines.append(_Line(name, shape, parameters, trainable))

    handles = []
    for module in _in_apply_order(model):
        if module is not model and not isinstance(module, nn.Sequential | nn.ModuleList):
            handles.append(module.register_forward_hook(note))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _in_apply_order(model: Any) -> Iterator[Any]:
    """Every module once for each place that it has in the tree: a shared one is watched twice, and listed twice per call."""
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
    trainable = sum(line.parameters for line in lines if line.trainable)
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
    print("\n".join(table))
