"""One helper that tests a reader with one sample file, four ways.

After an intended change, rewrite the goldens with `UPDATE_GOLDEN=1 pytest tests/readers/test_samples.py` and read the diff.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from opscope.errors import SourceError
from opscope.native import dumps, loads
from opscope.program import Program
from opscope.readers import find_reader, read
from opscope.readers.source import Source

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
DAMAGES = 60
_MLIR_PROCESSES = 4


def check_reader(sample: Path, directory: Path) -> None:
    """Check the reader that takes `sample`; `directory` is an empty one for damaged copies.

    1. It reads as its golden says: ids, ops, edges with output indices, types, attributes, scopes and source frames.
    2. JSON of it reads back equal.
    3. The file is recognized without its suffix.
    4. A truncated or damaged file still reads or gives a SourceError with a sentence; nothing else.
    """
    programs = read(Source(sample))
    _equals_golden(sample, programs)
    assert loads(dumps(programs)) == programs, "JSON does not read back equal"
    renamed = directory / f"{sample.stem}.unknown"
    shutil.copyfile(sample, renamed)
    assert find_reader(Source(renamed)).name == find_reader(Source(sample)).name, "the suffix decides, not the content"
    assert list(map(_graphs, read(Source(renamed)))) == list(map(_graphs, programs))
    _survives_damage(sample, directory)


def _graphs(program: Program) -> str:
    """The text without the first line, because a program may be named after its file."""
    return text_of(program).partition("\n")[2]


def text_of(program: Program) -> str:
    """Everything that a reader returns for a source, as lines that people can check."""
    return "\n".join(_lines(program))


def _lines(program: Program) -> Iterator[str]:
    yield f"module {program.name}, entry {program.entry}"
    yield from (f"  {key} = {value}" for key, value in program.attrs.items())
    for graph in program:
        yield ""
        yield f"{graph.name}"
        yield from (f"  {key} = {value}" for key, value in graph.attrs.items())
        for node in graph:
            layouts = " ".join(output.layout for output in node.outputs if output.layout)
            yield f"  {node.role} {node}" + (f"  layout {layouts}" if layouts else "")
            if node.scope:
                yield f"      in {' / '.join(node.scope)}"
            if node.source:
                yield f"      at {', '.join(map(str, node.source))}"
        yield f"  returns {', '.join(f'{name}#{index}' for name, index in graph.outputs)}"


def _equals_golden(sample: Path, programs: list[Program]) -> None:
    golden = GOLDEN / sample.parent.name / f"{sample.stem}.txt"
    text = "\n\n\n".join(text_of(program) for program in programs) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text, "utf-8")
    assert text == golden.read_text("utf-8")


def _survives_damage(sample: Path, directory: Path) -> None:
    reader = find_reader(Source(sample)).name
    damaged = list(_damaged(sample, directory))
    if reader == "mlir":
        # Each file is read in a process of its own, which imports JAX: a few of them, and the others in forks of one process.
        _read_in_forks(damaged[_MLIR_PROCESSES:])
        damaged = damaged[:_MLIR_PROCESSES]
    for path in damaged:
        try:
            read(Source(path), reader)
        except SourceError as error:
            assert str(error).strip() and "\n" not in str(error), f"not one sentence: {error}"


def _damaged(sample: Path, directory: Path) -> Iterator[Path]:
    """Truncated files and changed bytes, at positions derived from the file name, so that every run damages the same ones."""
    content = sample.read_bytes()
    dice = random.Random(sample.name)
    for number in range(DAMAGES):
        place = dice.randrange(len(content))
        changed = bytes(dice.randrange(256) for _ in range(dice.choice((1, 1, 4))))
        damaged = content[:place] if number % 3 == 0 else content[:place] + changed + content[place + len(changed) :]
        path = directory / f"{number}{sample.suffix}"
        path.write_bytes(damaged)
        yield path


def _read_in_forks(damaged: list[Path]) -> None:
    """Reads MLIR as the reader's process does, which may crash: the reader has a sentence for that."""
    subprocess.run([sys.executable, Path(__file__).with_name("mlir_forks.py"), *damaged], check=True)
    for path in damaged:
        answer = path.with_suffix(".answer")
        if not answer.exists():
            continue
        kind, content = answer.read_bytes()[:1], answer.read_bytes()[1:]
        if kind == b"+":
            loads(content.decode())
        else:
            error = SourceError(**json.loads(content))
            assert kind == b"-" and str(error).strip() and "\n" not in str(error), f"not one sentence: {error}"
