"""XLA's own view of an HLO text, and ours in the same form: computation by computation, [opcode, operand positions].

XLA's parser runs in a process of its own, because it ends the process on some texts.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TypeAlias

from opscope.program import Program

Structure: TypeAlias = list[list[tuple[str, list[int]]]]

_SPELLINGS = {
    "exponential": "exp",
    "exponential-minus-one": "expm1",
    "log-plus-one": "log1p",
    "cosine": "cos",
    "sine": "sin",
    "opt-barrier": "optimizationbarrier",
    "popcnt": "populationcount",
}
"""Opcodes that XLA spells differently in its program and in its text."""

_ASK_XLA = """
import json, sys
from jaxlib._hlo import hlo_module_from_text
computations = []
for computation in hlo_module_from_text(sys.stdin.read()).computations():
    instructions = computation.instructions()
    at = {i.name: n for n, i in enumerate(instructions)}
    computations.append([[i.name, str(i.opcode).split(".")[-1], [at[o.name] for o in i.operands()]] for i in instructions])
print(json.dumps(computations))
"""


def xla_structure(path: Path) -> Structure:
    """The structure that XLA's parser finds in a file."""
    asked = subprocess.run([sys.executable, "-c", _ASK_XLA], input=path.read_text(), capture_output=True, text=True, check=False)
    assert asked.returncode == 0, f"XLA does not read {path.name}: {asked.stderr}"
    return plain_structure(json.loads(asked.stdout))


def plain_structure(computations: list[list[tuple[str, str, list[int]]]]) -> Structure:
    """XLA's listing without names, which it changes to make them unique."""
    return [[(opcode.removeprefix("k").lower(), operands) for _, opcode, operands in each] for each in computations]


def structure_of(program: Program) -> Structure:
    """Our program in the same form."""
    return [
        [(_SPELLINGS.get(n.op, n.op.replace("-", "")), [graph.position[name] for name, _ in n.inputs]) for n in graph] for graph in program
    ]
