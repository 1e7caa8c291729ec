"""What memory would be if some values were recomputed, offloaded or smaller.

An estimate: the order of the run stays as it is. A value that is recomputed or offloaded is not in memory between its last use before
the longest time without one and the first use after that. It is recomputed from values that are there until then, and from those that are
recomputed themselves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias, get_args

from opscope.analysis.cost_metrics import FLOPS, with_costs
from opscope.errors import OpscopeError
from opscope.memory.checkpoints import Checkpoint, find_checkpoints
from opscope.memory.flow import Flow, ValueKey, value_key
from opscope.memory.model import Buffer, Kind, Memory
from opscope.memory.stacks import Stack
from opscope.naming import listed
from opscope.naming import suggest as similar
from opscope.ops import facts_of
from opscope.ops.facts import LOOPS
from opscope.program import NodeKey, Program

Action: TypeAlias = Literal["recompute", "offload", "bf16"]
ACTIONS: tuple[Action, ...] = get_args(Action)
"""What can be done to the values of one node."""
CHECKPOINT = "checkpoint"
"""Recomputes what a function or module computes, which one change of the user's program does."""
_TIMES_SMALLER = {"f32": 2, "float32": 2, "f64": 4, "float64": 4}
"""How many times smaller a value is in bf16, by its type."""
GIVEN: tuple[Kind, ...] = ("parameter", "input", "buffer", "optimizer state", "constant")
"""Kinds of buffers that nothing computes."""
_OF_GPU = ("fingerprint_before_lhs", "fusion_backend_config", "operation_queue_id")
"""What XLA for a GPU writes into the attributes of a module and of its instructions."""
_Gap: TypeAlias = tuple[int, int]
"""The last use before a value is not in memory, and the first one after that."""


class Change(NamedTuple):
    """Something done to the values of a node, or of a function or module."""

    action: str
    node: str

    def __str__(self) -> str:
        return f"{self.action}={self.node}"


def change_of(text: str) -> Change:
    """A change as people write it: `recompute=fusion.3`."""
    action, sign, node = text.partition("=")
    if sign and node and action in (*ACTIONS, CHECKPOINT):
        return Change(action, node)
    forms = [*(f"{each}=NODE" for each in ACTIONS), f"{CHECKPOINT}=FUNCTION"]
    raise OpscopeError(f"a change is one of {', '.join(forms)}, not {text!r}")


def known_flops(flops: float, unknown: int) -> float | None:
    """What is computed again; None if nothing is known of it."""
    return flops if flops or not unknown else None


class WhatIf(NamedTuple):
    """The memory after changes, and what they cost."""

    memory: Memory
    flops: float
    """Computed again."""
    unknown: int
    """Recomputed nodes whose FLOPs are not known."""
    moved: int
    """Bytes that leave the device and come back."""
    checkpointed: frozenset[ValueKey] = frozenset()
    """The values that are recomputed because a function or module is, all of them or the parts of a loop's iterations."""

    @property
    def known_flops(self) -> float | None:
        return known_flops(self.flops, self.unknown)


