"""Stand-in for `aitemplate.utils.visualization.plot_graph`: the same call, and a page that needs no network."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

from opscope.errors import OpscopeError


def plot_graph(tensors: Any, file_path: str | PathLike[str], file_with_time_profiles: str | PathLike[str] | None = None) -> None:
    """Write the graph of AITemplate tensors to a file, by its suffix: one offline HTML page, or .svg, .png, .pdf, .dot.

    `file_with_time_profiles` is AITemplate's profile, {operator: {"ms_per_iter": …}}: its times become the metric "time".
    """
    from opscope.readers.aitemplate import capture, with_times
    from opscope.render import save

    program = capture(tensors)
    if program is None:
        raise OpscopeError("plot_graph takes a tensor of AITemplate, or a list of them")
    if file_with_time_profiles is not None:
        program = with_times(program, json.loads(Path(file_with_time_profiles).read_text(encoding="utf-8")))
    save(program, file_path)
