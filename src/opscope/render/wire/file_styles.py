"""Styles in a program's own file: colours of nodes and groups, and extra edges over the graph. Model Explorer's files have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from opscope.program import Graph, Program
from opscope.readers.model_explorer import EXTRA_FIELDS, extra_fields

_PARTS = {"backgroundColor": "fill", "borderColor": "stroke", "textColor": "text"}
_PANES = ("edgeOverlaysDataListLeftPane", "edgeOverlaysDataListRightPane")


def looks_of(program: Program, starts: Mapping[str, int]) -> dict[str, Any]:
    """Styles for the drawing core (`Looks` in `core/program/types.ts`), nodes by number; `starts` has the first number of each graph."""
    if EXTRA_FIELDS not in program.attrs:
        return {}
    nodes: list[list[Any]] = []
    groups: list[dict[str, Any]] = []
    overlays: list[dict[str, Any]] = []
    for number, graph in enumerate(program):
        start, extra = starts[graph.name], extra_fields(graph.attrs)
        for position, node in enumerate(graph.nodes, start):
            look = _look(extra_fields(node.attrs).get("style"))
            if look:
                nodes.append([position, look])
        for config in _dicts(extra.get("groupNodeConfigs")):
            look = _look(config)
            if look and isinstance(config.get("namespaceRegex"), str):
                groups.append({"graph": number, "pattern": config["namespaceRegex"], "look": look})
        tasks = extra.get("tasksData")
        if isinstance(tasks, Mapping):
            for pane in _PANES:
                overlays += _overlays(tasks.get(pane), graph, start)
    looks = {"nodes": nodes, "groups": groups, "overlays": overlays}
    return {"looks": looks} if any(looks.values()) else {}


def _overlays(data: Any, graph: Graph, start: int) -> Iterable[dict[str, Any]]:
    for group in _dicts(data):
        for overlay in _dicts(group.get("overlays")):
            edges = [
                [start + graph.position[source], start + graph.position[target], str(edge.get("label") or "")]
                for edge in _dicts(overlay.get("edges"))
                if (source := str(edge.get("sourceNodeId"))) in graph and (target := str(edge.get("targetNodeId"))) in graph
            ]
            names = [str(name) for name in (group.get("name"), overlay.get("name")) if name]
            width = overlay.get("edgeWidth")
            if edges:
                thick = width if isinstance(width, (int, float)) else 2
                yield {"name": ": ".join(names), "colour": str(overlay.get("edgeColor", "")), "width": thick, "edges": edges}


def _look(style: Any) -> dict[str, str]:
    if not isinstance(style, Mapping):
        return {}
    return {part: style[name] for name, part in _PARTS.items() if isinstance(style.get(name), str) and style[name]}


def _dicts(items: Any) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
