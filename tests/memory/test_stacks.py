"""Stacks of loops in damaged programs: a cycle of moves has an end here."""

from __future__ import annotations

from opscope.memory.stacks import stacks, written_in
from opscope.readers.hlo import parse_hlo

CYCLE = """\
HloModule cyc, is_scheduled=true

body {
  p = (s32[], f32[4,8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  s = f32[4,8] get-tuple-element(p), index=1
  a = f32[1,8] bitcast(b)
  b = f32[1,8] bitcast(a)
  u = f32[4,8] dynamic-update-slice(s, a, i, i)
  ROOT t = (s32[], f32[4,8]) tuple(i, u)
}

cond {
  p = (s32[], f32[4,8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(4)
  ROOT l = pred[] compare(i, n), direction=LT
}

ENTRY main {
  z = s32[] constant(0)
  x = f32[4,8] parameter(0)
  t = (s32[], f32[4,8]) tuple(z, x)
  w = (s32[], f32[4,8]) while(t), condition=cond, body=body
  ROOT r = f32[4,8] get-tuple-element(w), index=1
}
"""


def test_a_cycle_of_moves_is_followed_once() -> None:
    (program,) = parse_hlo(CYCLE)
    (stack,) = stacks(program, {("main", node.id): node for node in program["main"]})
    assert stack.value == ("main", "w{1}") and stack.update == ("body", "u")
    assert written_in(program, stack).id in ("a", "b")
