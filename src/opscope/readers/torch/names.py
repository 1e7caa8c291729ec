"""Torch's text formats in the model's terms: operator names, module stacks, stack traces. No torch import.

Live graphs and `.pt2` files use the same formats, so both readers use this module and produce equal Programs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from opscope.program import Frame, Path, line_number, whole_number

ONE_BY_ONE = "pass inputs one by one, not in a tuple or list: opscope.capture(model, *inputs)"

NO_MODULE = "_empty_nn_module_stack_from_metadata_hook"
"""What torch.export puts into the stack of nodes that it creates itself, outside any module."""

_DYNAMO_ROOT = re.compile(r"^L\['self'\]|^L__self__")
_DYNAMO_ITEM = re.compile(r"(?:\._modules)?\[['\"]?([^'\"\[\]]++)['\"]?\]")
_FRAME = re.compile(r'^[ \t]*+File "(?P<file>[^"\n]++)", line (?P<line>\d++)(?:, in (?P<function>.+))?$', re.MULTILINE)
_DEEPEST = 200
"""How deeply modules are nested at most: a name can have a million dots, and each of them would be looked at."""
_EXPORT_PLUMBING = "torch/_dynamo/functional_export.py"


class Call(NamedTuple):
    """One module on the stack of a node: attribute path ("layers.3.mlp"), full class name, and which call of it this is."""

    path: str
    cls: str
    repeat: int = 0

    @classmethod
    def of(cls, key: str, path: str, class_name: str) -> Call:
        """From an entry of `nn_module_stack`, whose key ends in `@2` for the third call of the same module."""
        repeat = key.rpartition("@")[2] if "@" in key else ""
        if "'" in path or path.startswith("L__self__"):
            path = attribute_path(path)
        return cls(path, class_name, whole_number(repeat) or 0)

    def title(self, parent: str) -> str:
        """The group's name below its parent: "mlp: LlamaMLP", or "mlp@2: LlamaMLP" for the third call."""
        inside = parent and self.path.startswith(f"{parent}.")
        name = self.path[len(parent) + 1 :] if inside else self.path
        again = f"@{self.repeat}" if self.repeat else ""
        return f"{name}{again}: {self.cls.rpartition('.')[2]}"


@lru_cache(maxsize=4096)
def attribute_path(spelled: str) -> str:
    """Dynamo spells "layers.3.mlp" as `L['self']._modules['layers']._modules['3'].mlp`."""
    return _DYNAMO_ITEM.sub(r".\1", _DYNAMO_ROOT.sub("", spelled)).strip(".")


def scope_of(calls: Iterable[Call]) -> Path:
    """The scope of a node, without the root module, which contains everything and names the Program."""
    path: list[str] = []
    parent = ""
    for call in calls:
        if call.path and call.path != NO_MODULE:
            path.append(call.title(parent))
            parent = call.path
    return tuple(path)


@lru_cache(maxsize=4096)
def calls_of_text(stack: str) -> tuple[Call, ...]:
    """The module stack as `.pt2` files store it: `key,path,class` joined by `;`."""
    calls = []
    for entry in stack.split(";"):
        parts = entry.split(",")
        if len(parts) >= 3:
            calls.append(Call.of(parts[0], parts[1], ",".join(parts[2:])))
    return tuple(calls)


def frames_of_text(stack_trace: str) -> tuple[Frame, ...]:
    """Source frames, innermost first, without those of the exporter itself."""
    frames = [
        Frame(match["file"], line_number(match["line"]), match["function"] or "")
        for match in _FRAME.finditer(stack_trace)
        if not match["file"].endswith(_EXPORT_PLUMBING)
    ]
    return tuple(reversed(frames))


def first_words(error: BaseException) -> str:
    """An error on one line."""
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words[:400]}" if words else type(error).__name__


_PREFIXES = (
    ("torch.ops.higher_order.", ""),
    ("torch.ops.", ""),
    ("torch._C._nn.", "torch.nn.functional."),  # as people write it
    ("_operator.getitem", "getitem"),
    ("_operator.", "operator."),
)


@lru_cache(maxsize=4096)
def op_name(target: str) -> str:
    """Shortened: "torch.ops.aten.add.Tensor" is "aten.add.Tensor"; "torch.ops.higher_order.cond" is "cond"."""
    for prefix, short in _PREFIXES:
        if target.startswith(prefix):
            return short + target[len(prefix) :]
    return target


def about_modules(classes: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """A program's attributes for its modules: the class of each module that ran, by path. Empty if there is only the root."""
    inner = {path: cls for path, cls in classes.items() if path}
    return {"modules": inner} if inner else {}


class OwnerScopes:
    """Scopes for parameters: that of the module that owns them, taken from the module stacks of the nodes."""

    def __init__(self) -> None:
        self._by_path: dict[str, Path] = {}
        self.classes: dict[str, str] = {}

    def note(self, calls: tuple[Call, ...]) -> Path:
        """Record every module on a node's stack; returns the node's scope."""
        scope = scope_of(calls)
        innermost = calls[-1].path if calls else ""
        if innermost not in self._by_path:
            depth = 0
            for call in calls:
                if call.path == NO_MODULE:
                    continue
                depth += bool(call.path)
                self._by_path.setdefault(call.path, scope[:depth])
                self.classes.setdefault(call.path, call.cls)
        return scope

    def of(self, qualified_name: str) -> Path:
        """The scope of "layers.3.mlp.weight": that of its module, or of the nearest enclosing module that ran."""
        owner = qualified_name.rpartition(".")[0] if qualified_name.count(".") <= _DEEPEST else ""
        while owner and owner not in self._by_path:
            owner = owner.rpartition(".")[0]
        return self._by_path.get(owner, ())
