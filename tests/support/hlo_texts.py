"""HLO texts as XLA dumps them, for tests: a module before and after a fusion, and with replaced names."""

from __future__ import annotations

import random
import re
from pathlib import Path

from opscope.program import Program
from opscope.readers.hlo import parse_hlo

BEFORE = """HloModule jit_step, entry_computation_layout={(f32[8,8]{1,0}, f32[8,8]{1,0})->f32[8,8]{1,0}}

%region_0.1 (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b)
}

ENTRY %main.9 (x: f32[8,8], w: f32[8,8]) -> f32[8,8] {
  %x = f32[8,8]{1,0} parameter(0)
  %w = f32[8,8]{1,0} parameter(1)
  %dot.3 = f32[8,8]{1,0} dot(%x, %w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(step)/layer/dot"}
  %tanh.4 = f32[8,8]{1,0} tanh(%dot.3), metadata={op_name="jit(step)/layer/tanh"}
  %negate.5 = f32[8,8]{1,0} negate(%tanh.4), metadata={op_name="jit(step)/layer/neg"}
  %zero.6 = f32[] constant(0)
  %reduce.7 = f32[8]{0} reduce(%negate.5, %zero.6), dimensions={1}, to_apply=%region_0.1, metadata={op_name="jit(step)/sum"}
  %broadcast.8 = f32[8,8]{1,0} broadcast(%reduce.7), dimensions={0}, metadata={op_name="jit(step)/broadcast"}
  ROOT %add.9 = f32[8,8]{1,0} add(%broadcast.8, %x), metadata={op_name="jit(step)/add"}
}
"""

AFTER = """HloModule jit_step, entry_computation_layout={(f32[8,8]{1,0}, f32[8,8]{1,0})->f32[8,8]{1,0}}

%fused_computation (param_0: f32[8,8]) -> f32[8,8] {
  %param_0 = f32[8,8]{1,0} parameter(0)
  %tanh.1 = f32[8,8]{1,0} tanh(%param_0), metadata={op_name="jit(step)/layer/tanh"}
  ROOT %negate.1 = f32[8,8]{1,0} negate(%tanh.1), metadata={op_name="jit(step)/layer/neg"}
}

%region_0.1 (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b)
}

ENTRY %main.9 (x: f32[8,8], w: f32[8,8]) -> f32[8,8] {
  %x = f32[8,8]{1,0} parameter(0)
  %w = f32[8,8]{1,0} parameter(1)
  %dot.3 = f32[8,8]{0,1} dot(%x, %w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(step)/layer/dot"}
  %fusion.12 = f32[8,8]{1,0} fusion(%dot.3), kind=kLoop, calls=%fused_computation, metadata={op_name="jit(step)/layer/neg"}
  %zero.6 = f32[] constant(0)
  %reduce.7 = f32[8]{0} reduce(%fusion.12, %zero.6), dimensions={1}, to_apply=%region_0.1, metadata={op_name="jit(step)/sum"}
  %broadcast.8 = f32[8,8]{1,0} broadcast(%reduce.7), dimensions={0}, metadata={op_name="jit(step)/broadcast"}
  ROOT %add.9 = f32[8,8]{1,0} add(%broadcast.8, %x), metadata={op_name="jit(step)/add"}
}
"""

NOTES = """fusion_steps {
  update_priority {
    producer_name: "tanh.4"
    consumer_names: "negate.5"
    us_fused: 9.5
    us_unfused: 9.75
  }
}
fusion_steps {
  update_priority {
    producer_name: "tanh.4"
    consumer_names: "negate.5"
    us_fused: 1.5
    us_unfused: 2.033
  }
}
fusion_steps {
  fusion {
    fusion_name: "fusion.12"
    producer_name: "tanh.4"
    consumer_name: "negate.5"
  }
}
fusion_steps {
  producer_ineligible {
    producer_name: "dot.3"
    reason: "the producer is not fusible"
  }
}
gpu_device_info {
  threads_per_block_limit: 1024
}
"""
"""What XLA notes about fusions of this module while it compiles for a GPU."""

_NAME = re.compile(r"%([A-Za-z_][\w.-]*)")


def parse(text: str) -> Program:
    (program,) = parse_hlo(text)
    return program


def renamed(text: str, seed: int = 1) -> tuple[str, dict[str, str]]:
    """The text with every instruction and computation renamed at random, and the new names by the old ones."""
    names = sorted(set(_NAME.findall(text)))
    fresh = [f"r{i}" for i in range(len(names))]
    random.Random(seed).shuffle(fresh)
    new = dict(zip(names, fresh, strict=True))
    return _NAME.sub(lambda match: "%" + new[match[1]], text), new


STEPS = (
    ("before_optimizations", BEFORE),
    ("0000.outer.after_pipeline-start.before_inner", BEFORE),
    ("0001.inner.after_pipeline-start.before_dce", BEFORE),
    ("0002.inner.after_algsimp.before_pipeline-end", BEFORE.replace("f32[8,8]{1,0} tanh", "f32[8,8]{0,1} tanh")),
    ("0003.outer.after_inner.before_fusion", BEFORE),
    ("0004.outer.after_fusion.before_pipeline-end", AFTER),
    ("cpu_after_optimizations", AFTER),
)


def write_dump(directory: Path, module: str = "module_0007.jit_step") -> Path:
    """A dump as XLA writes it: the passes of one module, and files of other kinds."""
    directory.mkdir(exist_ok=True)
    for name, text in STEPS:
        (directory / f"{module}.{name}.txt").write_text(text)
    (directory / f"{module}.cpu_after_optimizations-buffer-assignment.txt").write_text("BufferAssignment:\n")
    (directory / f"{module}.ir-no-opt.ll").write_text("; ModuleID\n")
    return directory
