"""A transformer's training step as a Program of any size: forward, loss, backward, update, with groups.

It has what makes such graphs hard to lay out: the backward half uses every layer's activations again at the other end of the graph, and
the mask is used everywhere.
"""

from __future__ import annotations

from opscope.program import GraphBuilder, Program, ProgramBuilder, TensorType

NODES_PER_LAYER = 66


def training_graph(nodes: int) -> Program:
    """A program with about this many nodes (at least one layer)."""
    layers = max(1, round(nodes / NODES_PER_LAYER))
    builder = ProgramBuilder(f"train_{nodes}")
    _Step(builder.graph("main"), layers).write()
    return builder.build()


class _Step:
    def __init__(self, graph: GraphBuilder, layers: int) -> None:
        self.graph = graph
        self.layers = layers
        self.hidden = TensorType("f32", (8, 256, 512))
        self.wide = TensorType("f32", (8, 256, 2048))
        self.scores = TensorType("f32", (8, 8, 256, 256))
        self.saved: dict[str, str] = {}

    def op(self, name: str, op: str, inputs: list[str], type: TensorType, scope: tuple[str, ...], **attrs: object) -> str:
        self.graph.node(
            name, op, [(operand, 0) for operand in inputs], [type], scope=scope, attrs={"op_name": "/".join((*scope, op)), **attrs}
        )
        return name

    def parameter(self, name: str, type: TensorType, scope: tuple[str, ...]) -> str:
        self.graph.node(name, "parameter", outputs=[type], role="parameter", scope=scope, attrs={"label": name})
        return name

    def write(self) -> None:
        graph = self.graph
        graph.node("tokens", "parameter", outputs=[TensorType("s32", (8, 256))], role="parameter")
        graph.node("mask", "parameter", outputs=[TensorType("pred", (256, 256))], role="parameter")
        table = self.parameter("embedding", TensorType("f32", (32000, 512)), ("forward", "embed"))
        x = self.op("embed.gather", "gather", [table, "tokens"], self.hidden, ("forward", "embed"))
        for layer in range(self.layers):
            x = self.forward(layer, x)
        x = self.op("head.norm", "layer_norm", [x], self.hidden, ("forward", "head"))
        logits = self.op("head.dot", "dot", [x, table], TensorType("f32", (8, 256, 32000)), ("forward", "head"))
        loss = self.op("loss", "reduce", [logits, "tokens"], TensorType("f32"), ("forward", "loss"))
        d = self.op("loss.grad", "subtract", [logits, loss], TensorType("f32", (8, 256, 32000)), ("backward", "loss"))
        d = self.op("head.dot.grad", "dot", [d, table], self.hidden, ("backward", "head"))
        updates: list[str] = []
        for layer in reversed(range(self.layers)):
            d = self.backward(layer, d, updates)
        graph.node("output", "tuple", [(each, 0) for each in [loss, *updates]], [TensorType("f32")], role="output")
        graph.outputs.append(("output", -1))

    def forward(self, layer: int, x: str) -> str:
        at = ("forward", f"layer_{layer}: Block")
        p = f"l{layer}."
        attention, mlp = (*at, "attention: SelfAttention"), (*at, "mlp: MLP")
        weight, wide = TensorType("f32", (512, 512)), TensorType("f32", (512, 2048))
        n = self.op(p + "norm1", "layer_norm", [x, self.parameter(p + "scale1", TensorType("f32", (512,)), at)], self.hidden, at)
        q, k, v = (
            self.op(
                p + "reshape_" + s,
                "reshape",
                [self.op(p + "dot_" + s, "dot", [n, self.parameter(p + "w" + s, weight, attention)], self.hidden, attention)],
                TensorType("f32", (8, 8, 256, 64)),
                attention,
            )
            for s in "qkv"
        )
        s = self.op(p + "scores", "dot", [q, k], self.scores, attention)
        s = self.op(p + "scale", "multiply", [s, self.op(p + "c", "constant", [], TensorType("f32"), attention)], self.scores, attention)
        s = self.op(p + "masked", "select", ["mask", s], self.scores, attention)
        s = self.op(p + "softmax", "softmax", [s], self.scores, attention, dim=-1)
        c = self.op(p + "context", "dot", [s, v], self.hidden, attention)
        o = self.op(p + "dot_o", "dot", [c, self.parameter(p + "wo", weight, attention)], self.hidden, attention)
        r = self.op(p + "add1", "add", [x, o], self.hidden, at)
        m = self.op(p + "norm2", "layer_norm", [r, self.parameter(p + "scale2", TensorType("f32", (512,)), at)], self.hidden, at)
        u = self.op(p + "dot_up", "dot", [m, self.parameter(p + "wup", wide, mlp)], self.wide, mlp)
        g = self.op(p + "gelu", "gelu", [u], self.wide, mlp)
        w = self.op(p + "dot_down", "dot", [g, self.parameter(p + "wdown", wide, mlp)], self.hidden, mlp)
        return self.op(p + "add2", "add", [r, w], self.hidden, at)

    def backward(self, layer: int, d: str, updates: list[str]) -> str:
        at = ("backward", f"layer_{layer}: Block")
        p, b = f"l{layer}.", f"l{layer}.grad."
        attention, mlp = (*at, "attention: SelfAttention"), (*at, "mlp: MLP")
        weight, wide = TensorType("f32", (512, 512)), TensorType("f32", (512, 2048))

        def grad(name: str, op: str, inputs: list[str], type: TensorType, scope: tuple[str, ...]) -> str:
            return self.op(b + name, op, inputs, type, scope)

        def weight_grad(name: str, of: str, d: str, type: TensorType, scope: tuple[str, ...]) -> None:
            g = grad("d" + name, "dot", [of, d], type, scope)
            updates.append(self.op(f"l{layer}.update.{name}", "subtract", [p + name, g], type, ("update", f"layer_{layer}: Block")))

        weight_grad("wdown", p + "gelu", d, wide, mlp)
        g = grad("gelu", "multiply", [grad("down", "dot", [d, p + "wdown"], self.wide, mlp), p + "dot_up"], self.wide, mlp)
        weight_grad("wup", p + "norm2", g, wide, mlp)
        n = grad("norm2", "multiply", [grad("up", "dot", [g, p + "wup"], self.hidden, mlp), p + "add1"], self.hidden, at)
        r = grad("add1", "add", [d, n], self.hidden, at)
        weight_grad("wo", p + "context", r, weight, attention)
        c = grad("context", "dot", [r, p + "wo"], self.hidden, attention)
        s = grad(
            "softmax",
            "multiply",
            [grad("s", "dot", [c, p + "reshape_v"], self.scores, attention), p + "softmax"],
            self.scores,
            attention,
        )
        s = grad("sum", "subtract", [s, grad("reduce", "reduce", [s], self.scores, attention)], self.scores, attention)
        s = grad("masked", "select", ["mask", s], self.scores, attention)
        parts = []
        for name, other in (("q", "reshape_k"), ("k", "reshape_q"), ("v", "softmax")):
            t = grad("dot_" + name, "dot", [c if name == "v" else s, p + other], self.hidden, attention)
            weight_grad("w" + name, p + "norm1", t, weight, attention)
            parts.append(grad("in_" + name, "dot", [t, p + "w" + name], self.hidden, attention))
        n = grad("qkv", "add", [grad("qk", "add", parts[:2], self.hidden, attention), parts[2]], self.hidden, attention)
        n = grad("norm1", "multiply", [n, p + "norm2"], self.hidden, at)
        return grad("out", "add", [r, n], self.hidden, at)
