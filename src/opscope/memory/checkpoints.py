"""What one change of the user's program recomputes: all calls of a function (`jax.checkpoint`), or all modules of one place in the model
(`torch.utils.checkpoint`). The backward half then starts from what was passed in."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from opscope.memory.flow import Flow, ValueKey
from opscope.memory.reasons import INSTALLED, multiplies, own_frames
from opscope.memory.stacks import Stack, computed_in_update, stacks
from opscope.program import Frame, NodeKey, Program
from opscope.readers.torch_memory import ALLOCATOR
from opscope.recording.dumps.inductor_code import GENERATED_BY

_NUMBER = re.compile(r"\d+")
_SUFFIX = re.compile(r"[._]\d+$")
"""What tells nodes of one kind apart."""
DOTS_SAVEABLE = "dots_saveable"
"""JAX's policy that keeps the results of products, which take longest to compute."""

_MOST_TRIED = 8
_WHOLE = 0.95
"""A function that computes this share of the forward half computes all of it."""

_Kind: TypeAlias = tuple[tuple[Frame, ...], str, tuple[str, ...]]
"""Lines, a name without its number, and types."""
Function: TypeAlias = tuple[str, str]
"""(file, name)"""


class Checkpoint(NamedTuple):
    """A function or a module, of which each call is recomputed."""

    name: str
    """As `--what-if checkpoint=NAME` has it: `block`, `block:dots_saveable`, `layers.*`."""
    inside: frozenset[NodeKey]
    """What it computes in the forward half."""
    recomputed: frozenset[NodeKey]
    """Of these, what is not handed out: that is kept, because something else reads it."""
    calls: Mapping[NodeKey, str]
    """The call, or module, that each of these is in, or the piece of a call: all of it is recomputed at once."""
    code: tuple[str, ...]
    """What to write in the program."""
    stacked: Mapping[ValueKey, Stack]
    """What the iterations of a loop save, and would not."""
    kept: frozenset[NodeKey] = frozenset()
    """What a policy keeps, in loops too."""
    instead: Mapping[ValueKey, Stack] = MappingProxyType({})
    """Of that, what the iterations of a loop save only because of the policy, and a stack that is as long."""


def find_checkpoints(program: Program, flow: Flow) -> dict[str, Checkpoint]:
    """What can be checkpointed, by name. An allocator does not know what a value is computed from."""
    if ALLOCATOR in program.attrs:
        return {}
    found = _modules(flow) if is_torch(program) else _functions(program, flow)
    return {each.name: each for each in found if each.recomputed or each.stacked}


def is_torch(program: Program) -> bool:
    return bool(program.attrs.keys() & {ALLOCATOR, GENERATED_BY}) or any(node.op.startswith("aten.") for node in program.main)


def _functions(program: Program, flow: Flow) -> Iterator[Checkpoint]:
    frames = _frames(program, flow)
    members: dict[Function, list[NodeKey]] = defaultdict(list)
    for key, stack in frames.items():
        for place in dict.fromkeys((frame.file, frame.function) for frame in stack):
            if INSTALLED not in place[0] and place[1] and not place[1].endswith(">"):
                members[place].append(key)
    members = _inside_of_step(frames, members)
    products = frozenset(key for key, node in flow.forward.items() if multiplies(program, node))
    filled = list(stacks(program, flow.forward))
    names = Counter(function for _, function in members)
    for (file, function), inside in members.items():
        name = function if names[function] == 1 else f"{PurePath(file).name}:{function}"
        calls = _calls(flow, (file, function), inside, frames)
        recomputed = _not_handed_out(flow, calls)
        named = {key: f"{name} {call}" for key, call in calls.items()}
        stacked = {each.value: each for each in filled if each.part in calls and each.loop not in calls}
        yield Checkpoint(name, frozenset(inside), recomputed, named, (_wrapped(file, function),), stacked)
        held = {value for value, each in stacked.items() if each.part in products and computed_in_update(program, each) is None}
        others = {value: each for value, each in stacked.items() if value not in held}
        if recomputed & products or len(others) < len(stacked):
            code = _wrapped(file, function, f", policy=jax.checkpoint_policies.{DOTS_SAVEABLE}")
            instead = _saved_instead(flow, others.values(), calls, products - {each.part for each in filled if each.value in held})
            whole = frozenset(inside)
            # What is called once, such as the loss, XLA recomputes as early as it can: its backward half waits for nothing.
            # Calls that are counted wrongly have very different sizes; the first one has what prepares the weights too.
            sizes = Counter(calls.values()).values()
            repeats = len(sizes) > 1 and 4 * min(sizes) >= max(sizes)
            pieces = {**named, **_pieces(flow, named, recomputed - products)} if repeats else named
            yield Checkpoint(f"{name}:{DOTS_SAVEABLE}", whole, recomputed - products, pieces, (code,), others, products, instead)


