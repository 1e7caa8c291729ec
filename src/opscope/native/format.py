"""Shared by the reader and the writer: the version, and the fields of each object."""

from __future__ import annotations

FORMAT = "opscope"
VERSION = 1

PROGRAM_FIELDS = ("name", "entry", "attrs", "metrics", "graphs")
DOCUMENT_FIELDS = ("format", "version", "programs", *PROGRAM_FIELDS)
GRAPH_FIELDS = ("name", "nodes", "outputs", "groupings", "metrics", "attrs")
NODE_FIELDS = ("id", "op", "role", "inputs", "outputs", "attrs", "scope", "calls", "control", "links", "source")
METRIC_FIELDS = ("unit", "combine", "origin")
TYPE_FIELDS = ("dtype", "shape", "layout")
FRAME_FIELDS = ("file", "line", "function")
