"""One real run of a module as a graph: what torch.export cannot trace can still be followed, operation by operation.

A dispatch mode sees every operator that runs, with its tensors; forward hooks say in which module. Python control flow appears as it
was executed. If the run raises, the graph ends there, with the error on its last node; if it raises before the first operation, there
is nothing to show.
"""

from __future__ import annotations

from typing import Any

from opscope.errors import OpscopeError
from opscope.naming import listed
from opscope.program import Frame, GraphBuilder, Path, Program, ProgramBuilder, Role, TensorType, ValueRef
from opscope.readers.torch.input_hints import input_hint, input_mistake, input_names
from opscope.readers.torch.modes import entered
from opscope.readers.torch.module_calls import ModuleCalls, can_be_hooked
from opscope.readers.torch.names import about_modules, first_words
from opscope.readers.torch.nested import leaves, tensors
from opscope.readers.torch.source_lines import calling_frames
from opscope.readers.torch.undisturbed import undisturbed
from opscope.readers.torch.values import output_types, plain, tensor_type

ENTRY = "main"
_ONE_RUN = "Showing one real run with these inputs, with the branches it took and the sizes it had."


def program_of_run(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str, refusal: str = "") -> Program:
    """`refusal` says why another way of capturing failed; the program's note ends with it."""
    program = ProgramBuilder(name, ENTRY)
    run = _Run(program.graph(ENTRY), ModuleCalls(module))
    for path, tensor in tensors(_named(module, args) | kwargs):
        run.input(path, tensor)
    error: Exception | None = None
    result: Any = None
    with undisturbed(module, args, kwargs), run.calls.followed(), entered(_watch(run)):
        try:
            result = module(*args, **kwargs)
        except Exception as raised:  # a bug in the model is what the user wants to see
            error = raised
    if error is not None and not run.steps:
        raise OpscopeError(f"{name} failed before its first operation; {input_hint(module, args)} ({first_words(error)})") from error
    unused = run.add_unused() if error is None else []
    stopped = run.finish(result, error)
    note = _ONE_RUN if refusal else ""
    if error is not None:
        hint = input_mistake(args) if isinstance(error, AttributeError | TypeError) else ""
        note = f"{hint[:1].upper()}{hint[1:]}. " if hint else ""
        note += f"With these inputs, the run failed {stopped}: {first_words(error)}; the graph ends there."
        program.attrs["error"] = first_words(error)
    notes = [f"{note} {refusal}".rstrip()] if note else []
    if unused:
        verb = "is" if len(unused) == 1 else "are"
        notes.append(f"{len(unused):,} of {len(list(module.parameters())):,} parameters {verb} not used in this run: {listed(unused)}")
    if notes:
        program.attrs["notes"] = notes
    program.attrs.update(about_modules(run.calls.owners.classes))
    return program.build()


def _named(module: Any, args: tuple[Any, ...]) -> dict[str, Any]:
    """Positional arguments by their parameter names in `forward`."""
    names = input_names(module)
    return {names[i] if i < len(names) else f"arg_{i}": value for i, value in enumerate(args)}


class _Step:
    """A node during the run: it may still get an error."""

    __slots__ = ("attrs", "control", "id", "inputs", "op", "outputs", "scope", "source")

    def __init__(self, id: str, op: str, scope: Path, source: tuple[Frame, ...]) -> None:
        self.id = id
        self.op = op
        self.scope = scope
        self.source = source
        self.inputs: list[ValueRef] = []
        self.outputs: tuple[TensorType, ...] = ()
        self.attrs: dict[str, Any] = {}
        self.control: list[str] = []


