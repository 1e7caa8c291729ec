"""What a block is called: by what it contains, in the words of the field."""

from __future__ import annotations

from collections.abc import Iterable

from opscope.ops import facts_of, plain_name
from opscope.program import Node, Path

_NORMS = {"batch_norm": "bn", "layer_norm": "ln", "group_norm": "gn"}
_ACTIVATIONS = {
    "relu": "relu", "relu6": "relu", "gelu": "gelu", "silu": "silu", "swish": "silu", "sigmoid": "sigmoid", "logistic": "sigmoid",
    "tanh": "tanh", "erf": "gelu", "elu": "elu", "leaky_relu": "relu", "hard_swish": "hardswish", "hardswish": "hardswish",
    "maximum": "relu",
}  # fmt: skip
UPDATE_TITLE = "adam update"
_AFTER = "after "
_LAYER = 6
"""A layer of a transformer has at least so many products: query, key, scores, mixture and two of its mlp."""


def title_of(nodes: Iterable[Node]) -> str:
    """The title of a block with these nodes, in the order of the graph; empty if nothing in it says what it is."""
    ops = [node.op for node in nodes if node.role == "op"]
    names = [plain_name(op) for op in ops]
    products = sum(facts_of(op).category == "matmul" for op in ops)
    steps = _steps(names)
    if "conv" in steps:
        return "-".join(steps)
    if _attends(names) and products:
        return "attention + mlp" if products >= _LAYER or (_has(names, "attention") and products > 4) else "attention"
    activations = [step for step in steps if step in _ACTIVATIONS.values()]
    if products > 1:
        return "mlp" if activations else ""
    if products:
        return "-".join(["linear", *activations[:1]])
    if _has(names, "adam") or (_has(names, "sqrt") and _has(names, "div") and names.count("multiply") + names.count("mul") >= 4):
        return UPDATE_TITLE
    return "norm" if _has(names, "rsqrt") and _has(names, "reduce", "mean") else ""


def _steps(names: list[str]) -> list[str]:
    """Convolutions, normalizations and activations, each kind once, in the order in which they come."""
    steps: dict[str, None] = {}
    for name in names:
        if name.startswith("conv") and not name.startswith("convert"):
            steps["conv"] = None
        elif "norm" in name:
            steps[next((short for long, short in _NORMS.items() if long in name), "norm")] = None
        elif name in _ACTIVATIONS:
            steps[_ACTIVATIONS[name]] = None
    return list(steps)


def _attends(names: list[str]) -> bool:
    """Whether it has an attention or a softmax, also one that is written out."""
    return _has(names, "attention", "attn", "softmax") or (_has(names, "exp") and _has(names, "div") and _has(names, "reduce", "sum"))


def _has(names: Iterable[str], *parts: str) -> bool:
    return any(part in name for name in names for part in parts)


def title_after(title: str) -> str:
    """The title of blocks that take what other blocks keep for them: the backward half of a layer, in a program without halves."""
    return title if title.startswith(_AFTER) else _AFTER + title


def within_half(path: Path) -> Path:
    """A block's path in a half of a training step. A layer has the same name in each half."""
    return (path[0].removeprefix(_AFTER), *path[1:]) if path else ()
