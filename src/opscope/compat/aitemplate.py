"""Drop-in replacement for `aitemplate.utils.visualization.plot_graph`, whose pages work offline."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

from opscope.compat.formats import check_format
from opscope.errors import OpscopeError, SourceError
from opscope.view_options import ROWS


def plot_graph(tensors: Any, file_path: str | PathLike[str], file_with_time_profiles: str | PathLike[str] | None = None) -> None:
    """Draw operators and tensors by their names; an operator that makes a view says of which tensor. The suffix chooses .html (works
    offline), .svg, .pdf, .png, .jpg, .webp, .gif, .dot or .json.

    `file_with_time_profiles` is AITemplate's profile, {operator: {"ms_per_iter": …}}. Operators are labelled, coloured and enlarged by
    their times, and tensors say when they are finished, one operator after the other and in parallel. Missing directories are created.
    """
    from opscope.readers.aitemplate import FINISHED, FINISHED_IN_PARALLEL, TIME, VIEW_OF, capture, with_times
    from opscope.render import find_writer, save

    target = Path(file_path)
    check_format(target)
    program = capture(tensors)
    if program is None:
        raise OpscopeError(f"plot_graph takes an AITemplate tensor or a list of them, not a {type(tensors).__name__}")
    has_views = any(VIEW_OF in node.attrs for node in program.main)
    options: dict[str, Any] = {"all_nodes": True, "names": True, "values": "boxes", "wrap": False, "label": [VIEW_OF] if has_views else []}
    if file_with_time_profiles is not None:
        program = with_times(program, _profile(Path(file_with_time_profiles)))
        options |= {
            "colour_by": TIME.name,
            "size_by": TIME.name,
            "label": [*options["label"], *(metric.name for metric in (TIME, FINISHED, FINISHED_IN_PARALLEL))],
        }
    writer = find_writer(target).name
    honoured = {row.name for row in ROWS if writer in row.writers}
    target.parent.mkdir(parents=True, exist_ok=True)
    save(program, target, overwrite=True, **{name: value for name, value in options.items() if name in honoured})


def _profile(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror or error}", str(path)) from None
    except (ValueError, RecursionError) as error:
        raise SourceError(f"is not a time profile: {error}", str(path)) from None
