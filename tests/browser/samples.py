"""Programs for the viewer's tests: a small network with everything a control can act on, and programs in bad weather."""

from __future__ import annotations

from opscope.program import Frame, Link, Program, ProgramBuilder, TensorType

X = TensorType("f32", (32, 64))
W = TensorType("bf16", (64, 64))


def network(layers: int = 3) -> Program:
    """Layers that repeat, a fusion with a body, a loop, constants, attributes, source lines, and a second grouping."""
    builder = ProgramBuilder("network", "main")
    body = builder.graph("fused")
    body.node("a", "parameter", outputs=[X], role="parameter")
    body.node("inner", "tanh", [("a", 0)], [X])
    body.node("twice", "multiply", [("inner", 0), ("inner", 0)], [X])
    body.outputs.append(("twice", 0))
    main = builder.graph("main")
    main.node("x", "parameter", outputs=[X], role="parameter", attrs={"label": "x"})
    last = "x"
    for i in range(layers):
        scope = (f"layer_{i}: Block",)
        main.node(f"w{i}", "parameter", outputs=[W], role="parameter", scope=scope)
        main.node(f"dot.{i}", "dot", [(last, 0), (f"w{i}", 0)], [X], scope=(*scope, "attention"), attrs=_attrs(i), source=_frames(i))
        main.node(f"relu.{i}", "maximum", [(f"dot.{i}", 0)], [X], scope=(*scope, "attention"))
        main.node(f"add.{i}", "add", [(last, 0), (f"relu.{i}", 0)], [X], scope=scope, links=[Link("backward_of", f"dot.{i}")])
        last = f"add.{i}"
    main.node("fusion.1", "fusion", [(last, 0)], [X], calls=["fused"], control=["x"])
    main.node("sum", "reduce", [("fusion.1", 0)], [TensorType("f32")])
    main.outputs.append(("sum", 0))
    for node in main.nodes:
        main.group("phase", node.id, ("early",) if node.id.endswith((".0", "x")) else ("late",))
    return builder.build()


def _attrs(i: int) -> dict[str, object]:
    return {
        "backend_config": '{"gemm":{"algorithm":' + str(i) + ',"tiles":[{"m":64},{"n":32}]}}',
        "cost": 1.5 * (i + 1),
        "index": i,
    }


def _frames(i: int) -> list[Frame]:
    return [Frame("/home/me/project/model.py", 40 + i, "attention"), Frame("/home/me/project/train.py", 7, "step")]


def one_graph(name: str = "plain") -> tuple[ProgramBuilder, object]:
    builder = ProgramBuilder(name, "main")
    return builder, builder.graph("main")


def empty() -> Program:
    builder = ProgramBuilder("empty", "main")
    builder.graph("main")
    return builder.build()


def hub(inputs: int) -> Program:
    """One node with very many inputs."""
    builder = ProgramBuilder("hub", "main")
    main = builder.graph("main")
    for i in range(inputs):
        main.node(f"p{i}", "parameter", outputs=[X], role="parameter")
    main.node("all", "concatenate", [(f"p{i}", 0) for i in range(inputs)], [X])
    main.outputs.append(("all", 0))
    return builder.build()


HOSTILE = '</script><img src=x onerror="window.broken=1"><!--'
AWKWARD = {
    "long": "n" * 10_000,
    "right to left": "שכבה_עליונה.مرحبا",
    "emoji": "🧠🔥.layer_👩‍💻",
    "markup": HOSTILE,
    "quotes": "a'b\"c`d\\e&amp;<b>",
    "control": "tab\there\u2028line\u0007bell",
}


def named(name: str) -> Program:
    """A name everywhere a name can be: program, graph, node, op, group, attribute, type, source."""
    builder = ProgramBuilder(name, name)
    main = builder.graph(name)
    kind = TensorType(name[:200], (1,))
    main.node(name, name, outputs=[kind], scope=(name, name), attrs={name: name, "value": [name]}, source=[Frame(name, 1, name)])
    main.node("next " + name, "add", [(name, 0)], [kind], scope=(name,), role="constant", attrs={"value": name})
    main.node("third", "add", [("next " + name, 0), (name, 0)], [kind])
    main.outputs.append(("third", 0))
    main.group(name, name, (name,))
    return builder.build()
