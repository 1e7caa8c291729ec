"""The columns over nodes, and what goes into them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, repeat
from operator import sub
from typing import Any, NamedTuple, get_args

from opscope.analysis.loops import first_carried
from opscope.program import Node, whole_number
from opscope.render.wire.sections import SectionWriter

_MOST_OPERANDS = (1 << 31) - 1
_BATCH = 4096
NAMES_ATTR = "output_names"
"""The attribute with the names of a node's values."""
RESULTS_ATTR = "names"
"""The attribute of an output node with the names of what comes out there."""
_PLAIN = 9
"""So many parts of a row are numbers; the others are lists of them."""

Row = tuple[
    int, int, int, int, int, int, int, int, int,
    tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...],
]  # fmt: skip
"""A node as numbers: its columns in the order of `Rows.write`. A row refers to other nodes by name, so it stays the same as long as
its node does not change."""


class GraphColumns(NamedTuple):
    """The rows of one graph, column by column."""

    plain: tuple[Iterable[int], ...]
    """The first nine parts of rows."""
    outputs: Iterable[tuple[int, ...]]
    output_names: Iterable[tuple[int, ...]]
    counts: Sequence[int]
    """How many inputs each node has."""
    inputs: Iterable[int]
    indices: Iterable[int]
    """Of all nodes one after the other, like `inputs`."""
    calls: Iterable[tuple[int, ...]]
    control: Iterable[tuple[int, ...]]
    links: Iterable[tuple[int, ...]]

    def rows(self) -> Iterator[Row]:
        inputs, indices = (map(tuple, map(islice, repeat(iter(flat)), self.counts)) for flat in (self.inputs, self.indices))
        tables = (self.outputs, self.output_names, inputs, indices, self.calls, self.control, self.links)
        return zip(*self.plain, *tables, strict=True)


class Rows:
    """Rows of nodes, kept and written column by column: a million tuples would take several times as much memory."""

    def __init__(self) -> None:
        self._batch: list[Row] = []
        self._plain = [array("i") for _ in range(_PLAIN)]
        self._tables = [(array("I"), array("i")) for _ in range(len(get_args(Row)) - _PLAIN)]
        """How many numbers each row has, and all of them."""

    def __len__(self) -> int:
        return len(self._plain[0]) + len(self._batch)

    def add(self, row: Row) -> int:
        """Add a row; returns its number."""
        number = len(self)
        self._batch.append(row)
        if len(self._batch) == _BATCH:
            self._flush()
        return number

    def extend(self, graph: GraphColumns) -> None:
        """Add the rows of a graph."""
        self._flush()
        for column, values in zip(self._plain, graph.plain, strict=True):
            column.extend(values)
        outputs, output_names, inputs, indices, *rare = self._tables
        for (lengths, numbers), flat in ((inputs, graph.inputs), (indices, graph.indices)):
            lengths.extend(graph.counts)
            numbers.extend(flat)
        tables = (graph.outputs, graph.output_names, graph.calls, graph.control, graph.links)
        for table, rows in zip((outputs, output_names, *rare), tables, strict=True):
            _append(table, rows)

    def _flush(self) -> None:
        if not self._batch:
            return
        columns: list[Any] = list(zip(*self._batch, strict=True))
        self._batch.clear()
        for column, values in zip(self._plain, columns[:_PLAIN], strict=True):
            column.extend(values)
        for table, rows in zip(self._tables, columns[_PLAIN:], strict=True):
            _append(table, rows)

    def write(self, out: SectionWriter, details: bool) -> None:
        """Write the columns, and forget them: of a million nodes, two copies would take a tenth of the memory. `details` says whether the
        table of details, to which one column refers, is sent too."""
        self._flush()
        ids, ops, roles, categories, texts, places, detail, seats, metrics = self._plain
        outputs, output_names, inputs, indices, calls, control, links = self._tables
        out.deltas("nodeId", ids)
        out.integers("nodeOp", ops)
        out.block("nodeRole", bytes(iter(roles)))
        out.block("nodeCategory", bytes(iter(categories)))
        out.integers("nodeText", texts)
        out.integers("nodePlace", places)
        if details:
            out.deltas("nodeDetail", detail)
        out.deltas("nodeSeat", seats)
        out.integers("nodeMetrics", metrics)
        out.flat_table("outputs", *outputs)
        out.flat_table("outputNames", *output_names)
        # Operands usually come shortly before their users, and so do the numbers of their names.
        out.flat_table("inputs", inputs[0], _before(ids, *inputs))
        if indices[1]:
            out.integers("inputs.extra", indices[1])
        out.flat_table("calls", *calls)
        out.flat_table("control", control[0], _before(ids, *control))
        out.flat_table("links", *links)
        for column in (*self._plain, *chain.from_iterable(self._tables)):
            del column[:]


def _append(table: tuple[array[int], array[int]], rows: Iterable[tuple[int, ...]]) -> None:
    rows = rows if isinstance(rows, list | tuple) else list(rows)
    if not any(rows):
        table[0].frombytes(bytes(len(rows) * table[0].itemsize))
        return
    table[0].extend(map(len, rows))
    table[1].extend(chain.from_iterable(rows))


def _before(ids: array[int], lengths: array[int], names: array[int]) -> array[int]:
    """How far each name is before that of its row."""
    return array("i", map(sub, chain.from_iterable(map(repeat, ids, lengths)), names))


def operand_place(node: Node, attrs: Mapping[str, Any]) -> int:
    """For a parameter: which operand of a call it receives, if the source says so (HLO lists parameters in any order; -1 means in listed
    order). For a loop: the first operand that it carries from one iteration to the next, as its first result. For a call that only takes
    an element of a loop's stack or writes one, see `forwarding` (-1 for anything else)."""
    if not node.is_argument:
        return first_carried(node) if node.calls else -1
    number = whole_number(attrs.get("parameter_number", attrs.get("index")))
    return number if number is not None and 0 <= number <= _MOST_OPERANDS else -1


def forwarding(operand: int) -> int:
    """The place of a call that only passes an operand on."""
    return -3 - operand


def output_names(node: Node, attrs: Mapping[str, Any]) -> list[str]:
    """The names of a node's values, where the source has tensors with names of their own: one for each output, or none. Of an output node,
    those of the values that come out there."""
    if node.role == "output" and isinstance(results := attrs.get(RESULTS_ATTR), list):
        return list(map(str, results)) if len(results) == len(node.inputs) else []
    text = attrs.get(NAMES_ATTR)
    if not isinstance(text, str):
        return []
    names = text.split(", ")
    return names if len(names) == len(node.outputs) else []
