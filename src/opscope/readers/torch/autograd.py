"""The autograd graph behind tensors, in the direction of the forward pass, with the semantics of torchviz.

Functions are operations, leaves that require a gradient are parameters, tensors saved for backward are `saved`, the captured tensors
are outputs, and the base of an output that is a view is an output too. The attribute `kind` distinguishes these five, and marks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from opscope.errors import OpscopeError
from opscope.gc_pause import without_collecting
from opscope.ops import CUT
from opscope.program import GraphBuilder, Link, Path, Program, ProgramBuilder, TensorType, ValueRef
from opscope.readers.torch.deep_chains import make_safe_to_free
from opscope.readers.torch.names import about_modules
from opscope.readers.torch.nested import tensors
from opscope.readers.torch.origins import NO_ORIGINS, Cut, Cuts, Origins
from opscope.readers.torch.reentrant import UNSEEN, is_reentrant
from opscope.readers.torch.saved import Held, attribute_text, held_by, is_freed, took_a_number
from opscope.readers.torch.untrained import cut_text, untrained_note
from opscope.readers.torch.values import sizes, storage_key, tensor_type

ENTRY = "autograd"
SAVED_BY = "saved_by"
FUNCTION_ATTRS = frozenset({"kind", "freed", "cut"})
"""Attributes that opscope sets on a function. A custom function's `ctx` attribute of the same name is shown as `ctx.kind`."""


class Options:
    """What to show. The first four options are torchviz's; to draw as torchviz does, turn `merge_saved` and `show_cuts` off.

    `torchviz_attrs` lists attributes as torchviz does: as Python prints them, with the tensors that a function saves among them.
    """

    def __init__(
        self,
        *,
        params: Any = None,
        show_attrs: bool = True,
        show_saved: bool = False,
        max_attr_chars: int = 50,
        merge_saved: bool = True,
        show_cuts: bool = True,
        torchviz_attrs: bool = False,
    ) -> None:
        self.parameters = [(name, tensor) for name, tensor in _named(params)]
        self.names = {id(tensor): name for name, tensor in self.parameters}
        self.show_attrs = show_attrs
        self.show_saved = show_saved
        self.max_attr_chars = max_attr_chars
        self.merge_saved = merge_saved
        self.show_cuts = show_cuts
        self.torchviz_attrs = torchviz_attrs


def _named(params: Any) -> Iterable[tuple[str, Any]]:
    """Names of tensors, from a mapping, pairs like those of `named_parameters()`, or a module."""
    if params is None:
        return ()
    if hasattr(params, "named_parameters"):
        return list(params.named_parameters())
    pairs = list(params.items()) if isinstance(params, Mapping) else list(params)
    if not all(isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs):
        raise OpscopeError("params must name tensors; pass a module, a dict from names to tensors, or named_parameters()")
    return pairs


def program_of_tensors(
    value: Any, options: Options, origins: Origins = NO_ORIGINS, name: str = "", kind: type[AutogradReader] | None = None
) -> Program | None:
    """The graph behind all tensors in a value, from this kind of reader; None if there is no tensor in it."""
    outputs = tensors(value)
    if not outputs:
        return None
    program = ProgramBuilder(name or "autograd", ENTRY)
    reader = (kind or AutogradReader)(program.graph(ENTRY), options, origins)
    with without_collecting():
        reader.read(outputs)
        program.attrs.update(reader.facts())
        return program.build()


def untrained_of_run(value: Any, origins: Origins) -> str:
    """Which parameters of the module that ran get no gradient, and the line that cut each of them off; empty if all get one."""
    reader = AutogradReader(ProgramBuilder("", ENTRY).graph(ENTRY), Options(), origins)
    reader.note_untrained(reader.functions_behind(tensors(value)))
    return "".join(reader.notes)


