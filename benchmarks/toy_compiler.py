"""A small compiler that says exactly what became of every operation, as ground truth for `recorded_truth.py`.

Its programs are stacks of layers, generated at random, with functions that are called. Its passes do what passes of real compilers do:
they inline, decompose, simplify, merge, fold, combine, flatten, call libraries, copy, fuse, and drop what is dead. An operation that a
pass leaves alone stays the same object; every other one says which operations it was made from: all that a rule matched, as in a fused
location of MLIR, and for an inlined one also the call.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from opscope import record
from opscope.program import NodeKey, Program, ProgramBuilder, Role, TensorType
from opscope.recording.model import Origin

Shape = tuple[int, ...]
ELEMENTWISE = frozenset(("add", "sub", "mul", "div", "exp", "tanh", "rsqrt", "max", "neg", "broadcast", "recip"))


@dataclass(eq=False)
class Op:
    kind: str
    inputs: list[Op]
    shape: Shape
    attrs: dict[str, str] = field(default_factory=dict)
    scope: tuple[str, ...] = ()
    made_from: tuple[Op, ...] = ()
    body: Code | None = None
    """What a call or a fusion runs."""


@dataclass(eq=False)
class Code:
    """A function: its operations in order, the first of which are its arguments, and its results."""

    ops: list[Op]
    results: list[Op]

    def users(self) -> dict[Op, list[Op]]:
        users: dict[Op, list[Op]] = {op: [] for op in self.ops}
        for op in self.ops:
            for each in op.inputs:
                users[each].append(op)
        return users

    def replace(self, instead: dict[Op, Op], new: dict[Op, list[Op]], gone: Iterable[Op] = ()) -> None:
        """Users of an operation take what is `instead` of it; `new` operations are put before one; what was replaced is `gone`."""

        def now(op: Op) -> Op:
            while op in instead:
                op = instead[op]
            return op

        dropped = {*instead, *gone}
        ops = [each for op in self.ops for each in (*new.get(op, ()), *([] if op in dropped else [op]))]
        made = {id(each) for several in new.values() for each in several}
        for op in ops:
            inputs = [now(each) for each in op.inputs]
            if id(op) in made or inputs != op.inputs:
                op.inputs = inputs
        self.results = [now(op) for op in self.results]
        self.ops = _in_order(ops)


def _in_order(ops: list[Op]) -> list[Op]:
    """Operands before users, and otherwise as they are."""
    done: dict[Op, None] = {}
    for start in ops:
        stack = [start]
        while stack:
            waiting = [each for each in stack[-1].inputs if each not in done]
            if waiting:
                stack += waiting
            else:
                done[stack.pop()] = None
    return list(done)


# Programs


class Author:
    """Writes a random program."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.ops: list[Op] = []
        self.scope: tuple[str, ...] = ()
        self.scopes = seed % 2 == 0
        """Every other program has no scopes, so that only its structure is known."""

    def op(self, kind: str, inputs: list[Op], shape: Shape, **attrs: str) -> Op:
        self.ops.append(Op(kind, inputs, shape, attrs, self.scope if self.scopes else ()))
        return self.ops[-1]

    def norm(self, x: Op) -> Op:
        scale = self.op("weight", [], x.shape[-1:])
        return self.op("mul", [self.op("norm", [x], x.shape), self.op("broadcast", [scale], x.shape)], x.shape)

    def linear(self, x: Op, width: int) -> Op:
        weight = self.op("weight", [], (width, x.shape[-1]))
        turned = self.op("transpose", [weight], weight.shape[::-1])
        product = self.op("matmul", [x, turned], (*x.shape[:-1], width))
        if self.chance.random() < 0.6:
            bias = self.op("broadcast", [self.op("weight", [], (width,))], product.shape)
            product = self.op("add", [product, bias], product.shape)
        return product

    def attention(self, x: Op) -> Op:
        batch, length, width = x.shape
        query, key, value = (self.linear(x, width) for _ in range(3))
        turned = self.op("transpose", [key], (batch, width, length))
        scores = self.op("matmul", [query, turned], (batch, length, length))
        scale = self.op("broadcast", [self.op("constant", [], (), value=str(width**0.5))], scores.shape)
        shares = self.op("softmax", [self.op("div", [scores, scale], scores.shape)], scores.shape)
        return self.linear(self.op("matmul", [shares, value], x.shape), width)

    def mlp(self, x: Op, activation: Code) -> Op:
        wide = self.linear(x, 4 * x.shape[-1])
        active = self.op("call", [wide], wide.shape)
        active.body = activation
        if self.chance.random() < 0.5:  # written by hand once more, as people do
            one = self.op("broadcast", [self.op("constant", [], (), value="1")], wide.shape)
            active = self.op("mul", [active, one], wide.shape)
        return self.linear(active, x.shape[-1])


