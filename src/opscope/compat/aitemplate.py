"""Drop-in replacement for `aitemplate.utils.visualization.plot_graph`, whose pages work offline."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

from opscope.errors import OpscopeError


def plot_graph(tensors: Any, file_path: str | PathLike[str], file_with_time_profiles: str | PathLike[str] | None = None) -> None:
    """Write the graph of AITemplate tensors to a file; its suffix chooses .html (works offline), .svg, .png, .pdf or .dot.

    `file_with_time_profiles` is AITemplate's profile, {operator: {"ms_per_iter": …}}; its times become the metric "time".
    """
    from opscope.readers.aitemplate import capture, with_times
    from opscope.render import save

    program = capture(tensors)
    if program is None:
        raise OpscopeError(f"plot_graph takes an AITemplate tensor or a list of them, not a {type(tensors).__name__}")
    if file_with_time_profiles is not None:
        program = with_times(program, json.loads(Path(file_with_time_profiles).read_text(encoding="utf-8")))
    save(program, file_path)
