"""opscope: see the graphs your model becomes, and what every compiler pass does to them.

    program = opscope.load("step.hlo")     # or a .json, a folder of dumps, …
    print(program.main)                    # one line per node
    opscope.save(program, "step.dot")      # or .json, by suffix

Everything is imported when it is first used: `import opscope` costs a few milliseconds and loads no framework.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "load": "opscope.loading",
    "capture": "opscope.loading",
    "save": "opscope.render",
    "summary": "opscope.analysis.summary",
    "record": "opscope.recording.recorder",
    "diff": "opscope.recording.diff",
    "show": "opscope.serve.notebook",
    "Program": "opscope.program",
    "Graph": "opscope.program",
    "Node": "opscope.program",
    "TensorType": "opscope.program",
    "Frame": "opscope.program",
    "Link": "opscope.program",
    "Metric": "opscope.program",
    "ProgramBuilder": "opscope.program",
    "OpscopeError": "opscope.errors",
    "SourceError": "opscope.errors",
}
"""Where each public name lives. Tests check that `__all__` and `docs/python.md` agree."""

__all__ = [
    "Frame",
    "Graph",
    "Link",
    "Metric",
    "Node",
    "OpscopeError",
    "Program",
    "ProgramBuilder",
    "SourceError",
    "TensorType",
    "capture",
    "diff",
    "load",
    "record",
    "save",
    "show",
    "summary",
]

if TYPE_CHECKING:
    from opscope.analysis.summary import summary
    from opscope.errors import OpscopeError, SourceError
    from opscope.loading import capture, load
    from opscope.program import Frame, Graph, Link, Metric, Node, Program, ProgramBuilder, TensorType
    from opscope.recording.diff import diff
    from opscope.recording.recorder import record
    from opscope.render import save
    from opscope.serve.notebook import show


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'opscope' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    import_module("opscope.program").display_with(_display)
    globals()[name] = value
    return value


def _display(program: Program) -> dict[str, Any]:
    """How a notebook shows a Program; loaded when one first does."""
    bundle: dict[str, Any] = import_module("opscope.serve.notebook").mimebundle(program)
    return bundle


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
