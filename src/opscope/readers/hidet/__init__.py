"""hidet: live FlowGraphs and modules, and the JSON that `hidet.utils.netron.dump` and `save_graph_instrument` write."""

from __future__ import annotations

from typing import Any

from opscope.program import Program
from opscope.readers import Progress, Verdict
from opscope.readers.hidet.flow import flow_graph_program, module_program
from opscope.readers.hidet.modules import module_class, traced
from opscope.readers.hidet.netron import read_netron
from opscope.readers.mistakes import refuse_arguments
from opscope.readers.source import Source

__all__ = ["capture", "read", "sniff"]


def sniff(source: Source) -> Verdict:
    if source.is_directory:
        return Verdict(0, "a directory")
    head = source.head_text
    if not head.lstrip().startswith("{"):
        return Verdict(0, "not a JSON object")
    begins_alike = '"graphs"' in head[:256] and '"arguments"' in head
    return Verdict(0.9, "begins like hidet's netron JSON") if begins_alike else Verdict(0, "JSON without netron's graphs and arguments")


def read(source: Source, progress: Progress | None = None) -> list[Program]:
    return [read_netron(source.read_text(), source.path.stem)]


def capture(obj: Any, *args: Any, **options: Any) -> Program | None:
    """A FlowGraph, or a module with its inputs."""
    if type(obj).__name__ == "FlowGraph":
        refuse_arguments("a FlowGraph", args, options)
        return flow_graph_program(obj)
    if (base := module_class(obj)) is not None:
        refuse_arguments("a hidet module", (), options)
        return module_program(traced(obj, args, base))
    return None
