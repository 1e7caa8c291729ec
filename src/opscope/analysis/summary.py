"""A model as a table: one row per layer, totals below. It can be printed, shown in a notebook, or converted to a dict or CSV.

opscope.summary(model, input_size=(1, 3, 224, 224))
opscope.summary(model, input_data={"input_ids": ids}, depth=2, columns=("output", "params", "mult_adds"))
opscope.summary(opscope.load("model.pt2"))                     # what a graph shows without a run
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

from opscope.analysis.layers import layers_of
from opscope.analysis.summary_text import as_csv, as_html, as_text
from opscope.errors import OpscopeError
from opscope.naming import refuse_unknown
from opscope.program import UNKNOWN_TYPE, Program, TensorType
from opscope.quantities import short_bytes
from opscope.readers.torch.exporting import refuse_lazy
from opscope.readers.torch.measure import Layer, Measured, RunFailed, measure
from opscope.readers.torch.names import Call
from opscope.whole_file import whole_file


class Column(NamedTuple):
    """One column: its heading, its text in a row, its value as data."""

    heading: str
    text: Callable[[Row], str]
    value: Callable[[Row], Any]
    right: bool = False


class Row(NamedTuple):
    """One layer as shown, including the parameters of hidden children."""

    layer: Layer
    parent_path: str
    prefix: str
    """The branches of the tree in front of the name."""
    parameters: int
    trainable: int
    shared: int
    saved_bytes: int | None
    share: float

    @property
    def label(self) -> str:
        """The attribute path below the caller, and the class: "query: Linear". The second call of a module is "query@1: Linear"."""
        layer = self.layer
        return Call(layer.path, layer.cls, layer.repeat).title(self.parent_path).removesuffix(": ") if layer.path else layer.cls

    @property
    def trainable_text(self) -> str:
        if not self.parameters:
            return ""
        return "yes" if self.trainable == self.parameters else "partly" if self.trainable else "no"


def _shapes(types: Iterable[tuple[str, TensorType]]) -> str:
    return ", ".join(f"{name}: {_shape(kind)}" if name and not name.startswith("[") else _shape(kind) for name, kind in types)


def _shape(kind: TensorType) -> str:
    return str(kind) if kind == UNKNOWN_TYPE else f"[{', '.join(map(str, kind.shape))}]"


def _sizes(types: Iterable[tuple[str, TensorType]]) -> list[list[int | str] | None]:
    """Those of `to_dict()`: None for a value about which nothing is known, which is not the [] of a scalar."""
    return [None if kind == UNKNOWN_TYPE else list(kind.shape) for _, kind in types]


def _count(number: int | None) -> str:
    return f"{number:,}" if number else ""


def _half(flops: int | None) -> int | None:
    """Multiply-adds: each is two floating-point operations."""
    return None if flops is None else flops // 2


def _parameters_text(row: Row) -> str:
    if row.shared and not row.parameters:
        return f"({row.shared:,} shared)"
    return f"{row.parameters:,} (+{row.shared:,} shared)" if row.shared else _count(row.parameters)


COLUMNS: dict[str, Column] = {
    "input": Column("Input", lambda row: _shapes(row.layer.inputs), lambda row: _sizes(row.layer.inputs)),
    "output": Column("Output", lambda row: _shapes(row.layer.outputs), lambda row: _sizes(row.layer.outputs)),
    "kernel": Column("Kernel", lambda row: " × ".join(map(str, row.layer.kernel)), lambda row: list(row.layer.kernel)),
    "params": Column("Parameters", _parameters_text, lambda row: row.parameters, True),
    "share": Column("Share", lambda row: f"{row.share:.1%}" if row.parameters else "", lambda row: round(row.share, 6), True),
    "mult_adds": Column("Mult-adds", lambda row: _count(_half(row.layer.flops)), lambda row: _half(row.layer.flops), True),
    "saved": Column(
        "Saved for backward", lambda row: short_bytes(row.saved_bytes) if row.saved_bytes else "", lambda row: row.saved_bytes, True
    ),
    "trainable": Column("Trainable", lambda row: row.trainable_text, lambda row: row.trainable_text),
}
DEFAULT_COLUMNS = ("input", "output", "params", "share", "mult_adds", "trainable")

TORCHINFO_NAMES = {
    "input_size": "input", "output_size": "output", "num_params": "params", "params_percent": "share", "kernel_size": "kernel",
}  # fmt: skip


MEASURED = "summary"
"""The attribute of a Program with the table that was measured for it, in the form of `Summary.to_dict()`."""

TORCHINFO_OPTIONS = {
    "batch_dim": "input_size includes the batch",
    "batch_size": "input_size includes the batch",
    "col_names": "use columns=",
    "col_width": "columns are as wide as they need to be",
    "mode": "the model runs in its current mode; call model.eval() or model.train() first",
    "row_settings": "every row has its path and class",
    "verbose": "use print() to print the table",
}


class Summary:
    """The table of one model."""

    def __init__(self, measured: Measured, depth: int | None, columns: Sequence[str], capture: Callable[[], Program] | None = None) -> None:
        self.measured = measured
        self._capture = capture
        self.columns = [COLUMNS[name] for name in columns]
        self.column_names = list(columns)
        self.rows = _rows(measured, depth)

    @cached_property
    def program(self) -> Program:
        """The graph of the model, with this table in it; `opscope.save` and `opscope.show` use it."""
        if self._capture is None:
            raise OpscopeError("a summary without inputs has no graph to show; pass input_size or input_data")
        program = self._capture()
        whole = Summary(self.measured, None, self.column_names)
        return replace(program, attrs={**program.attrs, MEASURED: whole.to_dict()})

    @property
    def totals(self) -> dict[str, int | None]:
        """Counts and bytes of the whole model. Tied parameters count once; None means unknown."""
        whole = self.measured
        memory = (whole.input_bytes, whole.saved_bytes, whole.parameter_bytes, whole.buffer_bytes)
        return {
            "parameters": whole.parameters,
            "trainable": whole.trainable,
            "frozen": whole.parameters - whole.trainable,
            "mult_adds": _half(whole.flops),
            "flops": whole.flops,
            "input_bytes": whole.input_bytes,
            "activation_bytes": whole.saved_bytes,
            "parameter_bytes": whole.parameter_bytes,
            "buffer_bytes": whole.buffer_bytes,
            "total_bytes": None if whole.saved_bytes is None else sum(part or 0 for part in memory),
        }

    def total_lines(self) -> list[tuple[str, str]]:
        """The totals as text, for every form of the table."""
        notes = [("Note", self.measured.note)] if self.measured.note else []
        return [*total_lines(self.totals, self.measured.ran), *notes]

    def to_dict(self) -> dict[str, Any]:
        """Plain data: every column of every shown row, and the totals in bytes and counts."""
        rows = []
        for row in self.rows:
            layer = row.layer
            fields = {"label": row.label, "path": layer.path, "class": layer.cls, "depth": layer.depth, "called": layer.called}
            rows.append(fields | {"repeat": layer.repeat, "shared": row.shared} | {key: c.value(row) for key, c in COLUMNS.items()})
        return {"model": self.measured.name, "rows": rows, "totals": self.totals}

    def to_csv(self, path: Any = None) -> str:
        """The shown columns as CSV text, also written to `path` if given."""
        text = as_csv(self)
        if path is not None:
            with whole_file(Path(path)) as part:
                part.write_text(text, encoding="utf-8", newline="")
        return text

    def __str__(self) -> str:
        return as_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(self)


def total_lines(totals: Mapping[str, int | None], ran: bool = True) -> list[tuple[str, str]]:
    """Totals as text: parameters always, the rest as far as a run or a graph provides it."""
    held = (totals["parameter_bytes"] or 0) + (totals["buffer_bytes"] or 0)
    lines: list[tuple[str, int | None, Callable[[int], str]]] = [
        ("Mult-adds", totals["mult_adds"], "{:,}".format),
        ("Input", totals["input_bytes"], short_bytes),
        ("Forward/backward activations", totals["activation_bytes"], short_bytes),
        ("Parameters and buffers", held, short_bytes),
        ("Estimated total", totals["total_bytes"], short_bytes),
    ]
    split = f"{totals['parameters']:,} ({totals['trainable']:,} trainable, {totals['frozen']:,} frozen)"
    shown = [(name, text(number)) for name, number, text in lines if number is not None and (ran or number is held)]
    return [("Parameters", split), *shown]


def summary(
    model: Any,
    input_size: Any = None,
    input_data: Any = None,
    *,
    depth: int | None = 3,
    columns: Sequence[str] | str | None = None,
    dtypes: Any = None,
    device: Any = None,
    **kwargs: Any,
) -> Summary:
    """The table of a torch module. `input_size` includes the batch; `input_data` is a tensor, a tuple of arguments or a dict of
    keywords; other keywords are passed to the module. Without inputs it lists parameters only. `depth=None` shows every level.

    For a Program, and for modules that are not torch's (Flax, Equinox, Haiku, ONNX), the table has what the graph shows."""
    from opscope.readers import capture_object
    from opscope.readers.jax.inputs import abstract_inputs
    from opscope.readers.torch.inputs import make_inputs

    chosen = [TORCHINFO_NAMES.get(name, name) for name in ([columns] if isinstance(columns, str) else columns) or DEFAULT_COLUMNS]
    for name in chosen:
        if name not in COLUMNS:
            raise OpscopeError(f"no column {name!r}; there are: {', '.join(COLUMNS)}")
    if isinstance(model, Program):
        refuse_unknown("summary of a Program", kwargs, ("depth", "columns"))
        if input_size is not None or input_data is not None:
            raise OpscopeError(f"{model.name} is a Program, which has its shapes; leave out input_size and input_data")
        return _of_program(model, depth, chosen)
    model = getattr(model, "_orig_mod", model)  # torch.compile's wrapper
    if not hasattr(model, "named_modules"):
        if device is not None:
            raise OpscopeError("device applies to torch modules; leave it out")
        arrays, named = abstract_inputs(input_size, input_data, dtypes)
        return _of_program(capture_object(model, *arrays, **named, **kwargs), depth, chosen)
    refuse_lazy(model)
    for name in kwargs:
        if name in TORCHINFO_OPTIONS and name not in signature(model.forward).parameters:
            raise OpscopeError(f"{name} is an option of torchinfo; in opscope, {TORCHINFO_OPTIONS[name]}")
    args, keywords = make_inputs(model, input_size, input_data, dtypes, device, kwargs)
    if args is None:
        chosen = [name for name in chosen if name in ("params", "share", "trainable", "kernel")]
    try:
        measured = measure(model, args, keywords)
    except RunFailed as error:
        if input_size is not None and dtypes is None and "indices" in str(error):
            raise OpscopeError(
                f"{type(model).__name__} takes integers, but input_size generates floating-point numbers; "
                "add dtypes=[torch.long], or pass input_data"
            ) from error
        raise
    capture = None if args is None else lambda: capture_object(model, *args, **keywords)
    return Summary(measured, depth, chosen, capture)


