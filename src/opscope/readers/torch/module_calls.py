"""Follows the module calls of a real forward run: which call is open, as a group path of the model. For hooks-based captures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from opscope.program import Path
from opscope.readers.torch.names import Call, OwnerScopes

Listener = Callable[[], Any]


class ModuleCalls:
    """The stack of open module calls below a root, and every parameter's name and owner."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.owners = OwnerScopes()
        self._open: list[Call] = [Call("", type(root).__name__)]
        self._counts: dict[str, int] = {}
        self._scopes: list[Path] = [()]
        self._names = {id(tensor): name for name, tensor in reversed([*root.named_parameters(), *root.named_buffers()])}

    @property
    def scope(self) -> Path:
        """The group path of the innermost open call."""
        return self._scopes[-1]

    def name(self, tensor: Any) -> str:
        return str(self._names.get(id(tensor), ""))

    def scope_of_parameter(self, tensor: Any) -> Path:
        name = self.name(tensor)
        return self.owners.of(name) if name else ()

    @contextmanager
    def followed(self, entered: Listener | None = None, left: Listener | None = None) -> Iterator[None]:
        """While open, module calls are followed. The listeners hear of each: after it is on the stack, before it leaves it."""
        handles = []
        for path, module in self.root.named_modules():
            if module is self.root or not can_be_hooked(module):
                continue

            def before(module: Any, args: Any, path: str = path) -> None:
                repeat = self._counts.get(path, 0)
                self._counts[path] = repeat + 1
                self._open.append(Call(path, type(module).__name__, repeat))
                self._scopes.append(self.owners.note(tuple(self._open)))
                if entered:
                    entered()

            def after(module: Any, args: Any, result: Any) -> None:
                if left:
                    left()
                self._open.pop()
                self._scopes.pop()

            handles.append(module.register_forward_pre_hook(before, prepend=True))
            handles.append(module.register_forward_hook(after, always_call=True))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


def can_be_hooked(module: Any) -> bool:
    """TorchScript calls its modules itself, past all hooks."""
    import torch

    return not isinstance(module, torch.jit.ScriptModule)


@contextmanager
def same_attributes(module: Any) -> Iterator[None]:
    """Attributes that a run sets (a cache, a counter) are put back. What is changed inside of a list or dict stays changed."""
    before = [(each, dict(each.__dict__)) for each in module.modules() if can_be_hooked(each)]
    try:
        yield
    finally:
        for each, attributes in before:
            now = each.__dict__
            if len(now) != len(attributes) or any(now.get(name, each) is not value for name, value in attributes.items()):
                each.__dict__.clear()
                each.__dict__.update(attributes)


@contextmanager
def undisturbed(module: Any) -> Iterator[None]:
    """Looking at a model must not change it: random state, buffers (a batch norm's statistics) and attributes are put back afterwards.

    Nothing is compiled meanwhile. What Dynamo makes of `torch.cond` under our eyes it would keep, and `torch.export` then trips over it.
    """
    import torch

    before = [(buffer, buffer.detach().clone()) for buffer in module.buffers()]
    with torch.random.fork_rng(devices=[]), same_attributes(module), torch.compiler.set_stance("force_eager"):
        try:
            yield
        finally:
            for buffer, value in before:
                if not buffer.is_meta and not torch.equal(buffer, value):
                    buffer.data.copy_(value)  # not as an operation: graphs of the user's that saved it stay valid
