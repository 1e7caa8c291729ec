"""Kernels without a name of their instruction, put back on the schedule."""

from __future__ import annotations

import random

from opscope import Program
from opscope.profile.align import align
from opscope.profile.model import Event
from opscope.profile.place import Times, place
from opscope.readers.hlo import parse_hlo

MODULE = """
HloModule step, is_scheduled=true

%add_body (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  ROOT %add = f32[8]{0} add(%p, %p)
}

%same_body (q: f32[8]) -> f32[8] {
  %q = f32[8]{0} parameter(0)
  ROOT %sum = f32[8]{0} add(%q, %q)
}

%exp_body (r: f32[8]) -> f32[8] {
  %r = f32[8]{0} parameter(0)
  ROOT %e = f32[8]{0} exponential(%r)
}

%loop_body (t: f32[8]) -> f32[8] {
  %t = f32[8]{0} parameter(0)
  ROOT %loop_exp_fusion.1 = f32[8]{0} fusion(%t), kind=kLoop, calls=%exp_body
}

%loop_condition (u: f32[8]) -> pred[] {
  %u = f32[8]{0} parameter(0)
  ROOT %less = pred[] constant(true)
}

ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  %loop_add_fusion = f32[8]{0} fusion(%x), kind=kLoop, calls=%add_body
  %custom-call.1 = f32[8]{0} custom-call(%loop_add_fusion), custom_call_target="__cublas$gemm"
  %loop_add_fusion.1 = f32[8]{0} fusion(%custom-call.1), kind=kLoop, calls=%same_body
  %copy.3 = f32[8]{0} copy(%loop_add_fusion.1)
  %while.2 = f32[8]{0} while(%copy.3), condition=%loop_condition, body=%loop_body{COUNT}
  ROOT %custom-call.4 = f32[8]{0} custom-call(%while.2), custom_call_target="__cublas$gemm"
}
"""
KNOWN = ', backend_config={"known_trip_count":{"n":"3"}}'
RUN = (
    "loop_add_fusion",
    "Memset 0",
    "nvjet_tst",
    "splitKreduce_kernel",
    "loop_add_fusion",
    "MemcpyD2D",
    *["loop_exp_fusion_1"] * 3,
    "Memset 0",
    "nvjet_tst",
)
EXPECTED = ("loop_add_fusion", *["custom-call.1"] * 3, "loop_add_fusion.1", "copy.3", *["loop_exp_fusion.1"] * 3, *["custom-call.4"] * 2)


def program(count: str = KNOWN) -> Program:
    return parse_hlo(MODULE.replace("{COUNT}", count))[0]


def events(names: tuple[str, ...], runs: int = 2, op: str = "command_buffer_1") -> list[Event]:
    return [Event(name, op, i * 1000, 10 + i % len(names), 1, 0, 1 + i % len(names)) for i, name in enumerate(names * runs)]


def picoseconds(times: Times) -> dict[str, int]:
    """The time of each node."""
    return {node: round(seconds * 1e12) for (_, node), seconds in times.seconds.items()}


def expected(runs: int = 2) -> dict[str, int]:
    totals: dict[str, int] = {}
    for i, node in enumerate(EXPECTED):
        totals[node] = totals.get(node, 0) + runs * (10 + i)
    return totals


def test_captured_kernels_get_their_instructions() -> None:
    """A shared kernel is told apart by order, workspaces go to their library call, and a loop repeats its body."""
    times = place(program(), events(RUN))
    assert picoseconds(times) == expected() and times.steps == 2 and not times.unplaced
    assert times.calls(("loop_body", "loop_exp_fusion.1")) == 6 and times.calls(("main", "custom-call.1")) == 2


def test_a_loop_of_unknown_length_is_as_long_as_its_kernels_say() -> None:
    assert picoseconds(place(program(count=""), events(RUN))) == expected()


def test_named_events_keep_their_names_and_anchor_the_others() -> None:
    named = [event._replace(op="custom-call.4") if i % len(RUN) >= 9 else event for i, event in enumerate(events(RUN))]
    assert picoseconds(place(program(), named)) == expected()


def test_a_kernel_of_nothing_is_reported_with_its_name() -> None:
    times = place(program(), events((*RUN[:4], "stranger", *RUN[4:])))
    assert list(times.unplaced) == ["stranger"] and times.unplaced["stranger"] == (2 * 14e-12, 2)
    assert times.device_seconds == times.placed_seconds + 2 * 14e-12


def test_a_run_that_lacks_a_kernel_is_placed_as_well() -> None:
    times = place(program(), [event for i, event in enumerate(events(RUN)) if i != len(RUN) + 4])
    assert picoseconds(times)["loop_add_fusion.1"] == 14 and picoseconds(times)["loop_add_fusion"] == 20


