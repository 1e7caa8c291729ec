"""Which way a live torch object is captured."""

from __future__ import annotations

from typing import Any

from opscope.program import Program


def capture(obj: Any, *args: Any, stage: str | None = None, **options: Any) -> Program | None:
    """A module with its inputs, a tensor with a gradient, an exported program or a graph module; None for anything else."""
    import torch

    from opscope.readers.torch import export

    if isinstance(obj, torch.export.ExportedProgram):
        return export.program_of_exported(obj)
    if isinstance(obj, torch.fx.GraphModule) and not args and not options:
        return export.program_of_graph_module(obj)
    if isinstance(obj, torch.nn.Module):
        exported = torch.export.export(obj, args, options)
        return export.program_of_exported(exported, type(obj).__name__)
    return None
