"""A recording of a ten-line compiler: its program is a list of (name, operation, operand), and it has two passes.

python examples/passes_toy.py
opscope passes toy.opscope
"""

from __future__ import annotations

import opscope
from opscope import Program, ProgramBuilder, TensorType

Code = list[tuple[str, str, str]]


def show(code: Code) -> Program:
    """The compiler's graph as a Program, which is all that recording needs."""
    builder = ProgramBuilder("toy")
    graph = builder.graph("main")
    graph.node("x", "input", outputs=[TensorType("f32", (8,))], role="parameter")
    for name, op, operand in code:
        graph.node(name, op, [(operand, 0)], [TensorType("f32", (8,))])
    graph.outputs.append((code[-1][0], 0))
    return builder.build()


def drop_double_negation(code: Code) -> Code:
    result: Code = []
    for name, op, operand in code:
        if result and op == "negate" and result[-1][1] == "negate" and result[-1][0] == operand:
            before = result.pop()[2]
            code = [(n, o, before if a == name else a) for n, o, a in code]
        else:
            result.append((name, op, next(a for n, _, a in code if n == name)))
    return result


def fuse(code: Code) -> Code:
    return [("fused.1", "+".join(op for _, op, _ in code), "x")]


def main(path: str = "toy.opscope") -> None:
    code = [("a", "exp", "x"), ("b", "negate", "a"), ("c", "negate", "b"), ("d", "tanh", "c")]
    with opscope.record(path, overwrite=True, times=True) as rec:
        rec.set(producer="toy", ids="names")
        rec.snapshot(show(code), "as written")
        code = drop_double_negation(code)
        rec.snapshot(show(code), "drop double negation")
        rec.snapshot(show(fuse(code)), "fuse", provenance={"fused.1": [name for name, _, _ in code]})
    for snapshot in opscope.open_recording(path):
        print(f"{snapshot.index}  {snapshot.name:22} {[node.op for node in snapshot.program.main if node.role == 'op']}")


if __name__ == "__main__":
    main()
