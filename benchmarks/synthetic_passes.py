"""Compiler passes for `truth.py`: each changes the entry of a real program as XLA's pass of that kind does, with new names for what it
makes, and says exactly what became of every node."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from opscope.program import Graph, KnownDetails, Node, NodeKey, Program, TensorType, ValueRef

ELEMENTWISE = frozenset(
    ("add", "subtract", "multiply", "divide", "maximum", "minimum", "exponential", "log", "tanh", "rsqrt", "sqrt", "negate", "select",
     "convert", "power", "logistic", "compare")
)  # fmt: skip
_CHEAP = frozenset(("broadcast", "constant", "iota"))


class Truth(NamedTuple):
    """The program after a pass, what became of the nodes that it touched (of all others: they are still there), and the members of
    new fusions."""

    program: Program
    became: dict[NodeKey, frozenset[NodeKey]]
    fused: dict[NodeKey, frozenset[NodeKey]]


class Edit:
    """The entry of a program while a pass works on it."""

    def __init__(self, program: Program, rng: random.Random) -> None:
        self.program, self.rng = program, rng
        self.graph = program.main
        self.at: dict[str, list[Node]] = {node.id: [node] for node in self.graph}
        """What is at the place of each node now."""
        self.instead: dict[str, str] = {}
        """Users of a node take this one instead."""
        self.became: dict[str, list[NodeKey]] = {}
        self.fused: dict[NodeKey, frozenset[NodeKey]] = {}
        self.bodies: dict[str, Graph] = {}
        self._names = {node.id for graph in program for node in graph}
        self._next = 0

    def fresh(self, op: str) -> str:
        """A name that the program does not have yet, as XLA makes them."""
        while (name := f"{op}.{70_000 + self._next}") in self._names:
            self._next += 1
        self._names.add(name)
        return name

    def chosen(self, fits: Callable[[Node], bool], share: float = 0.5) -> Iterator[Node]:
        """Some of the nodes that fit."""
        return (node for node in self.graph if node.role == "op" and fits(node) and self.rng.random() < share)

    def users(self, node: Node) -> list[Node]:
        return [self.graph[id] for id in self.graph.users.get(node.id, ())]

    def replace(self, node: Node, nodes: list[Node]) -> None:
        """Put new nodes at the place of one; the last has its value."""
        self.at[node.id] = nodes
        self.instead[node.id] = nodes[-1].id
        self.became[node.id] = [self.key(new) for new in nodes]

    def key(self, node: Node) -> NodeKey:
        return self.graph.name, node.id

    def finish(self) -> Truth:
        nodes = [node._replace(inputs=tuple(map(self._resolved, node.inputs))) for now in self.at.values() for node in now]
        outputs = tuple(map(self._resolved, self.graph.outputs))
        main = replace(self.graph, nodes=_in_order(nodes, outputs), outputs=outputs, groupings={}, metrics={})
        graphs = {**{graph.name: replace(graph, metrics={}) for graph in self.program}, **self.bodies, main.name: main}
        became = {(self.graph.name, id): frozenset(keys) for id, keys in self.became.items()}
        return Truth(Program(self.program.name, graphs, main.name, self.program.attrs), became, self.fused)

    def _resolved(self, ref: ValueRef) -> ValueRef:
        name, index = ref
        while name in self.instead:
            name = self.instead[name]
        return name, index


def _in_order(nodes: list[Node], outputs: tuple[ValueRef, ...]) -> tuple[Node, ...]:
    """Operands before users, as XLA prints a computation, and otherwise as they are."""
    by_id = {node.id: node for node in nodes}
    done: dict[str, Node] = {}
    for start in nodes:
        stack = [start]
        while stack:
            node = stack[-1]
            waiting = [by_id[id] for id, _ in node.inputs if id not in done]
            if waiting:
                stack += waiting
            else:
                done[stack.pop().id] = node
    return tuple(done.values())


def cse(edit: Edit) -> None:
    """Equal instructions become the first of them."""
    first: dict[object, Node] = {}
    for node in edit.graph:
        if node.is_argument or node.calls:
            continue
        attrs = tuple((name, str(value)) for name, value in node.attrs.items() if not name.startswith("metadata."))
        kept = first.setdefault((node.op, tuple(map(edit._resolved, node.inputs)), node.outputs, attrs), node)
        if kept is not node:
            edit.at[node.id] = []
            edit.instead[node.id] = kept.id
            edit.became[node.id] = [edit.key(kept)]


def dce(edit: Edit) -> None:
    """A third of the results is not wanted any more, and what only they needed goes."""
    root = edit.graph[edit.graph.outputs[0][0]]
    kept = [(ref, type_) for ref, type_ in zip(root.inputs, root.outputs, strict=False) if edit.rng.random() < 0.67]
    edit.at[root.id] = [root._replace(inputs=tuple(ref for ref, _ in kept), outputs=tuple(type_ for _, type_ in kept))]
    live = {root.id}
    for node in reversed(edit.graph.nodes):
        if node.id in live:
            live.update(id for id, _ in (edit.at[node.id][0]).inputs)
        elif not node.is_argument:
            edit.at[node.id] = []
            edit.became[node.id] = []


def fusion(edit: Edit) -> None:
    """A chain of elementwise instructions becomes one fusion, whose body has copies of them."""
    taken: set[str] = set()
    for root in edit.chosen(lambda node: node.op in ELEMENTWISE, 0.3):
        members = [root]
        for node in members:
            for id, _ in node.inputs:
                producer = edit.graph[id]
                fits = producer.op in ELEMENTWISE and len(edit.users(producer)) == 1 and producer not in members
                if fits and producer.id not in taken and len(members) < 6:
                    members.append(producer)
        if root.id in taken or len(members) < 2:
            continue
        taken.update(node.id for node in members)
        _fuse(edit, members)


def _fuse(edit: Edit, members: list[Node]) -> None:
    root = members[0]
    body = f"fused_computation.{70_000 + len(edit.bodies)}"
    inner = {node.id: edit.fresh(node.op) for node in members}
    operands = list(dict.fromkeys(ref for node in members for ref in node.inputs if ref[0] not in inner))
    parameter = {ref: f"param_{i}.{body[18:]}" for i, ref in enumerate(operands)}
    nodes = [
        Node(name, "parameter", (), _types(edit, ref), "parameter", details=KnownDetails({"parameter_number": str(i)}, (), ()))
        for i, (ref, name) in enumerate(parameter.items())
    ]
    for node in sorted(members, key=lambda node: edit.graph.position[node.id]):
        inputs = tuple((inner[id], index) if id in inner else (parameter[id, index], 0) for id, index in node.inputs)
        nodes.append(node._replace(id=inner[node.id], inputs=inputs))
        edit.became[node.id] = [(body, inner[node.id])]
        edit.at[node.id] = []
    edit.bodies[body] = Graph(body, tuple(nodes), ((inner[root.id], 0),))
    made = Node(edit.fresh("fusion"), "fusion", tuple(operands), root.outputs, calls=(body,), details=root.details)
    edit.at[root.id] = [made]
    edit.instead[root.id] = made.id
    edit.fused[edit.key(made)] = frozenset(edit.key(node) for node in members)


def _types(edit: Edit, ref: ValueRef) -> tuple[TensorType, ...]:
    outputs = edit.graph[ref[0]].outputs
    return outputs if ref[1] < 0 else outputs[ref[1] : ref[1] + 1]


def library_call(edit: Edit) -> None:
    """A dot becomes a call of a library, which also returns its workspace."""
    for dot in edit.chosen(lambda node: node.op == "dot"):
        workspace = TensorType("s8", (4096,))
        call = dot._replace(id=edit.fresh("custom-call"), op="custom-call", outputs=(*dot.outputs, workspace))
        part = Node(edit.fresh("get-tuple-element"), "get-tuple-element", ((call.id, 0),), dot.outputs, details=dot.details)
        edit.replace(dot, [call, part])


def combining(edit: Edit) -> None:
    """Two instructions that take the same value become one with two results, as sibling fusions and collectives do."""
    taken: set[str] = set()
    for producer in edit.graph:
        users = [user for user in edit.users(producer) if user.op in ("dot", "reduce", "multiply") and user.id not in taken]
        pair = [user for user in users if user.op == users[0].op][:2]
        if len(pair) < 2 or edit.rng.random() < 0.5 or _depends(edit.graph, pair[0], pair[1]):
            continue
        taken.update(node.id for node in pair)
        inputs = tuple(ref for node in pair for ref in node.inputs)
        call = Node(edit.fresh("custom-call"), "custom-call", inputs, (pair[0].outputs[0], pair[1].outputs[0]), details=pair[0].details)
        parts = [
            Node(edit.fresh("get-tuple-element"), "get-tuple-element", ((call.id, i),), node.outputs[:1], details=node.details)
            for i, node in enumerate(pair)
        ]
        for i, node in enumerate(pair):
            edit.replace(node, [parts[i]])
            edit.became[node.id] = [edit.key(call), edit.key(parts[i])]
        edit.at[pair[0].id] = [call, parts[0]]


def _depends(graph: Graph, first: Node, second: Node) -> bool:
    """Whether the later node needs the earlier one."""
    needed, waiting = {second.id}, [second]
    while waiting:
        operands = [graph[id] for id, _ in waiting.pop().inputs if id not in needed and graph.position[id] >= graph.position[first.id]]
        needed.update(node.id for node in operands)
        waiting += operands
    return first.id in needed


def expansion(edit: Edit) -> None:
    """rsqrt(x) becomes 1 / sqrt(x); exponential(x) becomes power(e, x)."""
    for node in edit.chosen(lambda node: node.op in ("rsqrt", "exponential", "tanh")):
        one = Node(edit.fresh("constant"), "constant", (), node.outputs, "constant", details=KnownDetails({"value": "1"}, (), ()))
        root = node._replace(id=edit.fresh("sqrt"), op="sqrt")
        last = Node(edit.fresh("divide"), "divide", ((one.id, 0), (root.id, 0)), node.outputs, details=node.details)
        edit.replace(node, [one, root, last])


def folding(edit: Edit) -> None:
    """A transpose, or what else only rearranges an operand of a dot, becomes a property of the dot."""
    for view in edit.chosen(lambda node: node.op in ("transpose", "reshape", "convert", "broadcast")):
        users = edit.users(view)
        if len(users) != 1 or users[0].op != "dot":
            continue
        dot = edit.at[users[0].id][0]
        details = KnownDetails({**dot.attrs, "lhs_contracting_dims": "{0}", "folded": view.op}, dot.scope, dot.source)
        edit.at[dot.id] = [dot._replace(details=details)]
        edit.at[view.id] = []
        edit.instead[view.id] = view.inputs[0][0]
        edit.became[view.id] = [edit.key(dot)]


def duplication(edit: Edit) -> None:
    """A cheap instruction is made again for each of its users."""
    for node in edit.chosen(lambda node: node.op in _CHEAP):
        users = edit.users(node)
        if not 2 <= len(users) <= 6:
            continue
        copies = [node, *(node._replace(id=edit.fresh(node.op)) for _ in users[1:])]
        edit.at[node.id] = copies
        edit.became[node.id] = [edit.key(copy) for copy in copies]
        for user, copy in zip(users[1:], copies[1:], strict=True):
            for i, now in enumerate(edit.at[user.id]):
                inputs = tuple((copy.id, index) if id == node.id else (id, index) for id, index in now.inputs)
                edit.at[user.id][i] = now._replace(inputs=inputs)


def normalisation(edit: Edit) -> None:
    """Elementwise instructions work on one flat dimension, between bitcasts. The last one has the old value, as XLA's own labels say."""
    for node in edit.chosen(lambda node: node.op in ELEMENTWISE and len(node.outputs[0].shape) > 1, 0.3):
        sizes = [dim for dim in node.outputs[0].shape if isinstance(dim, int)]
        flat = TensorType(node.outputs[0].dtype, (_product(sizes),))
        bitcasts = [Node(edit.fresh("bitcast"), "bitcast", (ref,), (flat,), details=node.details) for ref in node.inputs]
        made = node._replace(id=edit.fresh(node.op), inputs=tuple((each.id, 0) for each in bitcasts), outputs=(flat,))
        back = Node(edit.fresh("bitcast"), "bitcast", ((made.id, 0),), node.outputs, details=node.details)
        edit.replace(node, [*bitcasts, made, back])
        edit.became[node.id] = [edit.key(made), edit.key(back)]