def _of_program(program: Program, depth: int | None, columns: Sequence[str]) -> Summary:
    operations = [node for node in program.main if node.role == "op"]
    has_layers = any(node.scope for node in operations) or any(node.role == "parameter" for node in program.main)
    if not has_layers or any("module" in node.attrs for node in operations):
        raise OpscopeError(f"{program.name} was not captured from torch modules, or not traced into them; use `opscope info` instead")
    return Summary(layers_of(program), depth, [name for name in columns if name != "saved"], lambda: program)


def _rows(measured: Measured, depth: int | None) -> list[Row]:
    """Layers down to a depth, each including the hidden layers below it. Callers come before the layers they call."""
    layers = measured.layers
    shown = [depth is None or layer.depth <= depth for layer in layers]
    home = list(range(len(layers)))
    sums = [[0, 0, 0, 0] for _ in layers]
    for position, layer in enumerate(layers):
        if not shown[position]:
            home[position] = home[layer.parent]
        counts = (layer.own_parameters, layer.own_trainable, layer.shared_parameters, layer.saved_bytes)
        for index, number in enumerate(counts):
            sums[home[position]][index] += number
    last_child: dict[int, int] = {layer.parent: position for position, layer in enumerate(layers) if shown[position]}
    rows: list[Row] = []
    continues: list[bool] = []
    for position in _tree_order(layers, shown):
        layer = layers[position]
        del continues[max(layer.depth - 1, 0) :]
        is_last = last_child.get(layer.parent) == position
        prefix = "".join("│  " if more else "   " for more in continues) + ("└─ " if is_last else "├─ ") if layer.depth else ""
        if layer.depth:
            continues.append(not is_last)
        parameters, trainable, shared, bytes_saved = sums[position]
        saved = None if measured.saved_bytes is None else bytes_saved
        share = parameters / measured.parameters if measured.parameters else 0.0
        parent_path = layers[layer.parent].path if layer.parent >= 0 else ""
        rows.append(Row(layer, parent_path, prefix, parameters, trainable, shared, saved, share))
    return rows


def _tree_order(layers: Sequence[Layer], shown: Sequence[bool]) -> list[int]:
    """Layers in tree order. Layers that were never called come late in the list, so its order is not enough."""
    children: dict[int, list[int]] = {}
    for position, layer in enumerate(layers):
        if shown[position]:
            children.setdefault(layer.parent, []).append(position)
    order: list[int] = []
    waiting = list(reversed(children.get(-1, [])))
    while waiting:
        position = waiting.pop()
        order.append(position)
        waiting.extend(reversed(children.get(position, [])))
    return order
