"""Values of code that a compiler generated, in the words of the model: the code itself names buffers by numbers."""

from __future__ import annotations

from collections.abc import Container

from opscope.memory.model import Kind
from opscope.ops import facts_of
from opscope.program import Graph, Node, Path
from opscope.recording.dumps.launch_values import GRADIENT_OF, GRADIENTS, NAME, REGISTERED, VALUES, operators

_MOST_NAMED = 2
"""A kernel can compute more derivatives; two of them say enough."""


def argument_kind(node: Node) -> tuple[Kind, str]:
    """What an argument of the step is, and its name in the model."""
    name = str(node.attrs.get(NAME, ""))
    registered = node.attrs.get(REGISTERED)
    kind: Kind = "parameter" if registered == "parameter" else "buffer" if registered == "buffer" else "input"
    return kind, f"{kind} {name}".rstrip()


def module_of_argument(node: Node) -> Path:
    """The module that owns an argument."""
    return tuple(str(node.attrs[NAME]).split(".")[:-1]) if node.is_argument and REGISTERED in node.attrs else ()


def gradient_made(node: Node, output: int) -> str:
    """Why a result of the backward half is there."""
    names = [str(name) for number, name in node.attrs.get(GRADIENTS, ()) if number == output]
    return f"gradient of {names[0]}" if names else "gradient"


def launch_name(node: Node) -> str:
    """A launch, with the operator that it is for: `buf136 (gelu_backward)`. That is a derivative, or else the last one that computes."""
    names = operators(node)
    meant = (
        [name for name in names if "_backward" in name][:_MOST_NAMED]
        or [name for name in names if not _only_copies(name)][-1:]
        or names[-1:]
    )
    short = ", ".join(name.removeprefix("aten.").lstrip("_") for name in meant)
    return f"{node.id} ({short})" if meant else node.id


def saved_for(node: Node, output: int, user: Node) -> str:
    """Why a value is saved for backward: who reads it last, what it is in the model, and for which gradient it is needed."""
    known = [(str(name), str(maker)) for number, name, maker in node.attrs.get(VALUES, ()) if number == output]
    names = {name for name, _ in known}
    gradient = next((str(of) for name, of in user.attrs.get(GRADIENT_OF, ()) if name in names), "")
    value = known[0][1] if known else "it"
    return f"{launch_name(user)} needs {value}" + (f" for the gradient of {gradient}" if gradient else "")


def copied_argument(graph: Graph, node: Node, arguments: Container[str]) -> str:
    """The argument of the step that a launch copies into another type or layout; empty for a launch that computes something."""
    names = operators(node)
    read = {name for name, _ in node.inputs}
    if len(read) != 1 or not names or not all(map(_only_copies, names)):
        return ""
    (name,) = read
    if not graph[name].is_argument or name not in arguments:
        return ""
    return str(graph[name].attrs.get(NAME, name))


def _only_copies(operator: str) -> bool:
    facts = facts_of(operator)
    return facts.view or facts.spreads
