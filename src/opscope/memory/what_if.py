"""What memory would be if some values were recomputed, offloaded or smaller; and which ones are worth it.

An estimate: the order of the run stays as it is. A value that is recomputed or offloaded is not in memory between its last use before
the longest time without one and the first use after that; what it is recomputed from stays until then.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias, get_args

from opscope.analysis.cost_metrics import FLOPS, with_costs
from opscope.errors import OpscopeError
from opscope.memory.aliases import Aliases
from opscope.memory.model import Buffer, Kind, Memory
from opscope.memory.order import is_half, running_order
from opscope.naming import suggest as similar
from opscope.program import NodeKey, Program
from opscope.readers.torch_memory import ALLOCATOR
from opscope.recording.dumps.inductor_code import GENERATED_BY

Action: TypeAlias = Literal["recompute", "offload", "bf16"]
ACTIONS: tuple[Action, ...] = get_args(Action)
_TIMES_SMALLER = {"f32": 2, "float32": 2, "f64": 4, "float64": 4}
"""How many times smaller a value is in bf16, by its type."""


_NUMBER = re.compile(r"\d+")
_SUFFIX = re.compile(r"[._]\d+$")
"""What tells nodes of one kind apart."""
_LEAST_SHARE = 0.01
"""A suggestion frees at least this share of the peak: a smaller one is not worth a line of code."""
GIVEN: tuple[Kind, ...] = ("parameter", "input", "buffer", "optimizer state", "constant")
"""Kinds of buffers that nothing computes."""


class Change(NamedTuple):
    """Something done to the values of a node."""

    action: Action
    node: str


def change_of(text: str) -> Change:
    """A change as people write it: `recompute=fusion.3`."""
    action, sign, node = text.partition("=")
    for each in ACTIONS:
        if sign and node and action == each:
            return Change(each, node)
    raise OpscopeError(f"a change is one of {', '.join(f'{each}=NODE' for each in ACTIONS)}, not {text!r}")


class WhatIf(NamedTuple):
    """The memory after changes, and what they cost."""

    memory: Memory
    flops: float
    """Computed again."""
    unknown: int
    """Recomputed nodes whose FLOPs are not known."""
    moved: int
    """Bytes that leave the device and come back."""


class Suggestion(NamedTuple):
    """Values of one kind that one line of the user's program makes, in all repeated layers: one change of it covers all of them."""

    buffers: tuple[Buffer, ...]
    flops: float
    """Computed again, as far as it is known."""
    peak: int
    """The most bytes in use with this change and those before it."""

    @property
    def changes(self) -> list[Change]:
        return [Change("recompute", buffer.node) for buffer in self.buffers]

    @property
    def bytes(self) -> int:
        return sum(buffer.bytes or 0 for buffer in self.buffers)


class Answer(NamedTuple):
    """What somebody asked for, what is suggested in addition, and the memory with all of it."""

    changes: list[Change]
    suggestions: list[Suggestion]
    result: WhatIf
    advice: list[str]
    """What to write in the user's program for the suggestions."""


