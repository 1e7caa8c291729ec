"""Directories of fx graphs as text, one file per graph: those that depyf writes, and vLLM (through depyf) with `VLLM_DEBUG_DUMP_PATH`.

    __compiled_fn_1.BEFORE_PRE_GRAD.0.py, __compiled_fn_1.Joint_graph.0.py, __compiled_fn_1.AFTER_POST_GRAD.0.py …
    before_fusion.py, after_fusion.py …
    rank_0_dp_0/__compiled_fn_1.before_split.0.py, rank_0_dp_0/__compiled_fn_1.post_grad.0.NoOpEliminationPass.before.0.py …
    00_as_traced.txt, 01_fold_constants.txt …

The graphs of a compiled function up to the joint one are the passes of one module, those of its forward and its backward half of two more,
in the order in which torch makes them; the files before and after one step are a module too, and so are numbered files, which somebody
wrote with `print_readable` after each pass. Every other file is one of its own. vLLM
splits a function into pieces and runs passes of its own on each: depyf numbers the different texts that a pass saw, and each number is a
module.
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
_NUMBERED = re.compile(r"(?P<at>\d{1,9})[-_. ](?P<name>.+)\.(?:py|txt)")
_SIGNATURE = re.compile(r"def forward\((?P<inputs>[^\n]+)")
_RANK = re.compile(r"rank_\d+(?:_dp_\d+)?")
_OWN_PASS = re.compile(r"post_grad(?:\.(?P<at>\d+))?\.(?P<name>.+)\.(?P<when>before|after)")
_STAGES = {
    "pre_insert_deferred": ("", "before runtime checks"),
    "__compiled_fn": ("", "as Dynamo traced it"),
    "captured_graph": ("", "as Dynamo traced it"),
    "before_split": ("", "before the split"),
    "pre_split_module": ("", "before split_module"),
    "post_split_module": ("", "after split_module"),
    "after_split": ("", "after the split"),
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
_SPLIT = "split"
_HEAD = 1 << 14
_MOST_INPUTS = 1 << 20
"""The inputs of a graph are one line; those of a large model are longer than what tells a graph from other texts."""


def is_dump(directory: Path, names: Iterable[str]) -> bool:
    names = list(names)
    ranks = [path for name in names if _RANK.fullmatch(name) and (path := directory / name).is_dir()]
    return _has_texts(directory, names) or any(_has_texts(rank, (path.name for path in rank.iterdir())) for rank in ranks)


def _has_texts(directory: Path, names: Iterable[str]) -> bool:
    texts = [name for name in names if any(kind.fullmatch(name) for kind in (_COMPILED, _STEP, _NUMBERED))]
    return any(_is_text(directory / name) for name in texts)


def read_dump(directory: Path, progress: Progress | None = None) -> Recording:
    writer = StoreWriter(attrs={"producer": "torch.compile (fx graphs as text)", "ids": "names", "source": directory.name})
    skipped: list[str] = []
    ranks = [path for path in sorted(directory.iterdir()) if _RANK.fullmatch(path.name) and path.is_dir()]
    for place in [directory, *ranks]:
        rank = "" if place == directory else f"{place.name}/"
        paths = [path for path in place.iterdir() if not path.name.startswith(".") and path not in ranks]
        split = {match["function"] for path in paths if (match := _COMPILED.fullmatch(path.name)) and match["stage"].endswith(_SPLIT)}
        halves = _halves(paths)
        placed = sorted(((_place(path, split, halves), path) for path in paths), key=lambda each: (_order(each[0]), each[1].name))
        for done, ((module, _, stage), path) in enumerate(placed, 1):
            file = rank + path.name
            try:
                if not _is_text(path):
                    skipped.append(f"{file}: {'a directory' if path.is_dir() else 'not an fx graph'}")
                    continue
                program = program_of_text(Source(path).read_text(), module)
                writer.add(program, stage, pipeline=("torch.compile",), module=rank + module, attrs={"file": file})
            except SourceError as error:
                skipped.append(f"{file}: {error}")
            if progress and not ranks:
                progress(done / len(placed))
    return writer.finished(str(directory), skipped)


Place = tuple[str, tuple[int, int], str]


def _order(place: Place) -> tuple[str, tuple[int, int]]:
    module, at, _ = place
    return module.replace(" forward", " 1").replace(" backward", " 2"), at


Halves = dict[str, list[str]]
"""The inputs of forward and backward graphs, and the modules that have them."""


def _halves(paths: Iterable[Path]) -> Halves:
    halves: Halves = {}
    for path in sorted(paths):
        compiled = _COMPILED.fullmatch(path.name)
        half = next((half for half in ("forward", "backward") if compiled and compiled["stage"].lower().startswith(f"{half}_graph")), "")
        if compiled and half:
            number = compiled["number"].lstrip("0")
            halves.setdefault(_inputs(path), []).append(" ".join(filter(None, (compiled["function"], half, number))))
    return halves


def _inputs(path: Path) -> str:
    match = _SIGNATURE.search(_text(path, _MOST_INPUTS)) if _is_text(path) else None
    return match["inputs"] if match else ""


def _after_partition(path: Path, function: str, number: str, halves: Halves) -> str:
    """The half that a file of the post-grad passes belongs to. Both halves go through them, the forward one first; but depyf gives a
    backward that is compiled later the name of the function that was compiled last, so its inputs decide."""
    usual = f"{function} {'backward' if number else 'forward'}" if number in ("", "1") else ""
    candidates = halves.get(_inputs(path), [])
    if usual and (usual in candidates or not candidates):
        return usual
    return candidates[0] if len(candidates) == 1 else f"{function} post-grad {number or 0}"


def _place(path: Path, split: set[str], halves: Halves) -> Place:
    """The module that a file belongs to, where among its files, and the name of its pass. `split`: functions that are in pieces."""
    name = path.name
    if compiled := _COMPILED.fullmatch(name):
        function, stage, number = compiled["function"], compiled["stage"].replace(" ", "_").lower(), compiled["number"].lstrip("0")
        piece = f"{function} piece {number or 0}"
        if own := _OWN_PASS.fullmatch(compiled["stage"]):
            at = 2 * int(own["at"] or 1 << 20) + ("before", "after").index(own["when"])
            return piece, (list(_STAGES).index("before_post_grad"), 1 + at), f"{own['when']} {own['name']}"
        for at, (beginning, (half, title)) in enumerate(_STAGES.items()):
            if stage.startswith(beginning):
                if _POST_GRAD in beginning and function in split:
                    return piece, (at, 0), title
                if _POST_GRAD in beginning:
                    return _after_partition(path, function, number, halves), (at, 0), title
                return " ".join(filter(None, (function, half, number))), (at, 0), title
        return " ".join(filter(None, (function, number))), (len(_STAGES), 0), compiled["stage"]
    if step := _STEP.fullmatch(name):
        return step["module"], (("before", "after").index(step["when"]), 0), step["when"]
    if numbered := _NUMBERED.fullmatch(name):
        return "graph", (int(numbered["at"]), 0), numbered["name"]
    return path.stem, (0, 0), "graph"


def _is_text(path: Path) -> bool:
    if path.suffix not in (".py", ".txt") or not path.is_file():
        return False
    return is_fx_text(_text(path, _HEAD))


def _text(path: Path, most: int) -> str:
    """The beginning of a file."""
    with path.open("rb") as stream:
        return stream.read(most).decode(errors="replace")