class Planner:
    """Answers what-if questions about one program."""

    def __init__(self, program: Program, memory: Memory) -> None:
        self.program = with_costs(program)
        self.memory = replace(memory, reserved=None, held=(), split={}, measured=None)
        """What is in use. How much XLA would reserve for another plan is not known."""
        self.flow = Flow(program, memory)
        self.flops = {(graph.name, node): value for graph in self.program for node, value in graph.metrics.get(FLOPS.name, {}).items()}
        self._named: dict[str, set[ValueKey]] = defaultdict(set)
        """Nodes and single results (`while.3{5}`) by their name, and by that with their graph: halves of a step use the same names."""
        for buffer in memory.buffers:
            for name in {buffer.node, buffer.name}:
                self._named[name].add((buffer.graph, name))
                self._named[f"{buffer.graph}/{name}"].add((buffer.graph, name))
        self._buffers = {value_key(buffer): buffer for buffer in memory.buffers}

    @cached_property
    def checkpoints(self) -> dict[str, Checkpoint]:
        """The functions or modules that can be checkpointed, by name."""
        return find_checkpoints(self.program, self.flow)

    def what_if(self, changes: Iterable[Change], also: Mapping[NodeKey, str] | None = None) -> WhatIf:
        """The memory with these changes, and with what the backward half recomputes also: nodes, and the call that each is in."""
        changes = list(changes)
        actions, nodes = self._checked(changes)
        nodes.update(also or {})
        loops = self._loops(changes)
        gaps = {key: gap for key, buffer in self._buffers.items() if (gap := self._gap_with(buffer, actions, nodes))}
        again = {key for key in gaps if _action(actions, self._buffers[key]) != "offload"}
        recomputed = again | {key for key, buffer in self._buffers.items() if (buffer.graph, buffer.node) in nodes}
        needed, until = self._needed(self._first_needed(again, gaps, nodes), recomputed, gaps)
        halved = self._carried(buffer for buffer in self.memory.buffers if _action(actions, buffer) == "bf16")
        buffers: list[Buffer] = []
        for buffer in self.memory.buffers:
            key = value_key(buffer)
            gap = gaps.get(key)
            if gap is None:
                buffers.append(_smaller(buffer, halved[key]) if key in halved else buffer)
            else:
                start = min(needed.get(key, gap[1]), gap[1])
                buffers += [buffer._replace(last=gap[0]), buffer._replace(born=gap[1])]
                if start < gap[1]:
                    buffers.append(buffer._replace(born=start, last=gap[1] - 1, slot=None))
            if key in until:  # other values may be in its slot by then
                buffers.append(buffer._replace(born=buffer.last + 1, last=until[key], slot=None))
        buffers += _passing([self._buffers[key]._replace(born=at, last=at, slot=None) for key, at in needed.items() if key not in gaps])
        gone = {(self._buffers[value].slot, self._buffers[value].bytes) for value in loops}
        buffers = [buffer for buffer in buffers if (buffer.slot, buffer.bytes) not in gone]
        buffers += [*self._again_in_loops(changes, loops), *self._saved_instead(changes)]
        buffers.sort(key=lambda buffer: (buffer.born, buffer.last))
        computed = {(self._buffers[key].graph, self._buffers[key].node) for key in needed}
        moved = sum(2 * (self._buffers[key].bytes or 0) for key in gaps if key not in again)
        flops = sum(self.flops.get(key, 0.0) for key in computed)
        flops += sum(self._loop_flops(self.checkpoints[change.node]) for change in changes if change.action == CHECKPOINT)
        checkpointed = frozenset(key for key in gaps if (self._buffers[key].graph, self._buffers[key].node) in nodes) | loops.keys()
        return WhatIf(replace(self.memory, buffers=buffers), flops, len(computed - self.flops.keys()), moved, checkpointed)

    def name_of(self, buffer: Buffer) -> str:
        """The node that makes a buffer, as a change names it."""
        return buffer.node if len(self._named[buffer.node]) == 1 else f"{buffer.graph}/{buffer.node}"

    def _checked(self, changes: Iterable[Change]) -> tuple[dict[ValueKey, str], dict[NodeKey, str]]:
        """What is done to the values of each node, and the nodes that functions or modules compute again, with the call they are in."""
        actions: dict[ValueKey, str] = {}
        nodes: dict[NodeKey, str] = {}
        for change in changes:
            if change.action == CHECKPOINT:
                if change.node not in self.checkpoints:
                    meant = similar(change.node, self.checkpoints)
                    raise OpscopeError(f"{self.memory.name}: no function or module {change.node!r} can be recomputed{meant}")
                chosen = self.checkpoints[change.node]
                nodes.update((key, chosen.calls[key]) for key in chosen.recomputed)
            else:
                key = self._value(change.node)
                if change.action == "recompute":
                    self._check_recomputed(key)
                actions[key] = change.action
        return actions, nodes

    def _value(self, name: str) -> ValueKey:
        """What a change is about."""
        found = self._named.get(name)
        if found is None:
            raise OpscopeError(f"{self.memory.name}: no buffer is made by {name!r}{similar(name, self._named)}")
        if len(found) > 1:
            graphs = sorted(graph for graph, _ in found)
            raise OpscopeError(f"{self.memory.name}: {name} is in {listed(graphs)}; say which, as in {graphs[-1]}/{name}")
        return next(iter(found))

    def _check_recomputed(self, key: ValueKey) -> None:
        graph, node = key[0], key[1].partition("{")[0]
        if self.is_loop(node):
            raise OpscopeError(
                f"{key[1]}: all of a loop would run again to recompute what it returns, which is not estimated; "
                f"{CHECKPOINT}=FUNCTION recomputes what each iteration saves"
            )
        made = self.program[graph][node] if graph in self.program and node in self.program[graph] else None
        if made is not None and graph == self.program.entry and (made.is_argument or made.role == "constant"):
            what = "an argument of the program" if made.is_argument else "a constant"
            raise OpscopeError(f"{self.memory.name}: {node} is {what}, and nothing computes it; try offload= or bf16=")

    def is_loop(self, node: str) -> bool:
        return node in self._loop_ids

    @cached_property
    def _loop_ids(self) -> frozenset[str]:
        return frozenset(node.id for graph in self.program for node in graph if facts_of(node.op).control in LOOPS)

    @cached_property
    def is_for_gpu(self) -> bool:
        """Whether XLA compiled the program for a GPU."""
        attrs = [self.program.attrs.get("frontend_attributes", ""), *(node.attrs.get("backend_config", "") for node in self.program.main)]
        return any(word in str(each) for each in attrs for word in _OF_GPU)

    def _carried(self, smaller: Iterable[Buffer]) -> dict[ValueKey, str]:
        """The types of values that get smaller, also of what a loop has in the same place until it returns them."""
        types = {value_key(buffer): buffer.type.dtype for buffer in smaller if buffer.type}
        returned = [self._buffers[key] for key in types if self.is_loop(self._buffers[key].node)]
        places: dict[tuple[object, int | None, int], list[Buffer]] = defaultdict(list)
        for buffer in self.memory.buffers if returned else ():
            places[buffer.slot, buffer.bytes, buffer.last].append(buffer)
        for buffer in returned:
            waiting = [buffer] if buffer.slot is not None else []
            for each in waiting:  # grows while it is walked
                before = [other for other in places[each.slot, each.bytes, each.born] if value_key(other) not in types]
                types.update((value_key(other), types[value_key(buffer)]) for other in before)
                waiting += before
        return types

    def _loops(self, changes: Iterable[Change]) -> dict[ValueKey, Stack]:
        """The stacks of loops of which only the part of one iteration is there, while that is recomputed."""
        chosen = (self.checkpoints[change.node].stacked for change in changes if change.action == CHECKPOINT)
        return {value: each for stacked in chosen for value, each in stacked.items() if value in self._buffers}

    def _again_in_loops(self, changes: Iterable[Change], stacks: Mapping[ValueKey, Stack]) -> Iterator[Buffer]:
        """What an iteration of the backward loop computes again instead of reading it from a stack: from the first value of the same call
        that it needs (on a GPU, from when it is needed itself) until it is read."""
        calls = {
            key: call for change in changes if change.action == CHECKPOINT for key, call in self.checkpoints[change.node].calls.items()
        }
        read = {value: self.flow.read_in_backward_loops(value) or [self._buffers[value].last] for value in stacks}
        first: dict[str, int] = {}
        for value, each in stacks.items():
            call = calls[each.part]
            first[call] = min(first.get(call, read[value][0]), *read[value])
        for value, each in stacks.items():
            whole = self._buffers[value]
            size = None if whole.bytes is None else whole.bytes // each.parts
            since = min(read[value]) if self.is_for_gpu else first[calls[each.part]]
            yield whole._replace(bytes=size, born=since, last=max(read[value]), slot=None)

    def _saved_instead(self, changes: Iterable[Change]) -> Iterator[Buffer]:
        """The stacks of what a policy keeps and iterations do not save as it is."""
        chosen = (self.checkpoints[change.node].instead for change in changes if change.action == CHECKPOINT)
        for value, each in ((value, each) for instead in chosen for value, each in instead.items()):
            part, stack = self._buffers.get(value), self._buffers.get(each.value)
            if part is None or stack is None or part.bytes is None:
                continue
            since = min(other.born for other in self.memory.buffers if (other.slot, other.bytes) == (stack.slot, stack.bytes))
            yield part._replace(bytes=part.bytes * each.parts, born=since, last=stack.last, slot=None, kind="saved")

    def _loop_flops(self, chosen: Checkpoint) -> float:
        """What the iterations of loops compute again: what they do not save any more, and what that is computed from, once."""
        times = {each.part[0]: each.parts for each in chosen.stacked.values()}
        parts = (key for each in chosen.stacked.values() for key in (each.part, each.update))
        waiting = list(dict.fromkeys(key for key in parts if key not in chosen.kept))
        seen = set(waiting)
        for key in waiting:  # grows while it is walked
            makers = (self.flow.makers[operand] for operand in self.flow.operands.get(key, ()))
            fresh = {maker for maker in makers if maker in chosen.inside and maker not in chosen.kept} - seen
            seen |= fresh
            waiting += fresh
        return sum(times.get(key[0], 1) * self.flops.get(key, 0.0) for key in waiting)

    def _gap_with(self, buffer: Buffer, actions: Mapping[ValueKey, str], nodes: Mapping[NodeKey, str]) -> _Gap | None:
        """When a value is not in memory with these changes."""
        action = _action(actions, buffer)
        if action in ("recompute", "offload"):
            return self.gap(buffer, also_given=action == "offload")
        return self.saved_gap(buffer) if (buffer.graph, buffer.node) in nodes else None

    def _first_needed(self, again: Iterable[ValueKey], gaps: dict[ValueKey, _Gap], nodes: Mapping[NodeKey, str]) -> dict[ValueKey, int]:
        """When each value is recomputed. A call of a function or module is recomputed as a whole, when the first of it is needed; XLA for
        a GPU puts off what is not needed yet."""
        at: dict[ValueKey, int] = {}
        calls: dict[str, list[ValueKey]] = defaultdict(list)
        for key in again:
            at[key] = gaps[key][1]
            call = nodes.get((self._buffers[key].graph, self._buffers[key].node))
            if call is not None:
                calls[call].append(key)
        for keys in calls.values() if not self.is_for_gpu else ():
            first = min(at[key] for key in keys)
            at.update((key, max(first, gaps[key][0] + 1)) for key in keys)
        return at

    def _needed(
        self, first: Mapping[ValueKey, int], recomputed: set[ValueKey], gaps: dict[ValueKey, _Gap]
    ) -> tuple[dict[ValueKey, int], dict[ValueKey, int]]:
        """When each value is recomputed first, and until when others have to stay for it."""
        queue = [(at, key) for key, at in first.items()]
        heapify(queue)
        needed: dict[ValueKey, int] = {}
        until: dict[ValueKey, int] = {}
        while queue:
            at, key = heappop(queue)
            if key in needed:
                continue
            needed[key] = at
            buffer = self._buffers[key]
            for operand in self.flow.operands.get((buffer.graph, buffer.node), ()):
                read = self._buffers.get(operand)
                if read is None or read.kind in GIVEN:
                    continue
                gap = gaps.get(operand)
                if operand in recomputed and (read.last < at if gap is None else gap[0] < at < gap[1]):
                    heappush(queue, (at, operand))
                elif read.last < at or (gap is not None and gap[0] < at < gap[1]):
                    until[operand] = max(until.get(operand, 0), at)
        return needed, until

    def gap(self, buffer: Buffer, also_given: bool = False) -> _Gap | None:
        """The longest time without a use; none of what nothing computes, unless it is asked for."""
        uses = {at for at in self.flow.uses.get(value_key(buffer), ()) if buffer.born <= at <= buffer.last}
        # An allocator knows only when a block is made and freed, and what is given is the caller's to the end.
        if self.memory.origin == "measured" or buffer.kind in GIVEN:
            uses.add(buffer.last)
        points = sorted({buffer.born, *uses})
        gaps = [(after - before, before, after) for before, after in pairwise(points) if after - before > 1]
        longest = max(gaps, default=None)
        return None if longest is None or (buffer.kind in GIVEN and not also_given) else longest[1:]

    def saved_gap(self, buffer: Buffer) -> _Gap | None:
        """The time between the last use in the forward half and the first one in the backward half, of a value that is saved for it."""
        key = value_key(buffer)
        after = min((at for at in self.flow.backward_uses.get(key, ()) if buffer.born <= at <= buffer.last), default=None)
        if buffer.kind != "saved" or after is None:
            return None
        before = max((at for at in self.flow.uses[key] if buffer.born <= at < after), default=buffer.born)
        return (before, after) if after - before > 1 else None


def _passing(buffers: Sequence[Buffer]) -> list[Buffer]:
    """Of the values that are recomputed only to recompute others at one point, the largest: they are freed one after another."""
    largest: dict[int, Buffer] = {}
    for buffer in buffers:
        if (buffer.bytes or 0) > (largest[buffer.born].bytes or 0 if buffer.born in largest else 0):
            largest[buffer.born] = buffer
    return list(largest.values())


def _smaller(buffer: Buffer, dtype: str) -> Buffer:
    return buffer if buffer.bytes is None else buffer._replace(bytes=buffer.bytes // _TIMES_SMALLER.get(dtype, 1))


def _action(actions: Mapping[ValueKey, str], buffer: Buffer) -> str | None:
    """What is done to one result, or to all results of its node."""
    return actions.get((buffer.graph, buffer.name), actions.get((buffer.graph, buffer.node)))