def activation(shape: Shape) -> Code:
    """x * tanh(x * 0.8 + x * x), where the two products with x are not merged yet."""
    x = Op("argument", [], shape)
    factor = Op("constant", [], (), {"value": "0.8"})
    wide = Op("broadcast", [factor], shape)
    scaled, square, again = Op("mul", [x, wide], shape), Op("mul", [x, x], shape), Op("mul", [x, x], shape)
    total = Op("add", [Op("add", [scaled, square], shape), again], shape)
    result = Op("mul", [x, Op("tanh", [total], shape)], shape)
    return Code(_in_order([x, factor, wide, scaled, square, again, total, result]), [result])


def write(seed: int) -> Code:
    author = Author(seed)
    chance = author.chance
    width, length = 16 * chance.randint(1, 4), 8 * chance.randint(1, 4)
    start = x = author.op("argument", [], (2, length, width))
    active = activation((2, length, 4 * width))
    for layer in range(chance.randint(2, 4)):
        author.scope = (f"layer.{layer}", "attention")
        x = author.op("add", [x, author.attention(author.norm(x))], x.shape)
        author.scope = (f"layer.{layer}", "mlp")
        x = author.op("add", [x, author.mlp(author.norm(x), active)], x.shape)
    author.scope = ("head",)
    x = author.op("neg", [author.op("neg", [author.linear(x, 40)], (2, length, 40))], (2, length, 40))
    unused = author.op("exp", [x], x.shape)
    author.op("sum", [unused], x.shape[:-1])
    return Code(author.ops, [author.op("softmax", [x], x.shape), author.op("max", [start, start], start.shape)])


# Passes


def inline(code: Code) -> None:
    instead, new = {}, {}
    for call in [op for op in code.ops if op.kind == "call" and op.body]:
        assert call.body is not None
        copies: dict[Op, Op] = dict(zip([op for op in call.body.ops if op.kind == "argument"], call.inputs, strict=True))
        made = []
        for op in call.body.ops:
            if op not in copies:
                copies[op] = Op(op.kind, [copies[each] for each in op.inputs], op.shape, op.attrs, call.scope, (op, call))
                made.append(copies[op])
        instead[call], new[call] = copies[call.body.results[0]], made
    code.replace(instead, new)


def decompose(code: Code) -> None:
    """softmax and norm become the operations that compute them."""
    instead, new = {}, {}
    for op in code.ops:
        if op.kind not in ("softmax", "norm"):
            continue
        made: list[Op] = []

        def make(kind: str, *inputs: Op, op: Op = op, made: list[Op] = made, shape: Shape | None = None) -> Op:
            made.append(Op(kind, list(inputs), op.shape if shape is None else shape, {}, op.scope, (op,)))
            return made[-1]

        (x,) = op.inputs
        if op.kind == "softmax":
            largest = make("broadcast", make("reduce-max", x, shape=op.shape[:-1]))
            power = make("exp", make("sub", x, largest))
            make("div", power, make("broadcast", make("sum", power, shape=op.shape[:-1])))
        else:
            squares = make("sum", make("mul", x, x), shape=op.shape[:-1])
            make("mul", x, make("broadcast", make("rsqrt", squares, shape=op.shape[:-1])))
        instead[op], new[op] = made[-1], made
    code.replace(instead, new)


def simplify(code: Code) -> None:
    """x * 1, -(-x) and max(x, x) are x; a transposed transpose is nothing. What they were made of is dropped when it is dead."""
    instead = {}
    for op in code.ops:
        if op.kind == "mul" and op.inputs[1].kind == "broadcast" and op.inputs[1].inputs[0].attrs.get("value") == "1":
            instead[op] = op.inputs[0]
        elif op.kind in ("neg", "transpose") and op.inputs[0].kind == op.kind:
            instead[op] = op.inputs[0].inputs[0]
        elif op.kind == "max" and op.inputs[0] is op.inputs[1]:
            instead[op] = op.inputs[0]
    code.replace(instead, {})
    drop_dead(code)


def drop_dead(code: Code) -> None:
    live = set(code.results)
    for op in reversed(code.ops):
        if op in live:
            live.update(op.inputs)
    code.ops = [op for op in code.ops if op in live or op.kind in ("argument", "weight")]


