"""Follows the module calls of a real forward run: which call is open, as a scope. For captures that use hooks."""

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
        """The scope of the innermost open call."""
        return self._scopes[-1]

    def name(self, tensor: Any) -> str:
        return str(self._names.get(id(tensor), ""))

    def scope_of_parameter(self, tensor: Any) -> Path:
        name = self.name(tensor)
        return self.owners.of(name) if name else ()

    @contextmanager
    def followed(self, entered: Listener | None = None, left: Listener | None = None) -> Iterator[None]:
        """Follow module calls inside the context. `entered` runs after a call is pushed, `left` before it is popped."""
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
    """Whether hooks work on a module. TorchScript calls its modules itself, bypassing hooks."""
    import torch

    return not isinstance(module, torch.jit.ScriptModule)
