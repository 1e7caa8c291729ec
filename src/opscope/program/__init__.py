"""The model: every reader creates it, and everything else works on it.

A Program is a set of named Graphs; a Graph is a list of Nodes; a Node is one operation, parameter, constant or output whose inputs are
*values* (node id, output index). All of it is immutable. Readers create it with `ProgramBuilder`, which checks that ids are unique and
that every reference resolves, so that later code need not check again.

Nodes are tuples. What a node has besides data flow (attributes, scope, source frames) is in `Details`, which a reader may decode on
demand: a compiled module has 100,000 nodes with a kilobyte of attributes each, and a person looks at ten.
"""

from __future__ import annotations

from opscope.program.builder import GraphBuilder, ProgramBuilder
from opscope.program.checks import wrong_details, wrong_part
from opscope.program.columns import LARGE, GrowingColumns, NodeColumns, calls_of, control_of, details_of, inputs_of, links_of
from opscope.program.memory_plan import MemoryPlan
from opscope.program.metric import CHANGE, COMBINES, ORIGINS, Column, Metric, MetricOrigin
from opscope.program.model import Graph, Program
from opscope.program.node import Node
from opscope.program.own_text import OwnText
from opscope.program.values import (
    ARGUMENT_ROLES,
    BACKWARD,
    BACKWARD_OF,
    CODE_ATTR,
    DIRECTION_ATTR,
    DTYPE_KINDS,
    EMPTY,
    FORWARD,
    INFERRED_ATTR,
    LINES_ATTR,
    MOST_LINES,
    NO_DETAILS,
    OPERAND_SHAPES_ATTR,
    PRINTED,
    RECOMPUTED,
    RECOMPUTES,
    ROLES,
    SAVED_FROM,
    TRANSFORMS_ATTR,
    UNKNOWN_TYPE,
    UPDATE,
    WHOLE,
    Details,
    Frame,
    KnownDetails,
    Link,
    NodeKey,
    Path,
    Resembling,
    Role,
    TensorType,
    TextDetails,
    ValueRef,
    dimension,
    dtype_bits,
    dtype_kind,
    line_number,
    whole_number,
)

__all__ = [
    "ARGUMENT_ROLES",
    "BACKWARD",
    "BACKWARD_OF",
    "CHANGE",
    "CODE_ATTR",
    "COMBINES",
    "DIRECTION_ATTR",
    "DTYPE_KINDS",
    "EMPTY",
    "FORWARD",
    "INFERRED_ATTR",
    "LARGE",
    "LINES_ATTR",
    "MOST_LINES",
    "NO_DETAILS",
    "OPERAND_SHAPES_ATTR",
    "ORIGINS",
    "PRINTED",
    "RECOMPUTED",
    "RECOMPUTES",
    "ROLES",
    "SAVED_FROM",
    "TRANSFORMS_ATTR",
    "UNKNOWN_TYPE",
    "UPDATE",
    "WHOLE",
    "Column",
    "Details",
    "Frame",
    "Graph",
    "GraphBuilder",
    "GrowingColumns",
    "KnownDetails",
    "Link",
    "MemoryPlan",
    "Metric",
    "MetricOrigin",
    "Node",
    "NodeColumns",
    "NodeKey",
    "OwnText",
    "Path",
    "Program",
    "ProgramBuilder",
    "Resembling",
    "Role",
    "TensorType",
    "TextDetails",
    "ValueRef",
    "calls_of",
    "control_of",
    "details_of",
    "dimension",
    "dtype_bits",
    "dtype_kind",
    "inputs_of",
    "line_number",
    "links_of",
    "whole_number",
    "wrong_details",
    "wrong_part",
]
