"""ExecuTorch's visualization functions: same names, arguments and meaning, without Model Explorer.

from opscope.compat.executorch import visualize_with_clusters

visualize_with_clusters(tagged_program)                       # opens a browser tab; blocks until Ctrl+C
visualize_with_clusters(tagged_program, "clusters.json")      # only writes the file for Model Explorer
"""

from __future__ import annotations

import json
import webbrowser
from dataclasses import replace
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

from opscope.analysis.enrich import enrich
from opscope.compat.executorch_file import collection
from opscope.errors import OpscopeError
from opscope.program import Program
from opscope.readers import capture_object
from opscope.readers.torch.tags import CLUSTER, PARTITION, NameOf, cluster_name, partition_name, tag_groupings
from opscope.render.writers.html import initial
from opscope.terminal import say
from opscope.view_options import ViewOptions
from opscope.whole_file import whole_file

_IGNORED = ("cors_host", "skip_health_check")
"""Arguments for Model Explorer's server, which have no effect here."""


def visualize(visualizable: Any, reuse_server: bool = True, no_open_in_browser: bool = False, **kwargs: Any) -> None:
    """Show an ExportedProgram, EdgeProgramManager or ExecutorchProgramManager in the browser.

    Starts a server and blocks until Ctrl+C. With `reuse_server`, a server that is already running shows it, and the call returns.
    `host` and `port` choose the address to listen on.
    """
    _show(capture_object(_exported(visualizable)), ViewOptions(), reuse_server, no_open_in_browser, kwargs)


def visualize_graph(
    graph_module: Any, exported_program: Any, reuse_server: bool = True, no_open_in_browser: bool = False, **kwargs: Any
) -> None:
    """Show a graph that passes have changed, with the names and roles of the exported program it came from."""
    from opscope.readers.torch.export import program_of_exported

    program = program_of_exported(_WithGraph(_exported(exported_program), graph_module))
    _show(program, ViewOptions(), reuse_server, no_open_in_browser, kwargs)


def visualize_with_clusters(
    exported_program: Any,
    json_file_name: str | PathLike[str] | None = None,
    no_open_in_browser: bool = False,
    reuse_server: bool = False,
    get_node_partition_name: NameOf = partition_name,
    get_node_qdq_cluster_name: NameOf = cluster_name,
    **kwargs: Any,
) -> None:
    """Show a program grouped by partition and quantized cluster; "Group by" switches back to modules.

    With `json_file_name`, only a file is written: the one that ExecuTorch writes for Model Explorer, with the names that the two functions
    return. If no node is tagged with a cluster, the viewer detects clusters by their structure.
    """
    exported = _exported(exported_program)
    if json_file_name is not None:
        encoded = collection(exported, get_node_partition_name, get_node_qdq_cluster_name)
        try:
            with whole_file(Path(json_file_name)) as part:
                part.write_text(json.dumps(encoded), "utf-8")
        except OSError as error:
            raise OpscopeError(f"{json_file_name}: cannot write the file: {error.strerror or error}") from error
        return
    program = clustered(exported, get_node_partition_name, get_node_qdq_cluster_name)
    grouping = next((name for name in (PARTITION, CLUSTER) if name in program.main.groupings), None)
    options = ViewOptions(group_by=grouping, depth=2, style="clusters") if grouping else ViewOptions(style="clusters")
    _show(program, options, reuse_server, no_open_in_browser, kwargs)


def clustered(exported: Any, partition: NameOf = partition_name, cluster: NameOf = cluster_name) -> Program:
    """The program with the groupings "partition" and "qdq cluster", named by the two functions, in addition to "module"."""
    program = capture_object(_exported(exported))
    main = program.main
    tags = tag_groupings(_exported(exported).graph.nodes, partition, cluster)
    others = {name: paths for name, paths in main.groupings.items() if name not in (PARTITION, CLUSTER)}
    tagged = {name: {node_id: path for node_id, path in paths.items() if node_id in main} for name, paths in tags.items()}
    graphs = {**program.graphs, program.entry: replace(main, groupings=MappingProxyType({**others, **tagged}))}
    return enrich(replace(program, graphs=MappingProxyType(graphs)))


def _exported(visualizable: Any) -> Any:
    """The ExportedProgram of any argument that ExecuTorch's functions accept."""
    import torch

    if callable(getattr(visualizable, "exported_program", None)):
        visualizable = visualizable.exported_program()
    if not isinstance(visualizable, torch.export.ExportedProgram):
        kind = type(visualizable)
        accepted = "an ExportedProgram, EdgeProgramManager or ExecutorchProgramManager"
        raise OpscopeError(f"cannot show a {kind.__module__}.{kind.__qualname__}; pass {accepted}")
    return visualizable


class _WithGraph:
    """An exported program with its graph replaced."""

    def __init__(self, exported: Any, graph_module: Any) -> None:
        self.exported = exported
        self.graph_module = graph_module

    def __getattr__(self, name: str) -> Any:
        return getattr(self.exported, name)


def _show(program: Program, options: ViewOptions, reuse: bool, no_browser: bool, kwargs: dict[str, Any]) -> None:
    """Show it in the notebook, in a server that is already running, or in a new server that blocks."""
    unknown = [name for name in kwargs if name not in ("host", "port", *_IGNORED)]
    if unknown:
        raise OpscopeError(f"{unknown[0]!r} is an option of Model Explorer's server and has no effect here; leave it out")
    from opscope.serve.notebook import in_notebook, show
    from opscope.serve.running_server import show_in_running
    from opscope.serve.sources import Served
    from opscope.serve.start import serve

    if in_notebook():
        show(program, **{row.name: getattr(options, row.name) for row in options.given})
        return
    config = initial(options)
    shown = show_in_running(program, config) if reuse else None
    if shown is None:
        where = {name: kwargs[name] for name in ("host", "port") if name in kwargs}
        serve([Served.of(program)], browser=not no_browser, accept=True, config=config, **where)
        return
    say(shown.address)
    if shown.tabs == 0 and not no_browser:
        webbrowser.open(shown.start)