class _Run:
    """The run so far. Tensors are identified by object, through weak references so that activations can be freed."""

    def __init__(self, builder: GraphBuilder, calls: ModuleCalls) -> None:
        from torch.utils.weak import WeakTensorKeyDictionary

        self.builder = builder
        self.calls = calls
        self.steps: list[_Step] = []
        self.producer: Any = WeakTensorKeyDictionary()
        self.last_write: dict[int, tuple[int, str]] = {}
        """By storage: position and id of the last step that wrote to it."""
        self.position: dict[str, int] = {}
        self.name_counts: dict[str, int] = {}

    def unique(self, name: str) -> str:
        count = self.name_counts.get(name, -1) + 1
        self.name_counts[name] = count
        id_ = f"{name}_{count}" if count else name
        return id_ if id_ not in self.position else self.unique(name)

    def input(self, path: str, tensor: Any) -> None:
        self._placeholder(self.unique(path.replace("[", "_").replace("]", "")), "input", tensor)

    def _placeholder(self, id_: str, role: Role, tensor: Any, name: str = "", scope: Path = ()) -> ValueRef:
        if tensor in self.producer:
            return self.producer[tensor]  # type: ignore[no-any-return]
        attrs: dict[str, Any] = {"name": name} if name else {}
        if role == "parameter":
            attrs["trainable"] = bool(tensor.requires_grad)
        self.builder.node(id_, role, (), (tensor_type(tensor),), role=role, attrs=attrs, scope=scope)
        self.position[id_] = -1
        self.producer[tensor] = (id_, 0)
        return (id_, 0)

    def value(self, tensor: Any) -> ValueRef:
        """Where a tensor comes from; a tensor without a producer is a parameter, a buffer or a constant."""
        ref: ValueRef | None = self.producer.get(tensor)
        if ref is not None:
            return ref
        name = self.calls.name(tensor)
        if not name:
            return self._placeholder(self.unique("constant"), "constant", tensor)
        role: Role = "parameter" if type(tensor).__name__ == "Parameter" else "buffer"
        return self._placeholder(self.unique(name), role, tensor, name, self.calls.scope_of_parameter(tensor))

    def add_unused(self) -> list[str]:
        """Add the parameters that no operation used, so that all of the model's are counted. Returns their names.

        TorchScript makes a new object of a parameter whenever it is asked for one, so nothing can be said about it."""
        if not all(map(can_be_hooked, self.calls.root.modules())):
            return []
        unused = [(name, tensor) for name, tensor in self.calls.root.named_parameters() if tensor not in self.producer]
        for name, tensor in unused:
            self._placeholder(self.unique(name), "parameter", tensor, name, self.calls.scope_of_parameter(tensor))
        return [name for name, _ in unused]

    def begin(self, operator: Any, args: Any, kwargs: Any) -> _Step:
        op = str(operator)
        step = _Step(self.unique(op.split(".")[1] if op.count(".") > 1 else op), op, self.calls.scope, calling_frames())
        names = [argument.name for argument in operator._schema.arguments] if hasattr(operator, "_schema") else []
        for position, value in enumerate(args):
            self._take(step, names[position] if position < len(names) else f"arg{position}", value)
        for name, value in kwargs.items():
            self._take(step, name, value)
        self.position[step.id] = len(self.steps)
        self.steps.append(step)
        return step

    def _take(self, step: _Step, name: str, value: Any) -> None:
        operands = tensors(value)
        for _, tensor in operands:
            source = self.value(tensor)
            step.inputs.append(source)
            position, writer = self.last_write.get(_storage(tensor), (-1, ""))
            if position > self.position.get(source[0], -1) and writer != source[0]:
                step.control.append(writer)
        if len(operands) != sum(1 for _ in leaves(value)):
            step.attrs[name] = plain(value)

    def end(self, step: _Step, operator: Any, args: Any, result: Any) -> None:
        step.outputs = output_types(result) if result is not None else ()
        several = isinstance(result, tuple | list)
        for index, item in enumerate(result if several else [result]):
            for _, tensor in tensors(item):
                self.producer[tensor] = (step.id, index)
        for argument, value in zip(getattr(getattr(operator, "_schema", None), "arguments", ()), args, strict=False):
            if argument.alias_info is not None and argument.alias_info.is_write:
                for _, tensor in tensors(value):
                    self.last_write[_storage(tensor)] = (self.position[step.id], step.id)

    def finish(self, result: Any, error: Exception | None) -> str:
        """Pass the steps to the builder, and the module's results to an output node. Returns where an error stopped the run."""
        stopped = ""
        if error is not None and self.steps:
            last = self.steps[-1]
            stopped = f"{'after' if last.outputs else 'at'} {' / '.join((*last.scope, last.id))}"
            last.attrs["error"] = first_words(error)
            last.outputs = last.outputs or (TensorType(f"({type(error).__name__})"),)
        outputs = [(path, self.value(tensor)) for path, tensor in tensors(result)] if error is None else []
        for step in self.steps:
            self.builder.node(
                step.id, step.op, step.inputs, step.outputs,
                attrs=step.attrs, scope=step.scope, source=step.source, control=dict.fromkeys(step.control),
            )  # fmt: skip
        self.builder.outputs = [reference for _, reference in outputs]
        if outputs:
            names = [path for path, _ in outputs]
            attrs = {"names": names} if any(names) else {}
            self.builder.node(self.unique("output"), "output", self.builder.outputs, (), role="output", attrs=attrs)
        return stopped


def _storage(tensor: Any) -> int:
    try:
        return int(tensor.untyped_storage()._cdata)
    except (AttributeError, RuntimeError, NotImplementedError):
        return id(tensor)


def _watch(run: _Run) -> Any:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Watch(TorchDispatchMode):  # type: ignore[misc]
        supports_higher_order_operators = True

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if str(func) == "cond" and not kwargs:  # follow the branch taken, as with Python's own control flow
                predicate, if_true, if_false, operands = args
                with self:
                    return (if_true if predicate else if_false)(*operands)
            step = run.begin(func, args, kwargs or {})
            result = func(*args, **(kwargs or {}))
            run.end(step, func, args, result)
            return result

    return Watch()