class AutogradReader:
    def __init__(self, builder: GraphBuilder, options: Options, origins: Origins) -> None:
        self.builder = builder
        builder.attrs["kind"] = "autograd"
        self.options = options
        self.origins = origins
        self.ids: dict[Any, str] = {}
        self.name_counts: dict[str, int] = {}
        self.held: dict[Any, Held] = {}
        self.saves: dict[Any, list[tuple[Any, str, Any]]] = {}
        """By tensor (object or storage): the functions that saved it, the name, and the tensor as each of them saved it."""
        self.without_gradient: set[Any] = set()
        self.cut_behind: dict[Any, Cut] = {}
        """By function without a gradient, the cut that it is behind."""
        self.notes: list[str] = []
        self.freed: set[Any] = set()

    def read(self, outputs: list[tuple[str, Any]]) -> None:
        functions = self.functions_behind(outputs)
        for function in functions:
            self._id(function, type(function).__name__)
            self._look_into(function)
        self._find_freed(functions)
        self._nodes(functions, outputs)
        self.builder.outputs = [(self.ids[id(tensor)], 0) for _, tensor in outputs]
        self.note_untrained(functions)
        if self.freed:
            count = len(self.freed)
            self.notes.append(
                f"backward() has freed the saved tensors of {count} function{'s' * (count != 1)}: the structure remains, but their "
                "contents and sizes are gone. Capture before backward(), or call backward(retain_graph=True)."
            )

    def functions_behind(self, outputs: list[tuple[str, Any]]) -> list[Any]:
        """All functions that the outputs depend on, and those behind cuts, as they were created."""
        roots = [tensor.grad_fn for _, tensor in outputs] + [base.grad_fn for _, base in self._bases(outputs)]
        functions = as_created(self._with_cut_off(in_forward_order(roots), outputs))
        make_safe_to_free(functions)
        return functions

    def _nodes(self, functions: list[Any], outputs: list[tuple[str, Any]]) -> None:
        """Functions with their leaves, then the tensors that are not leaves: saved ones, bases of views, outputs."""
        for function in functions:
            self._function(function)
        self._saved_alone()
        for _, base in self._bases(outputs):
            self._result(base, "base", "base")
        for path, tensor in sorted(outputs, key=lambda output: output[1]._is_view()):  # a view may be of another output
            self._result(tensor, path or "output", "output")

    def note_untrained(self, functions: list[Any]) -> None:
        """Say which parameters get no gradient: those of the module that ran, or those that were named."""
        if any(map(is_reentrant, functions)):
            self.notes.append(UNSEEN)
            return
        leaves = {id(function.variable): function for function in functions if getattr(function, "variable", None) is not None}
        reached = {key for key, function in leaves.items() if function not in self.without_gradient}

        aside: dict[int, Cut] = {}
        done: set[Any] = set()
        for cut_aside in self.origins.every_cut:
            behind = in_forward_order([cut_aside.function], done)
            aside.update((id(function.variable), cut_aside) for function in behind if hasattr(function, "variable"))

        def reason(tensor: Any) -> str:
            cut = self.cut_behind.get(leaves.get(id(tensor))) or self.origins.cut_of_leaf(tensor) or aside.get(id(tensor))
            return cut_text(cut) if cut else "not used" if self.origins.parameters else ""

        note = untrained_note(self.origins.parameters or self.options.parameters, reached, reason)
        if note:
            self.notes.append(note)

    def _find_freed(self, functions: list[Any]) -> None:
        """Find freed functions. backward() starts at the outputs, so if the last function that saved a tensor is not freed, none is.

        With `show_saved` every tensor is looked at anyway."""
        if self.options.show_saved:
            return
        last_is_freed = next((freed for freed in map(is_freed, reversed(functions)) if freed is not None), False)
        if last_is_freed:
            self.freed.update(function for function in functions if is_freed(function))

    def _with_cut_off(self, functions: list[Any], outputs: list[tuple[str, Any]]) -> list[Any]:
        """Add the functions behind cuts, as far as they are known: people look for the part that gets no gradient."""
        if not self.options.show_cuts:
            return functions
        done = set(functions)
        waiting = [cut for _, tensor in outputs for cut in self.origins.cuts_of(tensor)]
        waiting += self._cuts_into(functions)
        while waiting:
            cut = waiting.pop()
            behind = in_forward_order([cut.function], done)
            self.without_gradient.update(behind)
            self.cut_behind.update(dict.fromkeys(behind, cut))
            functions += behind
            waiting += self._cuts_into(behind)
        return functions

    def _cuts_into(self, functions: Iterable[Any]) -> list[Cut]:
        return [cut for function in functions for cuts in self.origins.cuts_into(function) for cut in cuts]

    def facts(self) -> dict[str, Any]:
        """Attributes of the whole graph."""
        facts: dict[str, Any] = {"saved_bytes": sum(map(_storage_bytes, self._distinct_storages()))} if self.saves else {}
        return facts | about_modules(self.origins.classes) | ({"notes": self.notes} if self.notes else {})

    def _distinct_storages(self) -> list[Any]:
        return list({storage_key(uses[0][2]): uses[0][2] for uses in self.saves.values()}.values())

    @staticmethod
    def _bases(outputs: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        bases = {id(tensor._base): (path, tensor._base) for path, tensor in outputs if tensor._is_view() and tensor._base is not None}
        output_ids = {id(tensor) for _, tensor in outputs}
        return [pair for key, pair in bases.items() if key not in output_ids]

    def _look_into(self, function: Any) -> None:
        options = self.options
        held = held_by(function, values=options.show_attrs, tensors=options.show_saved, listed=options.torchviz_attrs)
        self.held[function] = held
        if held.freed:
            self.freed.add(function)
        for name, tensor in held.tensors:
            key = storage_key(tensor) if self.options.merge_saved else id(tensor)
            self.saves.setdefault(key, []).append((function, name, tensor))

    def _id(self, key: Any, name: str) -> str:
        """One id per object: its name, with a number if the name is already used."""
        id_ = self.ids.get(key)
        if id_ is None:
            id_, count = name, self.name_counts.get(name, 0)
            while id_ in self.name_counts:
                id_, count = f"{name}_{count + 1}", count + 1
            self.name_counts[name] = count
            self.name_counts.setdefault(id_, 0)
            self.ids[key] = id_
        return id_

    def _function(self, function: Any) -> None:
        name = type(function).__name__
        id_ = self.ids[function]
        held = self.held[function]
        scope = self.origins.scope(function)
        inputs: list[ValueRef] = []
        attrs: dict[str, Any] = {"kind": "function"}
        variable = getattr(function, "variable", None)
        if variable is not None:
            inputs.append((self._leaf(variable, scope), 0))
        cuts = iter(self.origins.cuts_into(function))
        for position, (producer, index) in enumerate(function.next_functions):
            if producer is not None:
                inputs.append((self.ids[producer], index))
            elif self.options.show_cuts and not (self.origins.takes_only_numbers(function) or took_a_number(function, position)):
                inputs.append((self._cut(id_, position, next(cuts, ()), scope), 0))
        for key, value in held.values.items():
            shown = str(value) if self.options.torchviz_attrs else value
            attrs[f"ctx.{key}" if key in FUNCTION_ATTRS else key] = attribute_text(shown, self.options.max_attr_chars)
        if function in self.freed:
            attrs["freed"] = True
        if function in self.without_gradient:
            attrs["cut"] = "reaches the outputs only through a cut: no gradient flows back here"
        frames = self.origins.frames(function)
        control = self._before(function)
        self.builder.node(id_, name, inputs, _results_of(function), attrs=attrs, scope=scope, source=frames, control=control)

    def _before(self, function: Any) -> Iterable[str]:
        """Nodes above a function that do not feed it."""
        return ()

    def _leaf(self, variable: Any, scope: Path) -> str:
        name = self.options.names.get(id(variable)) or self.origins.name(variable)
        id_ = self.ids.get(id(variable))
        if id_ is None:
            id_ = self._id(id(variable), name or "leaf")
            attrs: dict[str, Any] = {"kind": "leaf"} | ({"name": name} if name else {})
            uses = self.saves.get(self._key(variable), ())
            attrs |= self._saved_attrs(uses, variable)
            links = _unique_links(Link(SAVED_BY, self.ids[function]) for function, _, _ in uses)
            self.builder.node(
                id_,
                "parameter" if name else "leaf",
                (),
                (tensor_type(variable),),
                role="parameter",
                attrs=attrs,
                scope=scope,
                links=links,
            )
        return id_

    def _key(self, tensor: Any) -> Any:
        return storage_key(tensor) if self.options.merge_saved else id(tensor)

    def _saved_attrs(self, uses: Iterable[tuple[Any, str, Any]], tensor: Any) -> dict[str, Any]:
        saved_as = [f"{self.ids[function]}.{name}" for function, name, _ in uses]
        return {"saved_as": saved_as, "bytes": _storage_bytes(tensor)} if saved_as else {}

    def _saved_alone(self) -> None:
        """Saved tensors that are not leaves: one node each, below the functions that saved it."""
        leaves = {self._key(function.variable) for function in self.held if getattr(function, "variable", None) is not None}
        for key, uses in self.saves.items():
            if key in leaves:
                continue
            function, name, tensor = uses[0]
            id_ = self._id(("saved", key), f"{self.ids[function]}.{name}")
            attrs = {"kind": "saved", "name": name, "label": name} | self._saved_attrs(uses, tensor)
            savers = dict.fromkeys(self.ids[function] for function, _, _ in uses)
            scope = self.origins.scope(function)
            self.builder.node(id_, "saved", (), (tensor_type(tensor),), role="saved", attrs=attrs, control=savers, scope=scope)

    def _result(self, tensor: Any, name: str, kind: str) -> None:
        """An output or the base of one. If it has no gradient, it says why, because that is what people want to find out."""
        if id(tensor) in self.ids and tensor.grad_fn is None:
            leaf = self.ids[id(tensor)]
            id_ = self._id(("output", id(tensor)), name)
            self.builder.node(id_, "output", [(leaf, 0)], (), role="output", attrs={"kind": kind})
            return
        if id(tensor) in self.ids:
            return
        id_ = self._id(id(tensor), name)
        attrs: dict[str, Any] = {"kind": kind} | ({"label": id_} if name != kind else {})
        inputs: list[ValueRef] = []
        if tensor.grad_fn is not None:
            inputs.append((self.ids[tensor.grad_fn], tensor.output_nr))
        else:
            cuts = self.origins.cuts_of(tensor)
            attrs["cut"] = self._why_cut(tensor, id_, kind, cuts)
            shown = cuts and self.options.show_cuts
            if shown and not (tensor._is_view() and id(tensor._base) in self.ids):  # once, before the base
                inputs.append((self._cut(id_, 0, cuts, ()), 0))
        base = tensor._base if tensor._is_view() else None
        control = [self.ids[id(base)]] if kind == "output" and base is not None and id(base) in self.ids else []
        self.builder.node(id_, kind, inputs, (tensor_type(tensor),), role="output", attrs=attrs, control=control)

    def _why_cut(self, tensor: Any, id_: str, kind: str, cuts: Cuts = ()) -> str:
        """Why a tensor that no function computed has no gradient. A note says it about an output."""
        if tensor.requires_grad:
            return "a leaf that requires a gradient: nothing has been computed from it yet"
        why = _sentences(cuts) or _why_no_gradient(tensor)
        if kind == "output":
            self.notes.append(f"{id_} has no gradient: {why}")
        return why

    def _cut(self, user: str, position: int, cuts: Cuts, scope: Path) -> str:
        """A mark at an input through which no gradient flows back."""
        id_ = self._id(("cut", user, position), f"{user}.input{position}")
        if not cuts:
            why = "no gradient flows back here: a constant, an input without requires_grad, or a detached tensor"
            self.builder.node(id_, "no gradient", (), (), role="constant", attrs={"kind": "no gradient", "cut": why}, scope=scope)
            return id_
        inputs = list(dict.fromkeys((self.ids[cut.function], cut.output) for cut in cuts if cut.function in self.ids))
        attrs = {"kind": "cut", "cut": _sentences(cuts)}
        op = f"{CUT}{', '.join(dict.fromkeys(cut.by for cut in cuts))}"
        self.builder.node(id_, op, inputs, (cuts[0].type,), attrs=attrs, scope=scope, source=cuts[0].frames)
        return id_


def _sentences(cuts: Cuts) -> str:
    return ". ".join(dict.fromkeys(cut.why for cut in cuts))


def in_forward_order(roots: Iterable[Any], done: set[Any] | None = None) -> list[Any]:
    """Functions behind the roots, each after its dependencies, without those in `done`.

    Not recursive: chains may have 100,000 functions and more.
    """
    order: list[Any] = []
    done = set() if done is None else done
    for root in roots:
        waiting = [(root, False)]
        while waiting:
            function, entered = waiting.pop()
            if function is None or (function in done and not entered):
                continue
            if entered:
                order.append(function)
                continue
            done.add(function)
            waiting.append((function, True))
            waiting.extend((producer, False) for producer, _ in reversed(function.next_functions) if producer not in done)
    return order


def as_created(functions: list[Any]) -> list[Any]:
    """The functions in the order in which the forward pass created them, each leaf's accumulator before its first user.

    Autograd numbers functions per thread. After a run with several threads, the numbers may contradict the graph; then the order of
    `functions` stays.
    """
    numbered = sorted((function for function in functions if function.next_functions), key=lambda function: function._sequence_nr())
    order: list[Any] = []
    placed: set[Any] = set()
    waiting = set(numbered)
    for function in numbered:
        for producer, _ in function.next_functions:
            if producer in waiting:
                return functions
            if producer is not None and producer not in placed:
                placed.add(producer)
                order.append(producer)
        waiting.discard(function)
        placed.add(function)
        order.append(function)
    return order + [function for function in functions if function not in placed]


def _results_of(function: Any) -> tuple[TensorType, ...]:
    """The result types of the forward operation: autograd keeps them to check gradients against."""
    types = []
    for metadata in getattr(function, "_input_metadata", ()):
        types.append(TensorType(str(metadata.dtype).removeprefix("torch."), sizes(metadata)))
    return tuple(types)


def _storage_bytes(tensor: Any) -> int:
    try:
        return int(tensor.untyped_storage().nbytes())
    except (AttributeError, RuntimeError, NotImplementedError):
        return int(tensor.numel() * tensor.element_size())


def _unique_links(links: Iterable[Link]) -> list[Link]:
    return list(dict.fromkeys(links))


def _why_no_gradient(tensor: Any) -> str:
    if not (tensor.is_floating_point() or tensor.is_complex()):
        kind = str(tensor.dtype).removeprefix("torch.")
        return f"it is {kind}, and only floating-point and complex tensors have gradients"
    return "it was computed under no_grad or inference_mode, detached, or computed from tensors that require no gradient"
