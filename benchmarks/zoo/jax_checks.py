"""What is measured of one JAX program: the stages that are captured, whether all equations are there, FLOPs, bytes of arguments and
results and time beside XLA's, what a look changed, and for training steps links and saved values beside JAX's own."""

from __future__ import annotations

import inspect
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import jax

import opscope
from opscope.analysis.cost import CostModel
from opscope.memory.schedule import computed_memory
from opscope.memory.xla_proto import captured_memory
from opscope.program import Program
from opscope.readers import capture_object

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "jax_functions"))

STAGES = ("jaxpr", "stablehlo", "hlo", "optimized")


def check(function: Any, args: tuple[Any, ...]) -> dict[str, Any]:
    warnings.filterwarnings("ignore")
    row: dict[str, Any] = {"stages": {}, "wrong": [], "unknown": []}
    programs: dict[str, Program] = {}
    settings = dict(jax.config.values)
    before = list(map(str, jax.tree.leaves(args)))
    for stage in STAGES:
        try:
            started = time.process_time()
            programs[stage] = capture_object(function, *args, stage=stage)
            row["stages"][stage] = "ok"
            row.setdefault("seconds", {})[stage] = time.process_time() - started
        except opscope.OpscopeError as error:
            row["stages"][stage] = f"refused: {error}"
        except Exception as error:
            row["stages"][stage] = f"failed: {type(error).__name__}: {error}"
    row["effects"] = [name for name, value in jax.config.values.items() if settings.get(name) != value]
    row["effects"] += ["arguments"] if list(map(str, jax.tree.leaves(args))) != before else []
    if "jaxpr" in programs:
        row["nodes"] = sum(node.role == "op" for graph in programs["jaxpr"] for node in graph)
        row["unknown"] = sorted(CostModel(programs["jaxpr"]).unknown_flops_ops)
    try:
        summary = str(opscope.summary(function, input_data=args))
        row["stages"]["summary"] = "ok" if summary else "empty"
    except Exception as error:
        row["stages"]["summary"] = f"failed: {type(error).__name__}: {error}"
    return row | _beside_xla(function, args, programs)


def _beside_xla(function: Any, args: tuple[Any, ...], programs: dict[str, Program]) -> dict[str, Any]:
    """Equations and FLOPs, of functions. Of a module, JAX by itself would take the parameters as constants."""
    jitted = function if hasattr(function, "trace") else jax.jit(function) if inspect.isfunction(function) else None
    if jitted is None:
        return {}
    try:
        jax.clear_caches()
        started = time.process_time()
        traced = jitted.trace(*args)
        times = {"jaxpr": time.process_time() - started}
        lowered = traced.lower()
        times["stablehlo"] = times["hlo"] = time.process_time() - started
        compiled = lowered.compile()
        times["optimized"] = time.process_time() - started
        costs = {"hlo": lowered.cost_analysis(), "optimized": compiled.cost_analysis()}
    except Exception:
        return {}  # its arguments are modules, which opscope takes apart
    row: dict[str, Any] = {"flops": {}, "jit seconds": times}
    analysis = compiled.memory_analysis()
    if "optimized" in programs and analysis is not None:
        split = (captured_memory(programs["optimized"]) or computed_memory(programs["optimized"])).split
        row["memory"] = [split, {use: getattr(analysis, f"{use}_size_in_bytes") for use in split}]
    equations = _equations(traced.jaxpr)
    if "jaxpr" in programs and equations != sum(node.role == "op" for graph in programs["jaxpr"] for node in graph):
        row["wrong"] = ["jaxpr"]
    for stage, cost in costs.items():
        if stage in programs:
            counted = CostModel(programs[stage], as_xla=True).total.flops
            row["flops"][stage] = [counted, cost.get("flops", 0) + cost.get("transcendentals", 0)]
    return row


def _equations(closed: Any) -> int:
    """The equations of a jaxpr and of all that it calls, each jaxpr once."""
    visited: dict[int, Any] = {}
    waiting = [closed]
    while waiting:
        jaxpr = waiting.pop()
        jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
        if id(jaxpr) in visited:
            continue
        visited[id(jaxpr)] = jaxpr
        for equation in jaxpr.eqns:
            for value in equation.params.values():
                inner = value if isinstance(value, tuple | list) else (value,)
                waiting += [each for each in inner if hasattr(getattr(each, "jaxpr", each), "eqns")]
    return sum(len(jaxpr.eqns) for jaxpr in visited.values())