def _product(sizes: list[int]) -> int:
    product = 1
    for size in sizes:
        product *= size
    return product


def layout(edit: Edit) -> None:
    """Operands of dots are copied into another layout; nothing else changes."""
    for dot in edit.chosen(lambda node: node.op == "dot"):
        copies = [Node(edit.fresh("copy"), "copy", (ref,), _types(edit, ref), details=dot.details) for ref in dot.inputs]
        edit.at[dot.id] = [*copies, dot._replace(inputs=tuple((copy.id, 0) for copy in copies))]
        edit.became[dot.id] = [edit.key(dot)]


def moving(edit: Edit) -> None:
    """An elementwise instruction on a reshape becomes a reshape of the instruction."""
    taken: set[str] = set()
    for node in edit.chosen(lambda node: node.op in ELEMENTWISE and len(node.inputs) == 1):
        reshape = edit.graph[node.inputs[0][0]]
        if reshape.op not in ("reshape", "transpose", "broadcast") or len(edit.users(reshape)) != 1 or reshape.id in taken:
            continue
        taken |= {node.id, reshape.id}
        before = _types(edit, reshape.inputs[0])
        made = node._replace(id=edit.fresh(node.op), inputs=reshape.inputs, outputs=(replace_dtype(before[0], node.outputs[0]),))
        moved = reshape._replace(id=edit.fresh(reshape.op), inputs=((made.id, 0),), outputs=node.outputs)
        edit.replace(node, [made, moved])
        edit.became[node.id] = [edit.key(made)]
        edit.at[reshape.id] = []
        edit.became[reshape.id] = [edit.key(moved)]


