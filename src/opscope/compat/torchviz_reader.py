"""The autograd graph as torchviz draws it, which depends on the order of its walk.

torchviz writes a statement each time it meets a tensor, and Graphviz keeps the last one: a leaf that is met first and saved later is
orange, an output that another function saved is too, and a tensor that a function saves twice has the second name and two lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opscope.program import Path, Role, ValueRef
from opscope.readers.torch.autograd import AutogradReader
from opscope.readers.torch.saved import is_custom
from opscope.readers.torch.values import tensor_type

_ROLES: dict[str, Role] = {"leaf": "parameter", "saved": "saved", "output": "output", "base": "output"}


class TorchvizReader(AutogradReader):
    """One node for each tensor that torchviz draws, with the kind and the name of its last statement."""

    def _nodes(self, functions: list[Any], outputs: list[tuple[str, Any]]) -> None:
        self.paths = {id(tensor): path for path, tensor in outputs}
        self.drawn: dict[int, Any] = {}
        self.last: dict[int, tuple[str, str]] = {}
        """By tensor, the kind and the name that its last statement gives it."""
        self.results: set[int] = set()
        """The tensors that are drawn as outputs or bases: only they have a line from their function and from their base."""
        self.leaves: set[int] = set()
        self.entered: set[Any] = set()
        self.placed: set[int] = set()
        for _, tensor in outputs:
            self._state_result(tensor, "output")
        for function in functions:
            self._function(function)
        for tensor in sorted(self.drawn.values(), key=lambda tensor: bool(id(tensor) in self.results and tensor._is_view())):
            self._place(tensor)  # a base comes before its view

    def _state(self, tensor: Any, kind: str, name: str) -> None:
        self.drawn[id(tensor)] = tensor
        self.last[id(tensor)] = (kind, name)

    def _state_result(self, tensor: Any, kind: str) -> None:
        if id(tensor) in self.last:
            return
        self.results.add(id(tensor))
        self._state(tensor, kind, self._name(tensor))
        self._walk(tensor.grad_fn)
        if tensor._is_view():
            self._state_result(tensor._base, "base")

    def _walk(self, root: Any) -> None:
        """State what each function saved before those that it follows; only the tensors of custom functions come after them."""
        waiting: list[tuple[Any, Iterator[Any]]] = [(None, iter([(root, 0)]))]
        while waiting:
            function, producers = waiting[-1]
            producer = next((each for each, _ in producers if each is not None and each not in self.entered), None)
            if producer is not None:
                self._enter(producer)
                waiting.append((producer, iter(producer.next_functions)))
                continue
            waiting.pop()
            for name, tensor in self.held[function].tensors if function is not None else ():
                if is_custom(name):
                    self._state(tensor, "saved", self._name(tensor))

    def _enter(self, function: Any) -> None:
        self.entered.add(function)
        for name, tensor in self.held[function].tensors:
            if not is_custom(name):
                self._state(tensor, "saved", name)
        variable = getattr(function, "variable", None)
        if variable is not None:
            self.leaves.add(id(variable))
            self._state(variable, "leaf", self._name(variable))

    def _name(self, tensor: Any) -> str:
        return self.options.names.get(id(tensor), "")

    def _before(self, function: Any) -> list[str]:
        """The leaves that it saved: they stay above, where the data flow begins."""
        leaves = [tensor for _, tensor in self.held[function].tensors if id(tensor) in self.leaves]
        return [self._id(id(tensor), self._name(tensor) or "leaf") for tensor in leaves]

    def _leaf(self, variable: Any, scope: Path) -> str:
        id_ = self._id(id(variable), self._name(variable) or "leaf")
        self._place(variable)
        return id_

    def _tensor_id(self, tensor: Any) -> str:
        kind, _ = self.last[id(tensor)]
        if kind == "saved":
            function, name, _ = self.saves[id(tensor)][-1]
            return self._id(id(tensor), f"{self.ids[function]}.{name}")
        return self._id(id(tensor), kind if kind == "base" else self.paths.get(id(tensor)) or kind)

    def _place(self, tensor: Any) -> None:
        if id(tensor) in self.placed:
            return
        self.placed.add(id(tensor))
        id_ = self._tensor_id(tensor)
        kind, name = self.last[id(tensor)]
        uses = self.saves.get(id(tensor), ())
        attrs: dict[str, Any] = {"kind": kind} | ({"name": name} if name else {}) | self._saved_attrs(uses, tensor)
        if kind == "saved":
            attrs["label"] = name or next(what for _, what, _ in uses if is_custom(what))
        elif kind == "output" and self.paths.get(id(tensor)):
            attrs["label"] = id_
        inputs: list[ValueRef] = []
        control = [self.ids[function] for function, _, _ in uses] if id(tensor) not in self.leaves else []
        if id(tensor) in self.results:
            if tensor.grad_fn is not None:
                inputs.append((self.ids[tensor.grad_fn], tensor.output_nr))
            elif kind in ("output", "base"):
                attrs["cut"] = self._why_cut(tensor, id_, kind)
            if tensor._is_view():
                control.append(self._tensor_id(tensor._base))
        op = ("parameter" if name else "leaf") if kind == "leaf" else kind
        self.builder.node(id_, op, inputs, (tensor_type(tensor),), role=_ROLES[kind], attrs=attrs, control=control)