def _pieces(flow: Flow, calls: Mapping[NodeKey, str], recomputed: Container[NodeKey]) -> dict[NodeKey, str]:
    """The call of what is recomputed, and the piece of it: between the values that a policy keeps, nothing is recomputed together."""
    first: dict[NodeKey, NodeKey] = {}

    def start(key: NodeKey) -> NodeKey:
        while first[key] != key:
            first[key] = key = first[first[key]]
        return key

    for key, call in calls.items():
        if key not in recomputed:
            continue
        first[key] = key
        for operand in flow.operands.get(key, ()):
            maker = flow.makers[operand]
            if maker in first and calls[maker] == call:
                first[start(maker)] = start(key)
    return {key: f"{calls[key]} {start(key)[1]}" for key in first}


def _saved_instead(flow: Flow, stacked: Iterable[Stack], inside: Container[NodeKey], products: Container[NodeKey]) -> dict[ValueKey, Stack]:
    """The products that a policy saves because what iterations saved before is computed from them, each with a stack that it replaces."""
    waiting = list(dict.fromkeys(key for each in stacked for key in (each.update, each.part) if key not in products))
    stack_of = {each.part[0]: each for each in stacked}
    seen = set(waiting)
    found: dict[ValueKey, Stack] = {}
    for key in waiting:  # grows while it is walked
        for operand in flow.operands.get(key, ()):
            maker = flow.makers[operand]
            if maker in products and maker in inside:
                found.setdefault(operand, stack_of[key[0]])
            elif maker in inside and maker not in seen:
                seen.add(maker)
                waiting.append(maker)
    return found


def _inside_of_step(frames: Mapping[NodeKey, Sequence[Frame]], members: Mapping[Function, list[NodeKey]]) -> dict[Function, list[NodeKey]]:
    """Without the functions around the one that is differentiated: of those that compute the whole forward half, the innermost is left."""
    known = sum(map(bool, frames.values()))
    whole = [function for function, inside in members.items() if len(inside) >= _WHOLE * known]
    outer = set(whole[1:])  # frames start with the innermost
    return {function: inside for function, inside in members.items() if function not in outer}


def _wrapped(file: str, function: str, policy: str = "") -> str:
    outer, _, name = function.rpartition(".")
    place = f"in {PurePath(file).name}"
    if outer.endswith("<locals>"):
        return f"{name} = jax.checkpoint({name}{policy})  # {place}, inside {outer.removesuffix('.<locals>')}"
    if outer:  # a method: its `self` is not an array
        return f"{outer} = flax.linen.remat({outer}{policy})  # {place}; without Flax, jax.checkpoint around what calls {function}"
    return f"{name} = jax.checkpoint({name}{policy})  # {place}, below its definition; static_argnums for arguments that are not arrays"


def _frames(program: Program, flow: Flow) -> dict[NodeKey, Sequence[Frame]]:
    """The lines that a node of the forward half comes from. What a compiler added belongs to what it is computed from, or is for."""
    frames = {key: own_frames(program, node) for key, node in flow.forward.items()}
    for key in flow.forward:
        if not frames[key]:
            makers = (flow.makers[operand] for operand in flow.operands[key])
            frames[key] = next((frames[maker] for maker in makers if frames.get(maker)), ())
    for key in reversed(flow.forward):
        if not frames[key]:
            frames[key] = next((frames[reader] for reader in flow.readers.get(key, ()) if frames.get(reader)), ())
    return frames


def _calls(flow: Flow, function: Function, inside: Sequence[NodeKey], frames: Mapping[NodeKey, Sequence[Frame]]) -> dict[NodeKey, int]:
    """The number of the call that each node belongs to. All calls have the same lines, so they are counted along the data flow: by the
    first kind of node that is there as often as there are calls, and of which each one depends on the one before."""
    kinds = {key: (tuple(frames[key]), _SUFFIX.sub("", key[1]), tuple(map(str, flow.forward[key].outputs))) for key in inside}
    times = Counter(kinds.values())
    # What does not depend on the call, such as a mask, is there once for all of them.
    varying = {kinds[key] for key in inside if any(flow.makers[operand] in flow.forward for operand in flow.operands[key])}
    by_name: Counter[int] = Counter()
    by_type: Counter[int] = Counter()
    types = Counter(_unnamed(kind) for kind in kinds.values() if kind in varying)
    for kind in varying:
        line = next(frame.line for frame in kind[0] if (frame.file, frame.function) == function)
        by_name[line] = max(by_name[line], times[kind])
        by_type[line] = max(by_type[line], types[_unnamed(kind)])
    usual = min(by_name.values(), default=1)  # every line runs in each call, and in a loop inside of the function more often
    more = min(by_type.values(), default=1)
    if usual < more < 2 * usual:  # one call is fused in another way, such as the first one
        calls = _numbered(flow, kinds, times, more)
        if max(calls.values(), default=0) == more:
            return _from_start(calls, kinds, more)
    return _from_start(_numbered(flow, kinds, times, usual), kinds, usual)


