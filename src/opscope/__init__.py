"""opscope: see the graphs your model becomes, and what every compiler pass does to them.

    program = opscope.load("step.hlo")                # or a .onnx, .pt2, .mlir, .json …
    print(program.main)                               # one line per node
    opscope.save(program, "step.svg")                 # or .html, .pdf, .dot …, by suffix
    recording = opscope.open_recording("dump_dir")    # what a compiler's passes did

Everything is imported on first use: `import opscope` takes a few milliseconds and loads no framework.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "load": "opscope.loading",
    "load_all": "opscope.loading",
    "open_recording": "opscope.recording.sources",
    "capture": "opscope.loading",
    "save": "opscope.render",
    "summary": "opscope.analysis.summary",
    "record": "opscope.recording.recorder",
    "diff": "opscope.recording.diff",
    "measure": "opscope.measuring",
    "show": "opscope.serve.notebook",
    "Program": "opscope.program",
    "Graph": "opscope.program",
    "Node": "opscope.program",
    "TensorType": "opscope.program",
    "Frame": "opscope.program",
    "Link": "opscope.program",
    "Metric": "opscope.program",
    "ProgramBuilder": "opscope.program",
    "Recording": "opscope.recording.model",
    "Snapshot": "opscope.recording.model",
    "Diff": "opscope.recording.diff",
    "Summary": "opscope.analysis.summary",
    "ViewOptions": "opscope.view_options",
    "OpscopeError": "opscope.errors",
    "SourceError": "opscope.errors",
}
"""Where each public name lives. Tests check that `__all__` and `docs/python.md` agree."""

__all__ = [
    "Diff",
    "Frame",
    "Graph",
    "Link",
    "Metric",
    "Node",
    "OpscopeError",
    "Program",
    "ProgramBuilder",
    "Recording",
    "Snapshot",
    "SourceError",
    "Summary",
    "TensorType",
    "ViewOptions",
    "capture",
    "diff",
    "load",
    "load_all",
    "measure",
    "open_recording",
    "record",
    "save",
    "show",
    "summary",
]

if TYPE_CHECKING:
    from opscope.analysis.summary import Summary, summary
    from opscope.errors import OpscopeError, SourceError
    from opscope.loading import capture, load, load_all
    from opscope.measuring import measure
    from opscope.program import Frame, Graph, Link, Metric, Node, Program, ProgramBuilder, TensorType
    from opscope.recording.diff import Diff, diff
    from opscope.recording.model import Recording, Snapshot
    from opscope.recording.recorder import record
    from opscope.recording.sources import open_recording
    from opscope.render import save
    from opscope.serve.notebook import show
    from opscope.view_options import ViewOptions


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'opscope' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
