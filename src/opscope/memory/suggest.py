"""Which functions, modules or values are worth recomputing, and what to write in the program for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from opscope.memory.checkpoints import DOTS_SAVEABLE, is_torch
from opscope.memory.flow import value_key
from opscope.memory.model import Buffer
from opscope.memory.report import line_of
from opscope.memory.what_if import CHECKPOINT, Change, Planner, WhatIf, known_flops
from opscope.ops import facts_of
from opscope.ops.facts import LOOPS
from opscope.program import NodeKey

_LEAST_SHARE = 0.01
"""A suggestion lowers the peak by at least this share: less is not worth a line of code."""
_ENOUGH = 0.5
"""Of the best that can be done. Of what does that much, the one with the fewest FLOPs is suggested."""
_MOST_TRIED = 24
"""Those with the most bytes saved at the peak: each is estimated for itself."""


class Suggestion(NamedTuple):
    """One change of the user's program, and what it does."""

    name: str
    """The function or module that is checkpointed, or the first of the values that are recomputed."""
    changes: tuple[Change, ...]
    buffers: tuple[Buffer, ...]
    """What is saved for backward and recomputed instead."""
    flops: float
    """Computed again, as far as it is known."""
    unknown: int
    """Recomputed nodes whose FLOPs are not known."""
    peak: int
    """The most bytes in use with this change, and with those before it in a list of suggestions."""
    code: tuple[str, ...]

    @property
    def known_flops(self) -> float | None:
        return known_flops(self.flops, self.unknown)

    @property
    def bytes(self) -> int:
        return sum(buffer.bytes or 0 for buffer in self.buffers)


class _Option(NamedTuple):
    """A change that can be made, before its effect is known."""

    name: str
    changes: tuple[Change, ...]
    inside: frozenset[NodeKey]
    """Two options exclude each other if one is inside the other."""
    buffers: tuple[Buffer, ...]
    code: tuple[str, ...]


MERGED = "XLA for the CPU merges what jax.checkpoint recomputes, unless you compile with xla_disable_hlo_passes=cse_barrier_expander"
"""Why a peak may not fall by what is estimated."""


def known_error(planner: Planner) -> str:
    """How far estimates for checkpoints are off, as `benchmarks/memory_advice.py` measured it, and where."""
    measured = "lowered the peak by {:.2f} to {:.2f} times what was estimated"
    if is_torch(planner.program):
        return "measured on an H200: 7 checkpoints of PyTorch " + measured.format(0.93, 1.15)
    if planner.is_for_gpu:
        return "measured on an H200: 12 checkpoints of JAX " + measured.format(0.93, 1.23)
    return "on the CPU, 42 checkpoints of JAX " + measured.format(0.79, 1.20)


class Answer(NamedTuple):
    """What somebody asked for, what is suggested in addition, and the memory with all of it."""

    changes: list[Change]
    suggestions: list[Suggestion]
    others: list[Suggestion]
    """What else could be done: each one alone, in addition to what somebody asked for."""
    result: WhatIf
    advice: list[str]
    """What to write in the user's program: for the suggestions, and for functions or modules that somebody asked for."""
    by_hand: list[Change]
    """The changes in the result that the advice does not make."""
    advice_peak: int
    """The most bytes in use with what the advice makes, and nothing else."""
    note: str
    """Why the peak may not fall by what is estimated; empty if nothing is in the way."""
    error: str
    """How far such estimates are off; empty if nothing is checkpointed."""
    left_out: list[tuple[Buffer, str]]
    """The largest values that are saved for backward at the peak and stay, with the reason."""


