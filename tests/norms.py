"""Two versions of a small transformer: the second has another normalisation, wider weights and one more operation in each layer."""

from __future__ import annotations

from opscope.program import Program, ProgramBuilder, TensorType

LAYERS = 4
X = TensorType("f32", (8, 64))


def first() -> Program:
    return _model("layer_norm", 64)


def second() -> Program:
    return _model("rms_norm", 128)


def _model(norm: str, width: int) -> Program:
    builder = ProgramBuilder("model", "main")
    main = builder.graph("main")
    main.node("x", "parameter", outputs=[X], role="input")
    last = "x"
    for layer in (f"layers.{i}" for i in range(LAYERS)):

        def put(id: str, op: str, *operands: str, layer: str = layer, module: str = "", type: TensorType = X) -> str:
            scope = (layer, module) if module else (layer,)
            inputs = [(operand, 0) for operand in operands]
            main.node(f"{layer}.{id}", op, inputs, [type], scope=scope, role="parameter" if op == "parameter" else "op")
            return f"{layer}.{id}"

        weight = put("mlp.weight", "parameter", module="mlp", type=TensorType("f32", (64, width)))
        if norm == "layer_norm":
            mean = put("mean", "mean", last, module=norm)
            centred = put("subtract", "subtract", last, mean, module=norm)
            normal = put("divide", "divide", centred, put("variance", "variance", centred, module=norm), module=norm)
        else:
            normal = put("rms", "rms_norm", last, module=norm)
        hidden = put("relu", "relu", put("dot", "dot", normal, weight, module="mlp"), module="mlp")
        if norm == "rms_norm":
            hidden = put("scale", "multiply", hidden, hidden, module="mlp")
        last = put("add", "add", hidden, last)
    main.outputs.append((last, 0))
    return builder.build()
