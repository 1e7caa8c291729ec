"""The code of kernels: in the generated code that was recorded or logged, or in the files of XLA's dump.

XLA for the CPU writes a file for each kernel, XLA for GPUs one for a module or numbered ones, and the Triton IR of a fusion:

    module_0006.jit_step.multiply_add_fusion.1_kernel_module.ir-with-opt.ll
    module_0006.jit_step.ptx, module_0006.jit_step.ir-with-opt.ll, module_0006.jit_step.15.ptx
    module_0006.jit_step.gemm_fusion_dot.79.ttir.txt
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from opscope.analysis.contributing import Line, contributing_lines
from opscope.analysis.source_files import recorded_list
from opscope.errors import OpscopeError
from opscope.profile.kineto.place import LAUNCH_ATTR
from opscope.program import CODE_ATTR, Graph, Node
from opscope.recording.dumps.own_files import own_files
from opscope.recording.model import Recording, Snapshot

_TRITON = ".ttir.txt"
_LANGUAGES = {_TRITON: "Triton IR", ".ptx": "PTX", ".ir-with-opt.ll": "LLVM, optimized", ".ir-no-opt.ll": "LLVM"}
_OWN_FILE = "_kernel_module"
_UNCHECKED = ".before_validation"
"""Triton IR as it was before XLA checked it: the same text again."""
_FUNCTION = re.compile(r'^define [^\n]*@"?(?P<llvm>[^\s"(]+)"?\(|^\.visible \.entry (?P<ptx>[^\s(]+)\(', re.MULTILINE)
_ANNOTATED = re.compile(r'profile_annotation: "(?P<node>[^"]*)"\s+thunk_id: (?P<id>\d+)')
_LAUNCHED = re.compile(r"^\s*(?P<id>\d+): kCustomKernel\s.*?\] (?P<kernel>\S+) grid:", re.MULTILINE)
_MOST_EMBEDDED = 8_000_000
"""The characters of code that a page contains at most."""


CODES = "codes"
"""The attribute of a recording with the code that was in files when it was made, as JSON."""


class KernelCode(NamedTuple):
    """The code of a kernel. `node` is the instruction that launches it."""

    module: str
    node: str
    language: str
    file: str
    """The file of the dump that it is in; empty if it is part of the recording."""
    text: str
    lines: tuple[Line, ...] = ()
    """Every line of the user's program that it computes."""


class CodeFiles:
    """The code in the directory of an XLA dump. Files are read when a kernel is asked for."""

    def __init__(self, recording: Recording) -> None:
        self._directory = Path(recording.name)
        self._modules = sorted(recording.modules, key=len, reverse=True)
        self._kept = [code for code in recorded_list(recording.attrs.get(CODES)) if isinstance(code, Mapping)]

    @cached_property
    def _own(self) -> dict[str, Path]:
        return {path.name: path for path in own_files(self._directory)}

    @cached_property
    def _files(self) -> dict[str, list[tuple[str, str, Path]]]:
        """For each module, its files: the kernel that each is about (empty: all), and the language."""
        files: dict[str, list[tuple[str, str, Path]]] = {}
        for path in self._own.values():
            suffix = next((suffix for suffix in _LANGUAGES if path.name.endswith(suffix)), None)
            module = next((name for name in self._modules if name and path.name.startswith(f"{name}.")), None)
            if suffix is None or module is None or path.name.endswith(f"{_UNCHECKED}{_TRITON}"):
                continue
            kernel = path.name[len(module) + 1 : -len(suffix)]
            node = kernel.removesuffix(_OWN_FILE) if kernel.endswith(_OWN_FILE) or suffix == _TRITON else ""
            files.setdefault(module, []).append((node, suffix, path))
        order = list(_LANGUAGES)
        return {module: sorted(each, key=lambda file: (order.index(file[1]), file[2].name)) for module, each in files.items()}

    def of(self, module: str, node: str) -> Iterator[KernelCode]:
        """The code of a node: that of the GPU first, and optimized code before what it was made of."""
        for kept in self._kept:
            if kept.get("module") == module and kept.get("node") == node:
                language, file, text = (str(kept.get(name, "")) for name in ("language", "file", "text"))
                yield KernelCode(module, node, language, file, text)
        names = {node, re.sub(r"\W", "_", node), self._launched(module).get(node, node)}
        for about, suffix, path in self._files.get(module, ()):
            is_shared = suffix == _TRITON and re.sub(r"\W", "_", about) in names
            if about and about != node and not is_shared:
                continue
            parts = [path.read_text("utf-8", errors="replace")] if about else [self._functions(path).get(name) for name in sorted(names)]
            for part in filter(None, parts):
                yield KernelCode(module, node, _LANGUAGES[suffix], path.name, part.rstrip("\n"))

    def _functions(self, path: Path) -> dict[str, str]:
        """The functions of a file. A file is read once, though every node of its module is looked for in it."""
        if path not in self._read:
            self._read[path] = dict(_functions(path.read_text("utf-8", errors="replace")))
        return self._read[path]

    @cached_property
    def _read(self) -> dict[Path, dict[str, str]]:
        return {}

    def _launched(self, module: str) -> dict[str, str]:
        """The kernel that an instruction launches, by XLA's list of thunks: equal fusions share one."""
        if module not in self._kernels:
            metadata, sequence = (self._own.get(f"{module}.thunk_{what}.txt") for what in ("metadata", "sequence"))
            kernels: dict[str, str] = {}
            if metadata is not None and sequence is not None:
                by_thunk = {int(m["id"]): m["kernel"] for m in _LAUNCHED.finditer(sequence.read_text("utf-8", errors="replace"))}
                for match in _ANNOTATED.finditer(metadata.read_text("utf-8", errors="replace")):
                    kernels.setdefault(match["node"], by_thunk.get(int(match["id"]), match["node"]))
            self._kernels[module] = kernels
        return self._kernels[module]

    @cached_property
    def _kernels(self) -> dict[str, dict[str, str]]:
        return {}

    def all(self, recording: Recording) -> Iterator[KernelCode]:
        """The code of every node of the last program of each module."""
        last = {snapshot.module: snapshot for snapshot in recording}
        for module, snapshot in last.items():
            if module in self._files or self._kept:
                for graph in snapshot.program:
                    for id in graph.ids:
                        yield from self.of(module, id)


