"""The widest empty part of Expand all of the compiled 24-layer HLO (`.bench/transformer24.hlo`, made by benchmarks/make_hlo.py).

    python benchmarks/empty_room.py [FILE] [--keep]

What is measured is the picture on the screen, in its columns: the widest part that is as high as a screen of 1600 × 1000 pixels at 50 %
and has no box in it, in steps of 400 pixels.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from results import Figure, keep

import opscope
from opscope.analysis.enrich import enrich
from opscope.render.wire.program import encode_wire

HERE = Path(__file__).resolve().parent
SCREEN_AT_HALF = 3200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, default=HERE.parent / ".bench" / "transformer24.hlo")
    parser.add_argument("--keep", action="store_true", help="append the figures to benchmarks/results/empty_room.jsonl")
    arguments = parser.parse_args()
    figures = list(measured(arguments.file))
    for figure in figures:
        print(f"{figure.name:40} {figure.value:6.0f} {figure.unit} ({'met' if figure.met else 'MISSED'}: target {figure.target})")
    if arguments.keep:
        keep("empty_room", figures)


def measured(source: Path) -> Iterator[Figure]:
    program = opscope.load(source)
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "program.bin")
        file.write_bytes(encode_wire(enrich(program)))
        command = ["node", "--max-old-space-size=8000", str(HERE / "layout" / "empty.mjs"), str(file)]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for line in printed.splitlines():
        row = json.loads(line)
        name = f"Expand all, {'folded' if row['fold'] else 'every repeat'}, widest empty part"
        yield Figure(name, row["gap"], "px", source.stem, row["boxes"], at_most=SCREEN_AT_HALF)


if __name__ == "__main__":
    main()