def merge_equal(code: Code) -> None:
    first: dict[object, Op] = {}
    instead: dict[Op, Op] = {}
    for op in code.ops:
        inputs = tuple(instead.get(each, each) for each in op.inputs)
        if op.kind not in ("argument", "weight", "call"):
            kept = first.setdefault((op.kind, inputs, op.shape, *sorted(op.attrs.items())), op)
            if kept is not op:
                instead[op] = kept
                kept.made_from += (op,)
    code.replace(instead, {})


def multiply_instead(code: Code) -> None:
    """A division by a broadcast constant becomes a product with its reciprocal."""
    instead, new = {}, {}
    for op in code.ops:
        if op.kind == "div" and op.inputs[1].kind == "broadcast" and op.inputs[1].inputs[0].kind == "constant":
            wide, number = op.inputs[1], op.inputs[1].inputs[0]
            inverse = Op("constant", [], (), {"value": str(1 / float(number.attrs["value"]))}, op.scope, (number, op))
            made = [inverse, Op("broadcast", [inverse], op.shape, {}, op.scope, (wide, op))]
            made.append(Op("mul", [op.inputs[0], made[-1]], op.shape, {}, op.scope, (op,)))
            instead[op], new[op] = made[-1], made
    code.replace(instead, new)
    drop_dead(code)


def fold_transposes(code: Code) -> None:
    """A transpose with one user, a matmul, becomes a property of it."""
    users = code.users()
    instead: dict[Op, Op] = {}
    new: dict[Op, list[Op]] = {}
    gone: list[Op] = []
    for op in code.ops:
        if op.kind == "matmul" and op.inputs[1].kind == "transpose" and len(users[op.inputs[1]]) == 1:
            turned = op.inputs[1]
            made = Op("matmul", [op.inputs[0], turned.inputs[0]], op.shape, {"turned": "1"}, op.scope, (turned, op))
            instead[op], new[op] = made, [made]
            gone.append(turned)
    code.replace(instead, new, gone)


def combine(code: Code) -> None:
    """Products of one value with several weights become one product and slices of it."""
    users = code.users()
    instead: dict[Op, Op] = {}
    new: dict[Op, list[Op]] = {}
    for op in list(code.ops):
        products = [each for each in users[op] if each.kind == "matmul" and each.inputs[0] is op and each.inputs[1].kind == "weight"]
        if len(products) < 2:
            continue
        width = sum(each.shape[-1] for each in products)
        joined = Op("concat", [each.inputs[1] for each in products], (width, op.shape[-1]), {}, products[0].scope, tuple(products))
        shape = (*op.shape[:-1], width)
        whole = Op("matmul", [op, joined], shape, {"turned": "1"}, products[0].scope, tuple(products))
        slices = [Op("slice", [whole], each.shape, {"part": str(i)}, each.scope, (each,)) for i, each in enumerate(products)]
        instead.update(zip(products, slices, strict=True))
        new[products[0]] = [joined, whole, *slices]
    code.replace(instead, new)


def flatten(code: Code) -> None:
    """Products of two dimensions only, between reshapes; the last one has the old value."""
    instead, new = {}, {}
    for op in code.ops:
        if op.kind == "matmul" and len(op.shape) == 3 and len(op.inputs[1].shape) == 2:
            rows = op.shape[0] * op.shape[1]
            flat = Op("reshape", [op.inputs[0]], (rows, op.inputs[0].shape[-1]), {}, op.scope, ())
            made = Op("matmul", [flat, op.inputs[1]], (rows, op.shape[-1]), op.attrs, op.scope, (op,))
            back = Op("reshape", [made], op.shape, {}, op.scope, (op,))
            instead[op], new[op] = back, [flat, made, back]
    code.replace(instead, new)


def call_library(code: Code) -> None:
    """A product becomes a call of a library, which returns its workspace too."""
    instead, new = {}, {}
    for op in code.ops:
        if op.kind == "matmul" and len(op.shape) == 2:
            call = Op("gemm", op.inputs, op.shape, {**op.attrs, "target": "blas"}, op.scope, (op,))
            part = Op("part", [call], op.shape, {"index": "0"}, op.scope, (op,))
            instead[op], new[op] = part, [call, part]
    code.replace(instead, new)


def copy_cheap(code: Code) -> None:
    """Every user of a broadcast gets its own."""
    users = code.users()
    new: dict[Op, list[Op]] = {}
    for op in [each for each in code.ops if each.kind == "broadcast" and len(users[each]) > 1]:
        for user in dict.fromkeys(users[op][1:]):
            copy = Op("broadcast", op.inputs, op.shape, op.attrs, op.scope, (op,))
            user.inputs = [copy if each is op else each for each in user.inputs]
            new.setdefault(user, []).append(copy)
    code.replace({}, new)


