"""`opscope passes --find` and `--touching`: where something is to be found, and which passes touched it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from opscope.cli.table import table
from opscope.errors import OpscopeError

if TYPE_CHECKING:
    from opscope.plugin import Progress
    from opscope.recording.model import Recording, Snapshot
    from opscope.render.search_passes import PassMatches

_QUERY = re.compile(r"-?[A-Za-z][\w.-]*:.|/")
"""A search: op:dot, scope:layer_1, /a regular expression/. Anything else is the name of a node."""


def passes_touching(recording: Recording, what: str, progress: Progress | None = None) -> set[int]:
    """The passes that touched what a search finds; of a node, those that touched anything that it was before or became."""
    from opscope.analysis.node_text import shown_text
    from opscope.render.search_passes import search_passes

    if _QUERY.match(what):
        rows = search_passes(recording, what, progress)
        if not any(row.nodes for row in rows):
            raise _nothing(recording, what)
        return {row.snapshot.index for row in rows if row.touched}
    node, label = node_named(recording, what)
    snapshots = recording.with_node(node)
    touched = {step.snapshot.index for snapshot in snapshots for step in recording.history(node, snapshot.index)}
    if any(graph[node].is_argument for graph in snapshots[0].program if node in graph):
        query = f'text:"={shown_text(label)}"' if label else f'id:"={node}"'
        touched |= {row.snapshot.index for row in search_passes(recording, query, progress) if row.touched}
    return touched


def node_named(recording: Recording, name: str) -> tuple[str, str]:
    """The node of a name, which may be the user's name of an argument: `params['layer_0']['w']`, or the end of one that begins with what
    the compiler calls the model, `layers.0.weight` for `L.self.layers.0.weight`. Then also the whole name."""
    from opscope.analysis.node_text import argument_label

    firsts = {snapshot.module: snapshot for snapshot in reversed(recording)}.values()
    labels = {str(argument_label(node.attrs)): node.id for first in firsts for node in first.program.main.parameters}
    ends = [label for label in labels if label.endswith(f".{name}")]
    label = name if name in labels else ends[0] if len(ends) == 1 else ""
    if not label or any(name in graph for snapshot in recording for graph in snapshot.program):
        return name, ""
    return labels[label], label


def found_rows(recording: Recording, query: str, progress: Progress | None = None) -> list[PassMatches]:
    """The passes after which more or fewer nodes match than before, and the first of each module with any."""
    from opscope.render.search_passes import search_passes

    rows = search_passes(recording, query, progress, compared=False)
    counts = {row.snapshot.index: row.nodes for row in rows}
    changed = [row for row in rows if row.nodes != counts.get(_index(recording.before(row.snapshot)), 0)]
    if not changed:
        raise _nothing(recording, query)
    return changed


def _nothing(recording: Recording, query: str) -> OpscopeError:
    return OpscopeError(f"{recording.name}: nothing matches {query!r} in any of the {len(recording)} passes")


def found_lines(rows: Sequence[PassMatches], recording: Recording) -> list[str]:
    head = ("#", "module", "pass", "nodes", "new")
    several = len(recording.modules) > 1
    cells = [head, *(_cells(row) for row in rows)]
    columns = [0, 1, 2, 3, 4] if several else [0, 2, 3, 4]
    first = next(row for row in rows if row.nodes)
    summary = f"first after pass {first.snapshot.index} ({first.snapshot.title}): {_some(first)}"
    return [*table([[row[i] for i in columns] for row in cells], "rllrl" if several else "rlrl"), "", summary]


def found_json(rows: Sequence[PassMatches]) -> list[dict[str, Any]]:
    return [{"index": row.snapshot.index, "pass": row.snapshot.name, "nodes": row.nodes, "first": list(row.ids)} for row in rows]


def _cells(row: PassMatches) -> tuple[str, ...]:
    return str(row.snapshot.index), row.snapshot.module, row.snapshot.title, f"{row.nodes:,}", _some(row)


def _some(row: PassMatches) -> str:
    return ", ".join(row.ids) + (", …" if row.more else "")


def _index(snapshot: Snapshot | None) -> int:
    return -1 if snapshot is None else snapshot.index