def answer(planner: Planner, changes: Sequence[Change], suggests: bool) -> Answer:
    """The memory with these changes, and with those that are suggested on top of them."""
    suggestions, others = suggest(planner, changes) if suggests else ([], [])
    together = [*changes, *(change for each in suggestions for change in each.changes)]
    result = planner.what_if(together)
    asked = [planner.checkpoints[change.node].code for change in changes if change.action == CHECKPOINT]
    advice = list(dict.fromkeys(line for code in (*asked, *(each.code for each in suggestions)) for line in code))
    by_hand = [change for change in changes if change.action != CHECKPOINT]
    written = planner.what_if([change for change in together if change not in by_hand]) if advice and by_hand else result
    note = MERGED if any("jax.checkpoint" in line for line in advice) and _may_be_merged(planner, result, suggestions) else ""
    if note:
        advice.append(_compiled(planner))
    error = known_error(planner) if any(change.action == CHECKPOINT for change in together) else ""
    left_out = _left_out(planner, suggestions) if suggests else []
    return Answer(together, suggestions, others, result, advice, by_hand, written.memory.live_peak, note, error, left_out)


def _may_be_merged(planner: Planner, result: WhatIf, suggestions: Sequence[Suggestion]) -> bool:
    """Whether XLA for the CPU would merge what is recomputed: not in a loop, whose forward and backward halves are different loops, and not
    if the program is for a GPU."""
    if planner.is_for_gpu:
        return False
    stacked = {key for each in planner.checkpoints.values() for key in each.stacked}
    values = result.checkpointed | {value_key(buffer) for each in suggestions for buffer in each.buffers}
    return not values <= stacked


def _compiled(planner: Planner) -> str:
    """What keeps XLA for the CPU from merging what is recomputed."""
    step = planner.program.name.removeprefix("jit_")
    # `jax.value_and_grad(loss)` has the name of the loss.
    step = step if step.isidentifier() and step.strip("_") != "lambda" and step not in planner.checkpoints else "step"
    options = '{"xla_disable_hlo_passes": "cse_barrier_expander"}'
    return f"{step} = jax.jit({step}, compiler_options={options})  # with the other arguments of your jax.jit; only for the CPU"


def suggest(planner: Planner, given: Sequence[Change] = ()) -> tuple[list[Suggestion], list[Suggestion]]:
    """What lowers the peak most per FLOP, and the alternatives. Greedy: another set may be better."""
    options = _options(planner)
    chosen: list[Suggestion] = []
    others: list[Suggestion] = []
    changes = list(given)
    memory = planner.what_if(changes).memory
    while options:
        before = memory.live_peak
        tried = [_tried(planner, option, changes) for option in options]
        worth = [each for each in zip(tried, options, strict=True) if before - each[0].peak >= _LEAST_SHARE * before]
        if not chosen:
            others = [each for each, _ in worth]
        if not worth:
            break
        most = before - min(each.peak for each, _ in worth)
        enough = [(each, option) for each, option in worth if before - each.peak >= _ENOUGH * most]
        best, taken = max(enough, key=lambda pair: ((before - pair[0].peak) / (1 + pair[0].flops), -len(pair[1].inside)))
        chosen.append(best)
        changes += best.changes
        memory = planner.what_if(changes).memory
        options = [option for _, option in worth if not option.inside & taken.inside]
    others.sort(key=lambda each: (each.peak, each.flops, each.name))
    # Of several, each peak is with those before it; of a single one, it is said already.
    return chosen, [each for each in others if len(chosen) != 1 or each.changes != chosen[0].changes]


def _tried(planner: Planner, option: _Option, changes: Sequence[Change]) -> Suggestion:
    flops, unknown = planner.what_if(changes)[1:3] if changes else (0.0, 0)
    result = planner.what_if([*changes, *option.changes])
    peak = result.memory.live_peak
    return Suggestion(option.name, option.changes, option.buffers, result.flops - flops, result.unknown - unknown, peak, option.code)


def _options(planner: Planner) -> list[_Option]:
    """What can be recomputed of that which is saved for backward across the peak: by functions or modules, if they are known."""
    memory = planner.memory
    saved: dict[NodeKey, list[Buffer]] = defaultdict(list)
    for buffer in memory.alive(memory.peak):
        gap = planner.gap(buffer) if buffer.kind == "saved" and buffer.bytes else None
        if gap is not None and gap[0] < memory.peak < gap[1]:
            saved[buffer.graph, buffer.node].append(buffer)
    options = []
    for name, each in planner.checkpoints.items():
        buffers = tuple(buffer for key in saved.keys() & each.recomputed for buffer in saved[key])
        if each.stacked:
            buffers += tuple(buffer for buffer in memory.alive(memory.peak) if value_key(buffer) in each.stacked)
        options.append(_Option(name, (Change(CHECKPOINT, name),), each.inside, buffers, each.code))
    if not any(option.buffers for option in options):
        options = _lines(planner, saved)
    least = _LEAST_SHARE * memory.live_peak
    options = [option for option in options if _size(option.buffers) >= least]
    options.sort(key=lambda option: (-_size(option.buffers), option.name))
    return options[:_MOST_TRIED]