def add_layouts(code: Code) -> None:
    """Operands of batched products are copied into another layout."""
    new = {}
    for op in code.ops:
        if op.kind == "matmul":
            new[op] = [Op("copy", [each], each.shape, {"layout": "packed"}, op.scope, ()) for each in op.inputs]
            op.inputs = list(new[op])
    code.replace({}, new)


def fuse(code: Code) -> None:
    """Elementwise operations with one user go into the fusion of that user, with what it was made of."""
    users = code.users()
    group: dict[Op, Op] = {}
    for op in reversed(code.ops):
        if op.kind in ELEMENTWISE:
            into = {group.get(user) for user in users[op]}
            alone = len(into) == 1 and op not in code.results
            group[op] = next(iter(into)) or op if alone else op
    members: dict[Op, list[Op]] = {}
    for op in code.ops:
        if op in group:
            members.setdefault(group[op], []).append(op)
    instead, new, gone = {}, {}, []
    for root, inside in members.items():
        if len(inside) < 2:
            continue
        outside = list(dict.fromkeys(each for op in inside for each in op.inputs if each not in inside))
        inner = {each: Op("argument", [], each.shape) for each in outside}
        body = list(inner.values())
        for op in inside:
            inner[op] = Op(op.kind, [inner[each] for each in op.inputs], op.shape, op.attrs, op.scope, (op,))
            body.append(inner[op])
        fusion = Op("fusion", outside, root.shape, {}, root.scope, (), Code(body, [inner[root]]))
        instead[root], new[root] = fusion, [fusion]
        gone += [op for op in inside if op is not root]
    code.replace(instead, new, gone)


PASSES: tuple[Callable[[Code], None], ...] = (
    inline, decompose, simplify, merge_equal, multiply_instead, fold_transposes, combine, flatten, copy_cheap, call_library, add_layouts,
    drop_dead, fuse,
)  # fmt: skip


# Recording


class Printer:
    """Programs with names: those that an operation got when it was made, or new numbers after every pass."""

    def __init__(self, stable: bool) -> None:
        self._stable = stable
        self._names: dict[Op, str] = {}
        self._graphs: dict[int, str] = {}
        self._kept: list[Code] = []

    def program(self, code: Code) -> tuple[Program, dict[Op, NodeKey]]:
        builder = ProgramBuilder("toy")
        keys: dict[Op, NodeKey] = {}
        number = 0
        for each in (*dict.fromkeys(op.body for op in code.ops if op.body), code):
            graph = builder.graph(self._graph(each, each is code))
            for op in each.ops:
                number += 1
                name = self._names.setdefault(op, f"{op.kind}.{len(self._names)}") if self._stable else f"v{number}"
                keys[op] = (graph.name, name)
                role: Role = "parameter" if op.kind in ("argument", "weight") else "constant" if op.kind == "constant" else "op"
                inputs = [(keys[operand][1], 0) for operand in op.inputs]
                calls = [self._graph(op.body, False)] if op.body else []
                graph.node(name, op.kind, inputs, [TensorType("f32", op.shape)], role=role, attrs=op.attrs, scope=op.scope, calls=calls)
            graph.outputs += [(keys[op][1], 0) for op in each.results]
        return builder.build(), keys

    def _graph(self, code: Code, is_entry: bool) -> str:
        if is_entry:
            return "main"
        self._kept.append(code)
        return self._graphs.setdefault(id(code), f"body.{len(self._graphs)}")


def _all(code: Code) -> Iterator[Op]:
    yield from code.ops
    for body in dict.fromkeys(op.body for op in code.ops if op.body):
        yield from body.ops


def compile_and_record(seed: int, path: Path, stable: bool) -> None:
    """Compile a program, and record every pass with what became of every operation: `identity` of what stayed, `rewrite` of the rest."""
    code, printer = write(seed), Printer(stable)
    with record(path, overwrite=True) as rec:
        rec.set(producer="toy", ids="names" if stable else "positions")
        program, before = printer.program(code)
        rec.snapshot(program, "as written")
        for each in PASSES:
            each(code)
            program, after = printer.program(code)
            origins = []
            for op in _all(code):
                if op in before:
                    origins.append(Origin((before[op],), (after[op],), "identity"))
                origins += [Origin((before[one],), (after[op],)) for one in op.made_from if one in before]
            rec.snapshot(program, each.__name__, provenance=origins)
            before = after