def _functions(text: str) -> Iterator[tuple[str, str]]:
    """The functions of LLVM or PTX text, each with its name."""
    for match in _FUNCTION.finditer(text):
        end = text.find("\n}", match.end())
        yield match["llvm"] or match["ptx"], text[match.start() : None if end < 0 else end + 2]


def codes_json(recording: Recording) -> list[dict[str, Any]]:
    """The code of a dump's kernels for a page: all of it, unless it is very long."""
    codes: list[dict[str, Any]] = []
    room = _MOST_EMBEDDED
    for code in CodeFiles(recording).all(recording):
        room -= len(code.text)
        if room < 0:
            break
        codes.append({"module": code.module, "node": code.node, **code_json(code)})
    return codes


def code_json(code: KernelCode) -> dict[str, str]:
    return {"language": code.language, "file": code.file, "text": code.text}


def kernel_code(recording: Recording, name: str) -> list[KernelCode]:
    """The code of a node, or of the kernel of that name, with every source line that contributes."""
    files = CodeFiles(recording)
    found = [code for snapshot, graph, node in _launches(recording, name) for code in _codes(files, snapshot, graph, node)]
    if found:
        return found
    recording.with_node(name)  # or else it is not a node at all
    library = next((node.op for _, _, node in _launches(recording, name) if node.attrs.get(LAUNCH_ATTR)), "")
    if library:
        raise OpscopeError(f"{recording.name}: {name!r} launches {library}, which comes with torch; only generated kernels have code here")
    raise OpscopeError(
        f"{recording.name}: no code for {name!r}; XLA writes it for the kernels of the last program, in .ll and .ptx files next to "
        "the passes, and recordings of torch.compile have it with codegen=True or TORCH_TRACE"
    )


def _launches(recording: Recording, name: str) -> Iterator[tuple[Snapshot, Graph, Node]]:
    """The nodes of that name, or of that kernel, after the last pass of each module that has one."""
    last: dict[str, Snapshot] = {}
    for snapshot in reversed(recording.snapshots):
        if snapshot.module in last:
            continue
        last[snapshot.module] = snapshot
        for graph in snapshot.program:
            for id, op in zip(graph.ids, graph.ops, strict=True):
                if name in (id, op):
                    yield snapshot, graph, graph[id]
                    if id != name:  # one launch of a kernel is enough
                        break


def _codes(files: CodeFiles, snapshot: Snapshot, graph: Graph, node: Node) -> Iterator[KernelCode]:
    lines = tuple(contributing_lines(snapshot.program, graph.name, node.id))
    text = node.attrs.get(CODE_ATTR)
    if isinstance(text, str):
        yield KernelCode(snapshot.module, node.id, node.op, "", text, lines)
    for code in files.of(snapshot.module, node.id):
        yield code._replace(lines=lines)
