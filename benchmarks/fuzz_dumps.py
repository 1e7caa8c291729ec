"""What compilers write as directories, for `fuzz.py`: until it is read, a directory is one file."""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from mutations import Files, packed, unpacked
from results import HERE

from opscope.loading import load_all
from opscope.recording.recorder import record

TESTS = HERE.parent / "tests"
CORPUS = TESTS / "corpus"
SUFFIX = ".dump"
_LARGEST = 6_000
"""So many bytes of a file that only adds to a dump are enough."""

_PTX = ".visible .entry {0}(\n\t.param .u64 p0\n)\n{{\n\tret;\n}}\n"
_LLVM = "define void @{0}(ptr %0) {{\nentry:\n  ret void\n}}\n"
_THUNK_METADATA = 'thunk_metadata {{\n  thunk_info {{\n    profile_annotation: "{0}"\n    thunk_id: 3\n  }}\n}}\n'
_THUNKS = "003: kCustomKernel [0] {0} grid: 1\n"


def write_dumps(kind: str, directory: Path) -> list[Path]:
    """The dumps of a kind, each as one file, made if they are missing."""
    path = directory / "seeds" / f"{kind}{SUFFIX}"
    path.parent.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, files in enumerate(DUMPS[kind](directory)):
        paths.append(path.with_stem(f"{kind}_{number}"))
        if not paths[-1].exists():
            paths[-1].write_bytes(packed(files))
    return paths


class Unpacked:
    """A directory that has the files of one dump after another. What two of them have in common is written once."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._written: Files = {}

    def fill(self, path: Path) -> Path:
        """The directory that a file of `write_dumps` stands for, and nothing from before."""
        files = unpacked(path.read_bytes())
        if self._written.keys() != files.keys():
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory.mkdir(parents=True)
            self._written = {}
        before, self._written = self._written, {}
        for name, content in files.items():
            if before.get(name) != content:
                target = self._directory / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
        self._written = files
        return self._directory


def _tar(path: Path, begins: str, *, longest: int = 1 << 20) -> Files:
    """The files below a directory of an archive."""
    with tarfile.open(path) as archive:
        members = [member for member in archive if member.isfile() and member.name.startswith(begins)]
        contents = {member.name: archive.extractfile(member) for member in members}
        return {str(PurePosixPath(name).relative_to(begins)): file.read(longest) for name, file in contents.items() if file is not None}


def _xla(_: Path) -> Iterator[Files]:
    """Passes with the autotuner's results; with XLA's reasons for fusions and the code of kernels; with memory reports."""
    for name in ("autotuned", "partitioned"):
        yield {path.name: path.read_bytes() for path in sorted((TESTS / "recording" / name).iterdir())}
    reasons = _tar(CORPUS / "xla_gpu_scan_passes.tar.xz", "xla_gpu_scan_passes", longest=_LARGEST)
    module = "module_4639.jit_loss"
    text = (
        "HloModule jit_loss\n\nfused {\n  p = f32[4] parameter(0)\n  ROOT a = f32[4] add(p, p)\n}\n\nENTRY main {\n"
        "  x = f32[4] parameter(0)\n  ROOT fusion.1 = f32[4] fusion(x), kind=kLoop, calls=fused\n}\n"
    )
    yield {
        f"{module}.0062.fusion.after_priority-fusion.before_cse.txt": text.encode(),
        f"{module}.0063.fusion.after_cse.before_dce.txt": text.replace("add(p, p)", "multiply(p, p)").encode(),
        f"{module}.priority_fusion_dump.txt": reasons[f"{module}.priority_fusion_dump.txt"],
        f"{module}.ptx": _PTX.format("fusion_1").encode(),
        f"{module}.ir-with-opt.ll": _LLVM.format("fusion_1").encode(),
        f"{module}.fusion.1.ttir.txt": b"module {\n}\n",
        f"{module}.thunk_metadata.txt": _THUNK_METADATA.format("fusion.1").encode(),
        f"{module}.thunk_sequence.txt": _THUNKS.format("fusion_1").encode(),
    }
    yield _tar(TESTS / "memory" / "gpu_dumps.tar.gz", "mlp/")


def _hidet(_: Path) -> Iterator[Files]:
    passes = _tar(CORPUS / "hidet_passes.tar.xz", "asis/outs/")
    yield {name.replace("6_", "0_").replace("7_", "1_"): content for name, content in passes.items() if name.startswith(("6_", "7_"))}


def _aitemplate(_: Path) -> Iterator[Files]:
    passes = _tar(CORPUS / "aitemplate_doc_passes.tar.xz", "doc/")
    yield {name: content for name, content in passes.items() if name.startswith(("08-", "09-")) and not name.endswith("_graph.txt")}


def _torch_debug(_: Path) -> Iterator[Files]:
    yield _tar(CORPUS / "torch_compile_debug.tar.xz", "torch_compile_debug/")


def _output_code(_: Path) -> Iterator[Files]:
    """Inductor's code alone."""
    for name, content in _tar(CORPUS / "torch_compile_debug.tar.xz", "torch_compile_debug/").items():
        if name.endswith("output_code.py"):
            yield {"output_code.py": content}


def _fx_texts(_: Path) -> Iterator[Files]:
    """What depyf writes, and the layout of vLLM."""
    texts: dict[str, str] = json.loads((TESTS / "samples" / "torch" / "depyf.json").read_text("utf-8"))
    yield {name: text.encode() for name, text in texts.items()}
    joint = texts["__compiled_fn_1.Joint_graph.0.py"].encode()
    stages = ("before_split.0", "after_split.0", "post_grad.0.NoOpEliminationPass.before.0", "post_grad.0.NoOpEliminationPass.after.0")
    yield {f"rank_0_dp_0/__compiled_fn_1.{stage}.py": joint for stage in stages}


def _snapshots(directory: Path) -> Iterator[Files]:
    written = directory / "seeds" / "snapshots"
    if not written.exists():
        with record(directory / "seeds" / "unused.opscope", directory=written, overwrite=True) as recorder:
            for name in ("hlo/written.hlo", "native/frames.json"):
                recorder.snapshot(load_all(TESTS / "samples" / name)[0], PurePosixPath(name).stem)
    yield {path.name: path.read_bytes() for path in sorted(written.iterdir())}


DUMPS: dict[str, Callable[[Path], Iterator[Files]]] = {
    "aitemplate_dump": _aitemplate,
    "fx_texts_dump": _fx_texts,
    "hidet_dump": _hidet,
    "output_code": _output_code,
    "snapshots_dump": _snapshots,
    "torch_debug_dump": _torch_debug,
    "xla_dump": _xla,
}
