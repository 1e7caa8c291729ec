"""What a JAX function calls its results: their paths in the tree that it returns, which jaxprs and StableHLO state. No jax import."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

RESULTS = "results"
"""The attribute of a program that has the names of its results, in order."""

_KEY = re.compile(r"\[(['\"])(.*?)\1\]")


def results_attr(paths: Sequence[str], count: int) -> dict[str, list[str]]:
    """`result[0]['nt'].w` is named `[0].nt.w`. Nothing if no result has a key or a field: numbers alone say nothing."""
    names = [_KEY.sub(r".\2", path.removeprefix("result")).removeprefix(".") for path in paths]
    has_keys = any(re.sub(r"\[\d+\]", "", name) for name in names)
    return {RESULTS: names} if has_keys and len(names) == count else {}


def paths_of_tree(tree: Any) -> list[str]:
    """The paths of the leaves of a tree, as JAX writes them."""
    import jax

    return [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_flatten_with_path(tree)[0]]
