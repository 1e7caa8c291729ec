"""Memory as metrics on nodes."""

from __future__ import annotations

from opscope.memory.metrics import with_memory
from opscope.memory.schedule import computed_memory
from opscope.readers.hlo import parse_hlo

TEXT = """HloModule m, is_scheduled=true
ENTRY main {
  p = f32[256]{0} parameter(0)
  a = f32[256]{0} reverse(p), dimensions={0}
  b = f32[1024]{0} broadcast(a), dimensions={0}
  ROOT r = f32[] custom-call(b), custom_call_target="sum"
}
"""


def test_every_node_says_what_is_in_use_when_it_runs_and_what_it_holds_at_the_peak() -> None:
    program = parse_hlo(TEXT)[0]
    memory = computed_memory(program)
    with_metrics = with_memory(program, memory)
    assert memory.step_at(memory.peak) == "b"
    assert with_metrics.main.metrics["live bytes"] == {"p": 1024, "a": 2048, "b": 6144, "r": 5124}
    assert with_metrics.main.metrics["bytes at peak"] == {"p": 1024, "a": 1024, "b": 4096}
    assert with_metrics.metrics["live bytes"].combine == "max" and with_metrics.metrics["bytes at peak"].combine == "sum"
    assert with_metrics.metrics["live bytes"].origin == "estimated"
