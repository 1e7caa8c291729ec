"""Which forward operation a gradient belongs to, in a program that does not say so.

A product of a gradient with a value of the forward half belongs to the operation that reads the value and whose derivative has this form.
Only what is certain is linked: one such operation, whose result has the type of the gradient.
"""

from __future__ import annotations

from opscope.analysis.halves.propagate import Visit
from opscope.analysis.halves.seed import Uses, factors
from opscope.program import Graph, Node


def forward_operations(graph: Graph, visit: Visit) -> dict[str, str]:
    """For the gradients whose forward operation is certain, its id."""
    uses = Uses(graph)
    operations: dict[str, str] = {}
    for node in graph:
        if visit.of(node.id).linear:
            for gradient, value in factors(node):
                if visit.of(gradient[0]).linear and not visit.of(value[0]).any:
                    partners = {name for name in uses.differentiated(node, value) if visit.of(name)[:3] == (0, 0, 0)}
                    partners = {name for name in partners if _same_type(graph[name], graph[gradient[0]])}
                    if len(partners) == 1:
                        operations[node.id] = partners.pop()
    return operations


def _same_type(node: Node, other: Node) -> bool:
    return [(output.dtype, output.shape) for output in node.outputs] == [(output.dtype, output.shape) for output in other.outputs]
