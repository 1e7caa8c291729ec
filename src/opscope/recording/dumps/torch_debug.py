"""The directory that `TORCH_COMPILE_DEBUG=1` makes torch write: each compiled graph before and after Inductor's passes, and its code.

    torch_compile_debug/run_2026_11_16_…-pid_28298/torchinductor/model__0_forward_1.0/fx_graph_readable.py

Any directory from the top down to that of one graph can be opened, and generated code (`output_code.py`) by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from opscope.errors import SourceError
from opscope.plugin import Progress
from opscope.program import Program
from opscope.readers.source import Source
from opscope.readers.torch.readable import program_of_text
from opscope.recording.dumps.inductor_code import GeneratedCode
from opscope.recording.model import Recording
from opscope.recording.store.store import StoreWriter

_GRAPH, _CODE = "fx_graph_readable.py", "output_code.py"
_STAGES = {_GRAPH: ("post-grad", "before"), "fx_graph_transformed.py": ("post-grad", "after"), _CODE: ("code generation", "launches")}
_OTHERS = {
    "fx_graph_runnable.py": "a script that runs the same graph",
    "ir_pre_fusion.txt": "Inductor's loops as text",
    "ir_post_fusion.txt": "Inductor's loops as text",
}
_LEVELS = ("*/torchinductor/*", "torchinductor/*", "*", ".")
"""Where the directories of graphs are, from the top directory, that of a run, Inductor's, or a graph's."""
_NAME = re.compile(r"run_.+-pid_\d+|torchinductor|model_.*|" + re.escape(_GRAPH))


def is_dump(directory: Path, names: Iterable[str]) -> bool:
    return any(map(_NAME.fullmatch, names)) and bool(_graphs(directory))


def read_dump(directory: Path, progress: Progress | None = None) -> Recording:
    if directory.is_file():
        return _of_code(directory)
    graphs = _graphs(directory)
    writer = StoreWriter(attrs={"producer": "torch.compile (TORCH_COMPILE_DEBUG)", "ids": "names", "source": directory.name})
    skipped: list[str] = []
    for done, graph in enumerate(graphs, 1):
        module = graph.relative_to(directory).as_posix() if graph != directory else graph.name
        _add(writer, graph, module, skipped)
        if progress:
            progress(done / len(graphs))
    return writer.finished(str(directory), skipped)


def _of_code(path: Path) -> Recording:
    """The launches of generated code whose graph is not there."""
    writer = StoreWriter(attrs={"producer": "torch.compile (generated code)", "ids": "names", "source": path.name})
    pipeline, title = _STAGES[_CODE]
    program = _launches(Source(path).read_text(), path.stem, None)
    writer.add(program, title, pipeline=(pipeline,), module=path.stem, attrs={"file": path.name})
    return writer.finished(str(path), [])


def _graphs(directory: Path) -> list[Path]:
    """The directories of graphs, in the order in which torch numbered them."""
    paths = {path.parent for level in _LEVELS for path in directory.glob(f"{level}/{_GRAPH}") if path.is_file()}
    return sorted(paths, key=lambda path: (str(path.parent), [int(number) for number in re.findall(r"\d+", path.name)], path.name))


def _add(writer: StoreWriter, directory: Path, module: str, skipped: list[str]) -> None:
    graph: Program | None = None
    for name, (pipeline, title) in _STAGES.items():
        path = directory / name
        if not path.is_file():
            continue
        try:
            text = Source(path).read_text()
            program = _launches(text, module, graph) if name == _CODE else program_of_text(text, module)
        except SourceError as error:
            skipped.append(f"{module}/{name}: {error}")
            continue
        graph = program if name != _CODE else graph
        writer.add(program, title, pipeline=(pipeline,), module=module, attrs={"file": f"{module}/{name}"})
    for path in sorted(directory.iterdir()):
        if path.name not in _STAGES:
            skipped.append(f"{module}/{path.name}: {_OTHERS.get(path.name, 'not a graph')}")


def _launches(code: str, module: str, graph: Program | None) -> Program:
    inputs = {} if graph is None else {node.id: node for node in graph.main if not node.inputs}
    return GeneratedCode(code).program(module, inputs)
