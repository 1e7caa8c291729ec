"""Frees very deep autograd graphs safely.

Accessing an autograd function from Python makes torch keep a Python object for it, and such functions free their dependencies
recursively: once a chain of 50,000 functions has been inspected, dropping its last tensor overflows the C stack (torch 2.13). So each
band of a deep graph holds the functions just below it, and passes them to a queue when it is freed: the recursion ends at the band's
boundary, and the queue frees the next band from a fresh stack. The interpreter waits for that before it exits.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

BAND = 4000
_waiting: list[Any] = []
_emptying = threading.Lock()


def make_safe_to_free(in_forward_order: Iterable[Any]) -> None:
    """Add holds to a graph that is deep enough to need them."""
    depth: dict[Any, int] = {}
    for function in in_forward_order:
        depth[function] = 1 + max((depth[producer] for producer, _ in function.next_functions if producer is not None), default=0)
    if max(depth.values(), default=0) <= BAND:
        return
    for function, level in depth.items():
        below = [
            producer
            for producer, _ in function.next_functions
            if producer is not None and producer.next_functions and depth[producer] // BAND != level // BAND
        ]
        if below:
            function.metadata["opscope.hold"] = _Hold(below)


class _Hold:
    """Attached to a function; when that is freed, the held functions are freed from another stack."""

    __slots__ = ("functions",)

    def __init__(self, functions: list[Any]) -> None:
        self.functions = functions

    def __del__(self, waiting: list[Any] = _waiting, emptying: threading.Lock = _emptying) -> None:
        waiting.extend(self.functions)
        self.functions = []
        if emptying.acquire(blocking=False):
            try:
                threading.Thread(target=_empty, name="opscope frees autograd functions").start()
            except (RuntimeError, TypeError):  # the interpreter is exiting and frees the queue itself
                emptying.release()


def _empty() -> None:
    try:
        while _waiting:
            _waiting.pop()
    finally:
        _emptying.release()