class Planner:
    """Answers what-if questions about one program."""

    def __init__(self, program: Program, memory: Memory) -> None:
        self.program = with_costs(program)
        self.memory = replace(memory, reserved=None, held=(), split={}, measured=None)
        """What is in use. How much XLA would reserve for another plan is not known."""
        self._names = {buffer.node for buffer in memory.buffers}
        self._uses = _uses(program, memory)
        self._operands = {(graph.name, node.id): tuple({name: None for name, _ in node.inputs}) for graph in program for node in graph}
        self._flops = {node: value for graph in self.program for node, value in graph.metrics.get(FLOPS.name, {}).items()}

    def answer(self, changes: Sequence[Change], suggests: bool) -> Answer:
        """The memory with these changes, and with those that are suggested on top of them."""
        suggestions = self.suggest(changes) if suggests else []
        together = [*changes, *(change for each in suggestions for change in each.changes)]
        return Answer(together, suggestions, self.what_if(together), advice(self.program, suggestions) if suggestions else [])

    def what_if(self, changes: Iterable[Change]) -> WhatIf:
        """The memory with these changes."""
        by_node: dict[str, Action] = {}
        for change in changes:
            if change.node not in self._names:
                raise OpscopeError(f"{self.memory.name}: no buffer is made by {change.node!r}{similar(change.node, self._names)}")
            by_node[change.node] = change.action
        flops, unknown, moved = 0.0, 0, 0
        buffers: list[Buffer] = []
        until: dict[NodeKey, int] = {}
        for buffer in self.memory.buffers:
            action = by_node.get(buffer.node)
            gap = self._gap(buffer) if action in ("recompute", "offload") else None
            if gap is None:
                buffers.append(_smaller(buffer) if action == "bf16" else buffer)
                continue
            buffers += [buffer._replace(last=gap[0]), buffer._replace(born=gap[1])]
            if action == "offload":
                moved += 2 * (buffer.bytes or 0)
                continue
            if buffer.node in self._flops:
                flops += self._flops[buffer.node]
            else:
                unknown += 1
            for operand in self._operands.get((buffer.graph, buffer.node), ()):
                until[buffer.graph, operand] = max(until.get((buffer.graph, operand), 0), gap[1])
        buffers = [
            buffer._replace(last=max(buffer.last, until.get((buffer.graph, buffer.node), 0)))
            if (buffer.graph, buffer.node) in until
            else buffer
            for buffer in buffers
        ]
        buffers.sort(key=lambda buffer: (buffer.born, buffer.last))
        return WhatIf(replace(self.memory, buffers=buffers), flops, unknown, moved)

    def suggest(self, given: Iterable[Change] = (), most: int = 8) -> list[Suggestion]:
        """Values to recompute on top of the changes given, each time those that free the most bytes at the peak per FLOP. Greedy: another
        set may be better."""
        suggestions: list[Suggestion] = []
        changes = list(given)
        memory = self.what_if(changes).memory
        refused = {change.node for change in changes}
        while len(suggestions) < most:
            buffers = self._best(memory, refused)
            if not buffers:
                break
            refused.update(buffer.node for buffer in buffers)
            flops = sum(self._flops.get(buffer.node, 0.0) for buffer in buffers)
            suggestion = Suggestion(buffers, flops, 0)
            result = self.what_if([*changes, *suggestion.changes]).memory
            if memory.live_peak - result.live_peak >= _LEAST_SHARE * memory.live_peak:
                changes += suggestion.changes
                memory = result
                suggestions.append(suggestion._replace(peak=memory.live_peak))
        return suggestions

    def _best(self, memory: Memory, refused: set[str]) -> tuple[Buffer, ...]:
        """Of the values that are saved across the peak, those of the line that has the most bytes per FLOP."""
        lines: dict[tuple[str, ...], list[Buffer]] = defaultdict(list)
        for buffer in memory.alive(memory.peak):
            if buffer.kind != "saved" or not buffer.bytes or buffer.node in refused:
                continue
            gap = self._gap(buffer)
            if gap is not None and gap[0] < memory.peak < gap[1]:
                lines[_line(buffer)].append(buffer)
        least = _LEAST_SHARE * memory.live_peak
        freed = {line: sum(buffer.bytes or 0 for buffer in buffers) for line, buffers in lines.items()}
        freed_per_flop = {
            line: freed[line] / (1 + sum(self._flops.get(buffer.node, 0.0) for buffer in buffers))
            for line, buffers in lines.items()
            if freed[line] >= least
        }
        best = max(freed_per_flop, key=lambda line: (freed_per_flop[line], line), default=None)
        if best is None:
            return ()
        # The change of the program is one for every value of the line, also for those of other steps of a recording.
        candidates = (buffer for buffer in memory.buffers if buffer.kind == "saved" and buffer.bytes and buffer.node not in refused)
        return tuple(buffer for buffer in candidates if _line(buffer) == best and self._gap(buffer) is not None)

    def _gap(self, buffer: Buffer) -> tuple[int, int] | None:
        """The longest time without a use: the last position before it and the first one after it."""
        uses = {at for at in self._uses.get((buffer.graph, buffer.name), ()) if buffer.born <= at <= buffer.last}
        if self.memory.origin == "measured":  # an allocator knows only when a block is made and freed
            uses.add(buffer.last)
        points = sorted({buffer.born, *uses})
        gaps = [(after - before, before, after) for before, after in pairwise(points) if after - before > 1]
        longest = max(gaps, default=None)
        return None if longest is None or buffer.kind in GIVEN else longest[1:]


