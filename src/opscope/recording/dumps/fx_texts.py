"""Directories of fx graphs as text, one file per graph: those that depyf writes, and vLLM with `VLLM_DEBUG_DUMP_PATH`.

    __compiled_fn_1.BEFORE_PRE_GRAD.0.py, __compiled_fn_1.Joint_graph.0.py, __compiled_fn_1.AFTER_POST_GRAD.0.py …
    before_fusion.py, after_fusion.py …

The graphs of a compiled function up to the joint one are the passes of one module, those of its forward and its backward half of two more,
in the order in which torch makes them; the files before and after one step are a module too. Every other file is one of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from opscope.errors import SourceError
from opscope.plugin import Progress
from opscope.readers.source import Source
from opscope.readers.torch.fx_text import is_fx_text
from opscope.readers.torch.readable import program_of_text
from opscope.recording.model import Recording
from opscope.recording.store.store import StoreWriter

_COMPILED = re.compile(r"(?P<function>__compiled_fn_\d+)[. ](?P<stage>.+?)[. ](?P<number>\d+)\.py")
_STEP = re.compile(r"(?P<when>before|after)_(?P<module>.+)\.py")
_STAGES = {
    "__compiled_fn": ("", "as Dynamo traced it"),
    "captured_graph": ("", "as Dynamo traced it"),
    "pre_insert_deferred": ("", "before runtime checks"),
    "before_pre_grad": ("", "before pre-grad passes"),
    "after_pre_grad": ("", "after pre-grad passes"),
    "tensorify_python_scalars": ("", "tensorify_python_scalars"),
    "joint_graph": ("", "joint graph"),
    "forward_graph": ("forward", "forward graph"),
    "backward_graph": ("backward", "backward graph"),
    "before_post_grad": ("forward", "before post-grad passes"),
    "after_post_grad": ("forward", "after post-grad passes"),
}
"""How the name of a stage begins: which half of the function it is, and the name of the pass, in the order of compilation."""
_POST_GRAD = "post_grad"
_HEAD = 1 << 14


def is_dump(directory: Path, names: Iterable[str]) -> bool:
    texts = [name for name in names if name.endswith(".py") and (_COMPILED.fullmatch(name) or _STEP.fullmatch(name))]
    return any(_is_text(directory / name) for name in texts)


def read_dump(directory: Path, progress: Progress | None = None) -> Recording:
    writer = StoreWriter(attrs={"producer": "torch.compile (fx graphs as text)", "ids": "names", "source": directory.name})
    skipped: list[str] = []
    paths = sorted((path for path in directory.iterdir() if not path.name.startswith(".")), key=lambda path: _order(path.name))
    for done, path in enumerate(paths, 1):
        module, _, stage = _place(path.name)
        try:
            if not _is_text(path):
                skipped.append(f"{path.name}: {'a directory' if path.is_dir() else 'not an fx graph'}")
                continue
            program = program_of_text(Source(path).read_text(), module)
            writer.add(program, stage, pipeline=("torch.compile",), module=module, attrs={"file": path.name})
        except SourceError as error:
            skipped.append(f"{path.name}: {error}")
        if progress:
            progress(done / len(paths))
    return writer.finished(str(directory), skipped)


def _order(name: str) -> tuple[str, int]:
    module, at, _ = _place(name)
    return module.replace(" forward", " 1").replace(" backward", " 2"), at


def _place(name: str) -> tuple[str, int, str]:
    """The module that a file belongs to, where among its files, and the name of its pass."""
    if compiled := _COMPILED.fullmatch(name):
        function, stage, number = compiled["function"], compiled["stage"].replace(" ", "_").lower(), compiled["number"]
        for at, (beginning, (half, title)) in enumerate(_STAGES.items()):
            if stage.startswith(beginning):
                if _POST_GRAD in beginning:  # both halves go through these passes, the forward one first
                    half, number = ("forward" if number == "0" else "backward"), "0"
                return " ".join(filter(None, (function, half, number.strip("0")))), at, title
        return f"{function} {number}".removesuffix(" 0"), len(_STAGES), compiled["stage"]
    if step := _STEP.fullmatch(name):
        return step["module"], ("before", "after").index(step["when"]), step["when"]
    return Path(name).stem, 0, "graph"


def _is_text(path: Path) -> bool:
    if path.suffix != ".py" or not path.is_file():
        return False
    with path.open("rb") as stream:
        return is_fx_text(stream.read(_HEAD).decode(errors="replace"))