def _from_start(calls: Mapping[NodeKey, int], kinds: Mapping[NodeKey, _Kind], usual: int) -> dict[NodeKey, int]:
    """The numbers, also of what runs before the counted node of its call: of equal nodes, the first then has none before it, and the last
    one less than there are calls."""
    equal: dict[_Kind, list[int]] = defaultdict(list)
    for key, kind in kinds.items():
        for each in (kind, _unnamed(kind)):
            equal[each].append(calls[key])
    before = {kind for kind, numbers in equal.items() if min(numbers) == 0 and max(numbers) == usual - 1}
    return {key: max(1, calls[key] + (kind in before or _unnamed(kind) in before)) for key, kind in kinds.items()}


def _unnamed(kind: _Kind) -> _Kind:
    return kind[0], "", kind[2]


def _numbered(flow: Flow, kinds: Mapping[NodeKey, _Kind], times: Mapping[_Kind, int], usual: int) -> dict[NodeKey, int]:
    """The number of each node by the kind, of those that are there so often, that tells most calls apart."""
    calls: dict[NodeKey, int] = {}
    for kind in [kind for kind, number in times.items() if number == usual][:_MOST_TRIED]:
        counted = _counted(flow, kinds, kind)
        if not calls or max(counted.values()) > max(calls.values()):
            calls = counted
        if max(calls.values()) == usual:
            break
    return calls


def _counted(flow: Flow, kinds: Mapping[NodeKey, object], kind: object) -> dict[NodeKey, int]:
    """How many nodes of a kind are on the way to each node, itself included."""
    counted: dict[NodeKey, int] = {}
    for key in flow.forward:
        before = max((counted.get(flow.makers[operand], 0) for operand in flow.operands[key]), default=0)
        counted[key] = before + (kinds.get(key) == kind)
    return counted


def _modules(flow: Flow) -> Iterator[Checkpoint]:
    members: dict[tuple[str, ...], list[NodeKey]] = defaultdict(list)
    for key, node in flow.forward.items():
        for depth in range(1, len(node.scope) + 1):
            members[node.scope[:depth]].append(key)
    places: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for scope in members:
        places[_NUMBER.sub("*", ".".join(_parts(scope)))].append(scope)
    for name, scopes in places.items():
        inside = [key for scope in scopes for key in members[scope]]
        recomputed = frozenset(key for scope in scopes for key in _not_handed_out(flow, dict.fromkeys(members[scope], 0)))
        calls = {key: "/".join(scope) for scope in scopes for key in members[scope]}
        yield Checkpoint(name, frozenset(inside), recomputed, calls, tuple(_wrapped_modules([_parts(scope) for scope in scopes])), {})


def recomputed_in(flow: Flow, modules: set[str]) -> dict[NodeKey, str]:
    """What is recomputed if the modules with these qualified names are checkpointed, each with the name of its module."""
    members: dict[str, list[NodeKey]] = defaultdict(list)
    for key, node in flow.forward.items():
        for depth in range(1, len(node.scope) + 1):
            name = ".".join(_parts(node.scope[:depth]))
            if name in modules:
                members[name].append(key)
    return {key: name for name, inside in members.items() for key in _not_handed_out(flow, dict.fromkeys(inside, 0))}


def _parts(scope: Iterable[str]) -> list[str]:
    """The path of a module: `layers`, `0`, `up` for `layers.0: Block/up: Linear`."""
    return [word for part in scope for word in part.partition(":")[0].split(".")]


def _wrapped_modules(modules: Sequence[list[str]]) -> Iterator[str]:
    """What replaces `forward` by one that is checkpointed: it works with any arguments, and without another line of the model."""
    yield "from functools import partial"
    yield "from torch.utils.checkpoint import checkpoint"
    numbers = [[word for word in module if word.isdecimal()] for module in modules]
    if len(modules) > 1 and numbers == [[str(number)] for number in range(len(modules))]:
        path = _code(["i" if word.isdecimal() else word for word in modules[0]], "i")
        yield f"for i in range({len(modules)}):"
        yield f"    {path}.forward = partial(checkpoint, {path}.forward, use_reentrant=False)"
        return
    for module in modules:
        yield f"{_code(module)}.forward = partial(checkpoint, {_code(module)}.forward, use_reentrant=False)"


def _code(module: Iterable[str], index: str = "") -> str:
    return "model" + "".join(f"[{word}]" if word.isdecimal() or word == index else f".{word}" for word in module)


def _not_handed_out(flow: Flow, calls: Mapping[NodeKey, int]) -> frozenset[NodeKey]:
    """The nodes whose values only their own call reads in the forward half."""
    return frozenset(
        key
        for key, call in calls.items()
        if all(reader not in flow.forward or calls.get(reader) == call for reader in flow.readers.get(key, ()))
    )
