"""What a model calls its results: the keys of the dictionary, or the fields of the object, that it returns. No torch import.

A live `TreeSpec` and the JSON of one in a `.pt2` file say it in the same way, so both readers use this module.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple


class Spec(NamedTuple):
    """A container of results, with the keys of its parts if they have any; or one result."""

    context: Any
    parts: Sequence[Any]
    is_leaf: bool


def live_spec(spec: Any) -> Spec:
    is_new = hasattr(spec, "children")  # torch 2.9 and later
    return Spec(spec.context, spec.children() if is_new else spec.children_specs, spec.is_leaf())


def stored_spec(spec: Mapping[str, Any]) -> Spec:
    context = spec["context"]
    return Spec(json.loads(context) if isinstance(context, str) else None, spec["children_spec"], spec["type"] is None)


def result_names(root: Any, open_spec: Callable[[Any], Spec]) -> list[str]:
    """One name for each result, in order: "logits", "past_key_values.key_cache.0". Nothing if no container has keys."""
    names: list[str] = []
    waiting: list[tuple[str, Any]] = [("", root)]
    has_keys = False
    while waiting:
        path, held = waiting.pop()
        spec = open_spec(held)
        if spec.is_leaf:
            names.append(path)
            continue
        keys = _keys(spec)
        has_keys = has_keys or keys is not None
        steps = keys or [str(number) for number in range(len(spec.parts))]
        waiting.extend((f"{path}.{step}" if path else step, part) for step, part in zip(reversed(steps), reversed(spec.parts), strict=True))
    return names if has_keys else []


def _keys(spec: Spec) -> list[str] | None:
    """Dictionaries and model outputs have a list of keys as context; dataclasses have the names of their fields first in it."""
    context = spec.context
    for keys in (context, context[0] if isinstance(context, list | tuple) and context else None):
        if isinstance(keys, list | tuple) and len(keys) == len(spec.parts) and all(isinstance(key, str) for key in keys):
            return list(keys)
    return None


def names_attr(numbers: Sequence[int], names: Sequence[str]) -> dict[str, list[str]]:
    """The attribute of an output node: the names of its values. `numbers` says which result each of them is."""
    return {"names": [names[number] for number in numbers]} if names and numbers and max(numbers) < len(names) else {}