def _line(buffer: Buffer) -> tuple[str, ...]:
    """What values have in common that one line of the user's program makes, in all repeated layers. One line may make several kinds: to
    recompute the activations is cheap, to recompute the products with them is not."""
    return buffer.source, _NUMBER.sub("#", "/".join(buffer.scope)), _SUFFIX.sub("", buffer.node), str(buffer.type)


def _smaller(buffer: Buffer) -> Buffer:
    factor = _TIMES_SMALLER.get(buffer.type.dtype, 1) if buffer.type else 1
    return buffer if buffer.bytes is None else buffer._replace(bytes=buffer.bytes // factor)


def _uses(program: Program, memory: Memory) -> Mapping[tuple[str, str], list[int]]:
    """By the graph and the name of a buffer, when its value is read."""
    graphs = memory.graphs or [""] * len(memory.steps)
    positions = {key: position for position, key in enumerate(zip(graphs, memory.steps, strict=True))}
    order = running_order(program)
    aliases = Aliases(program, order.graphs)
    uses: dict[tuple[str, str], list[int]] = defaultdict(list)
    for graph in order.graphs:
        for node in graph:
            position = positions.get((graph.name, node.id), positions.get(("", node.id)))
            if position is None or node.role == "output" or is_half(node):  # they pass values on
                continue
            for number in aliases.operands(graph, node):
                value = aliases.values[number]
                uses[value.graph, value.node.id + (f"{{{value.output}}}" if len(value.node.outputs) > 1 else "")].append(position)
    return uses


def advice(program: Program, suggestions: Sequence[Suggestion]) -> list[str]:
    """What to write in the user's program to recompute these values."""
    if ALLOCATOR in program.attrs:
        places = dict.fromkeys(buffer.source or buffer.node for each in suggestions for buffer in each.buffers)
        return [f"x = torch.utils.checkpoint.checkpoint(function, x, use_reentrant=False)  # the function at {place}" for place in places]
    if GENERATED_BY in program.attrs or any(node.op.startswith("aten.") for node in program.main):
        modules = _outermost(_module(buffer) for each in suggestions for buffer in each.buffers)
        return [f"x = torch.utils.checkpoint.checkpoint({module}, x, use_reentrant=False)" for module in modules]
    names = [f"recomputed_{number}" for number in range(len(suggestions))]
    marks = [
        f'x = jax.ad_checkpoint.checkpoint_name(x, "{name}")  # {each.buffers[0].type} in {each.buffers[0].source or each.buffers[0].node}'
        for name, each in zip(names, suggestions, strict=True)
    ]
    listed = ", ".join(f'"{name}"' for name in names)
    return [*marks, f"f = jax.checkpoint(f, policy=jax.checkpoint_policies.save_anything_except_these_names({listed}))"]


def _module(buffer: Buffer) -> str:
    """The module that makes a value, as code in the model: `self.blocks[0].up` for `blocks: Sequential/0: Block/up: Linear`."""
    names = [part.partition(":")[0] for part in buffer.scope]
    return "self" + "".join(f"[{name}]" if name.isdecimal() else f".{name}" for name in names)


def _outermost(modules: Iterable[str]) -> list[str]:
    """Each module once, and none that is inside another one: that is recomputed with it."""
    each = list(dict.fromkeys(modules))
    return [module for module in each if not any(module.startswith((f"{other}.", f"{other}[")) for other in each)]