def test_random_gaps_keep_the_order() -> None:
    """Whatever is missing or added, the aligned pairs are equal labels, and they do not cross."""
    dice = random.Random(0)
    for _ in range(200):
        launches = [dice.choice("abcde") for _ in range(dice.randrange(30))]
        kernels = [label for label in launches if dice.random() < 0.8]
        for _ in range(dice.randrange(4)):
            kernels.insert(dice.randrange(len(kernels) + 1), dice.choice(["", "x", "a"]))
        pairs = [(kernel, launch) for kernel, launch in enumerate(align(kernels, launches)) if launch is not None]
        assert all(kernels[kernel] == launches[launch] for kernel, launch in pairs)
        assert [launch for _, launch in pairs] == sorted({launch for _, launch in pairs})
        assert len(pairs) >= 0.5 * len([label for label in kernels if label in launches])


MOVES = """
HloModule moves, is_scheduled=true

%slice_body (p: f32[4,8], i: s32[]) -> f32[1,8] {
  %p = f32[4,8]{1,0} parameter(0)
  %i = s32[] parameter(1)
  %zero = s32[] constant(0)
  %j = s32[] subtract(%i, %zero)
  ROOT %row = f32[1,8]{1,0} dynamic-slice(%p, %j, %zero), dynamic_slice_sizes={1,8}
}

%async_computation (q: f32[4,8], k: s32[]) -> f32[1,8] {
  %q = f32[4,8]{1,0} parameter(0)
  %k = s32[] parameter(1)
  ROOT %loop_dynamic_slice_fusion.1 = f32[1,8]{1,0} fusion(%q, %k), kind=kLoop, calls=%slice_body
}

%sort_body (r: f32[8]) -> f32[8] {
  %r = f32[8]{0} parameter(0)
  ROOT %sort.14.1 = f32[8]{0} sort(%r), dimensions={0}, to_apply=%less_than
}

%less_than (a: f32[], b: f32[]) -> pred[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %lt = pred[] compare(%a, %b), direction=LT
}

%exp_body (s: f32[8]) -> f32[8] {
  %s = f32[8]{0} parameter(0)
  ROOT %e = f32[8]{0} exponential(%s)
}

%same_body (t: f32[8]) -> f32[8] {
  %t = f32[8]{0} parameter(0)
  ROOT %f = f32[8]{0} exponential(%t)
}

%yes (u: f32[8]) -> f32[8] {
  %u = f32[8]{0} parameter(0)
  %loop_exp_fusion.1 = f32[8]{0} fusion(%u), kind=kLoop, calls=%exp_body
  ROOT %copy.9 = f32[8]{0} copy(%loop_exp_fusion.1)
}

%no (v: f32[8]) -> f32[8] {
  %v = f32[8]{0} parameter(0)
  ROOT %loop_exp_fusion.2 = f32[8]{0} fusion(%v), kind=kLoop, calls=%same_body
}

%compare_body (w: f32[8]) -> pred[] {
  %w = f32[8]{0} parameter(0)
  ROOT %c = pred[] constant(true)
}

%condition (x: f32[8]) -> pred[] {
  %x = f32[8]{0} parameter(0)
  ROOT %loop_compare_fusion = pred[] fusion(%x), kind=kLoop, calls=%compare_body
}

%body (y: f32[8]) -> f32[8] {
  %y = f32[8]{0} parameter(0)
  ROOT %negate.5 = f32[8]{0} negate(%y)
}

ENTRY %main (z: f32[8], table: f32[4,8], n: s32[], is_yes: pred[]) -> f32[8] {
  %z = f32[8]{0} parameter(0)
  %table = f32[4,8]{1,0} parameter(1)
  %n = s32[] parameter(2)
  %is_yes = pred[] parameter(3)
  %fusion-start = ((f32[4,8]{1,0}, s32[]), f32[1,8]{1,0}, u32[]) async-start(%table, %n), calls=%async_computation
  %fusion-done = f32[1,8]{1,0} async-done(%fusion-start)
  %fusion.11 = f32[8]{0} fusion(%z), kind=kCustom, calls=%sort_body
  %cond.2 = f32[8]{0} conditional(%is_yes, %fusion.11, %fusion.11), true_computation=%yes, false_computation=%no
  ROOT %while.3 = f32[8]{0} while(%cond.2), condition=%condition, body=%body, backend_config={"known_trip_count":{"n":"2"}}
}
"""


def test_copies_in_fusions_sorts_branches_and_the_end_of_a_loop() -> None:
    """As XLA's list of thunks has them: a fusion that only moves data runs as a copy, a sort copies its operand and has several rounds, a
    branch is told by its own kernels, and the condition runs once more than the body."""
    names = (
        "MemcpyD2D",
        "MemcpyD2D",
        "sort_14_1",
        "sort_14_1",
        "loop_exp_fusion_2",
        *["loop_compare_fusion", "negate_5"] * 2,
        "loop_compare_fusion",
    )
    times = place(parse_hlo(MOVES)[0], events(names))
    assert not times.unplaced
    assert picoseconds(times) == {
        "loop_dynamic_slice_fusion.1": 2 * 10,
        "fusion.11": 2 * (11 + 12 + 13),
        "loop_exp_fusion.2": 2 * 14,
        "loop_compare_fusion": 2 * (15 + 17 + 19),
        "negate.5": 2 * (16 + 18),
    }
