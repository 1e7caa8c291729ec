"""A tensor as it is now, to be put back: its memory, what is in it, its gradient."""

from __future__ import annotations

from typing import Any


class TensorState:
    """Where a tensor is in memory, and whether it requires a gradient. What is in it only once it has been copied: it may be large."""

    def __init__(self, tensor: Any) -> None:
        import torch

        self.tensor, self._same_memory = tensor, tensor.data
        self._is_leaf, self._requires_grad = tensor.is_leaf, tensor.requires_grad
        self._gradient = tensor.grad if tensor.is_leaf else None
        self._version = None if tensor.is_inference() else torch.autograd._unsafe_preserve_version_counter(tensor)
        self._values: Any = None

    def copy(self) -> None:
        if not self.tensor.is_meta:
            self._values = _without_repeats(self._same_memory).clone()

    def put_back(self) -> None:
        import torch

        tensor, before = self.tensor, self._same_memory
        if not _is_same_memory(tensor, before):  # resized, as observers of quantization do, or of another dtype
            tensor.data = before
        if self._values is not None and not torch.equal(values := _without_repeats(before), self._values):
            values.copy_(self._values)
        if self._is_leaf:
            if not tensor.is_leaf and not tensor._is_view():  # a result was written into it
                tensor.detach_()
            if tensor.is_leaf and tensor.requires_grad is not self._requires_grad:
                tensor.requires_grad_(self._requires_grad)
            if tensor.is_leaf and tensor.grad is not self._gradient:
                tensor.grad = self._gradient
        if self._version is not None:  # so that the user's graphs that saved it stay valid
            self._version.__exit__(None, None, None)


def can_be_put_back(tensor: Any) -> bool:
    import torch
    from torch._subclasses.fake_tensor import is_fake

    is_lazy = type(tensor).__name__ == "UninitializedParameter"
    return not is_lazy and type(tensor.data) is torch.Tensor and tensor.layout is torch.strided and not is_fake(tensor)


def _is_same_memory(a: Any, b: Any) -> bool:
    return bool(
        a.dtype is b.dtype and a.shape == b.shape and a.stride() == b.stride() and a.device == b.device and (a.is_meta or a.is_set_to(b))
    )


def _without_repeats(tensor: Any) -> Any:
    """A tensor without the elements that share memory, as those of an expanded one do: torch refuses to write to them."""
    repeated = [size > 1 and stride == 0 for size, stride in zip(tensor.shape, tensor.stride(), strict=True)]
    return tensor[tuple(slice(0, 1) if each else slice(None) for each in repeated)] if any(repeated) else tensor
