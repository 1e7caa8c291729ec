"""Lets torch.export look into the caches of transformers. transformers has a function for this, but it lasts for the whole process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def caches_registered() -> Iterator[bool]:
    """Register DynamicCache with torch's pytrees, and deregister it on exit. Yields whether that is possible.

    A registration that stays breaks other code: FlopCounterMode fails on Mamba, whose cache has layers of another kind."""
    from torch.utils import _pytree as pytree

    try:
        from transformers.cache_utils import DynamicCache
        from transformers.integrations.executorch import register_dynamic_cache_export_support
    except ImportError:
        yield False
        return
    if DynamicCache in pytree.SUPPORTED_NODES:
        yield True
        return
    register_dynamic_cache_export_support()
    try:
        yield True
    finally:
        _deregister(DynamicCache)


def _deregister(cls: type) -> None:
    """Remove a class from every registry of torch: Python's pytrees, fx, and optree, which torch uses if it is installed."""
    from torch.fx import _pytree as fx_pytree
    from torch.utils import _pytree as pytree

    with pytree._NODE_REGISTRY_LOCK:
        serialized = pytree.SUPPORTED_SERIALIZED_TYPES.pop(cls, None)
        if serialized is not None:
            pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE.pop(serialized.serialized_type_name, None)
        by_type: list[dict[type, Any]] = [pytree.SUPPORTED_NODES, fx_pytree.SUPPORTED_NODES, fx_pytree.SUPPORTED_NODES_EXACT_MATCH]
        for registry in by_type:
            registry.pop(cls, None)
        if pytree._cxx_pytree_imported:
            from torch.utils import _cxx_pytree

            _cxx_pytree.optree.unregister_pytree_node(cls, namespace="torch")
        pending = pytree._cxx_pytree_pending_imports
        pending[:] = [(args, kwargs) for args, kwargs in pending if args[0] is not cls]