def _size(buffers: Iterable[Buffer]) -> int:
    return sum(buffer.bytes or 0 for buffer in buffers)


def _lines(planner: Planner, saved: Mapping[NodeKey, list[Buffer]]) -> list[_Option]:
    """Values by the line that makes them, where no functions are known."""
    lines: dict[tuple[str, ...], list[Buffer]] = defaultdict(list)
    for (_, node), buffers in saved.items():
        for buffer in buffers if not planner.is_loop(node) else ():
            lines[line_of(buffer)].append(buffer)
    # The change of the program is one for every value of the line, also for those of other steps of a recording.
    every: dict[tuple[str, ...], list[Buffer]] = defaultdict(list)
    for buffer in planner.memory.buffers:
        if (
            buffer.kind == "saved"
            and buffer.bytes
            and line_of(buffer) in lines
            and planner.gap(buffer)
            and not planner.is_loop(buffer.node)
        ):
            every[line_of(buffer)].append(buffer)
    options = []
    for line, buffers in lines.items():
        changes = tuple(Change("recompute", node) for node in dict.fromkeys(map(planner.name_of, every[line])))
        inside = frozenset((buffer.graph, buffer.node) for buffer in every[line])
        options.append(_Option(buffers[0].node, changes, inside, tuple(buffers), _around(planner, buffers[0])))
    return options


def _around(planner: Planner, buffer: Buffer) -> tuple[str, ...]:
    place = buffer.source or buffer.node
    if is_torch(planner.program):
        return (f"x = torch.utils.checkpoint.checkpoint(function, x, use_reentrant=False)  # the function that is called at {place}",)
    return (f"f = jax.checkpoint(f)  # the function that computes {place}",)


def _left_out(planner: Planner, suggestions: Sequence[Suggestion], most: int = 3) -> list[tuple[Buffer, str]]:
    """Of the largest values that are saved at the peak, those that stay, and why."""
    memory = planner.memory
    recomputed = {value_key(buffer) for each in suggestions for buffer in each.buffers}
    saved = [buffer for buffer, _ in memory.live(memory.peak) if buffer.kind == "saved" and buffer.bytes]
    return [(buffer, _why_left_out(planner, suggestions, buffer)) for buffer in saved[:most] if value_key(buffer) not in recomputed]


def _why_left_out(planner: Planner, suggestions: Sequence[Suggestion], buffer: Buffer) -> str:
    key = (buffer.graph, buffer.node)
    chosen = [planner.checkpoints[change.node] for each in suggestions for change in each.changes if change.action == CHECKPOINT]
    wholes = [(each.name, planner.checkpoints[each.name.removesuffix(f":{DOTS_SAVEABLE}")]) for each in chosen]
    for name, whole in wholes:
        if key in whole.recomputed or value_key(buffer) in whole.stacked:
            return f"a product, which {name} keeps"
    if key in planner.flow.forward and facts_of(planner.flow.forward[key].op).control in LOOPS:
        return f"each iteration of {buffer.node} saves a part of it: jax.checkpoint around what it repeats"
    gap = planner.gap(buffer)
    if gap is None or not gap[0] < planner.memory.peak < gap[1]:
        return "in use at the peak itself"
    for name, whole in wholes:
        if key in whole.inside:
            return f"what follows {name} is recomputed from it"
    around = [each for each in planner.checkpoints.values() if key in each.recomputed]
    if around:
        innermost = min(around, key=lambda each: len(each.inside))
        return f"recomputed only with {innermost.name}, which costs more FLOPs or lowers the peak less"
    return "no function or module that can be recomputed computes it"