def cloning(edit: Edit) -> None:
    """An operand is rewritten, and an instruction that takes it is made twice: one for its first user, one for the others."""
    taken: set[str] = set()
    for node in edit.chosen(lambda node: node.op in ELEMENTWISE and len(node.inputs) == 1):
        producer, users = edit.graph[node.inputs[0][0]], list(dict.fromkeys(user.id for user in edit.users(node)))
        if (
            producer.role != "op"
            or len(users) < 2
            or len(edit.users(producer)) != 1
            or not taken.isdisjoint((producer.id, node.id, *users))
        ):
            continue
        taken |= {producer.id, node.id, *users}
        made = producer._replace(id=edit.fresh("custom-call"), op="custom-call")
        edit.replace(producer, [made])
        clone = node._replace(id=f"{node.id}.clone", inputs=((made.id, 0),))
        edit.at[node.id] = [node, clone]
        edit.became[node.id] = [edit.key(node), edit.key(clone)]
        (user,) = edit.at[users[0]]
        edit.at[users[0]] = [user._replace(inputs=tuple((clone.id, index) if id == node.id else (id, index) for id, index in user.inputs))]


def exchanging(edit: Edit) -> None:
    """A sum has its operands in the other order, and both are calls of a library now."""
    taken: set[str] = set()
    for node in edit.chosen(lambda node: node.op in ("add", "multiply", "maximum")):
        terms = [edit.graph[id] for id, _ in node.inputs]
        fits = all(term.role == "op" and not term.calls and len(edit.users(term)) == 1 for term in terms)
        if not fits or terms[0] is terms[1] or not taken.isdisjoint((node.id, *(term.id for term in terms))):
            continue
        taken |= {node.id, *(term.id for term in terms)}
        edit.at[node.id] = [node._replace(inputs=node.inputs[::-1])]
        for term in terms:
            edit.replace(term, [term._replace(id=edit.fresh("custom-call"), op="custom-call")])


def replace_dtype(shape_of: TensorType, dtype_of: TensorType) -> TensorType:
    return TensorType(dtype_of.dtype, shape_of.shape, shape_of.layout)


PASSES: dict[str, Callable[[Edit], None]] = {
    "common subexpressions": cse,
    "dead code": dce,
    "fusion": fusion,
    "library call": library_call,
    "combining": combining,
    "expansion": expansion,
    "folding": folding,
    "duplication": duplication,
    "flat layout": normalisation,
    "layout copies": layout,
    "moving reshapes": moving,
    "cloning": cloning,
    "exchanged operands": exchanging,
}


def apply(name: str, program: Program, seed: int) -> Truth:
    edit = Edit(program, random.Random(seed))
    PASSES[name](edit)
    return edit.finish()
