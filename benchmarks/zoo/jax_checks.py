"""What is measured of one JAX program: the stages that are captured, whether all equations are there, and FLOPs beside XLA's."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import jax

import opscope
from opscope.analysis.cost import CostModel
from opscope.program import Program
from opscope.readers import capture_object

STAGES = ("jaxpr", "stablehlo", "hlo", "optimized")


def check(function: Any, args: tuple[Any, ...]) -> dict[str, Any]:
    warnings.filterwarnings("ignore")
    row: dict[str, Any] = {"stages": {}, "wrong": [], "unknown": []}
    programs: dict[str, Program] = {}
    for stage in STAGES:
        try:
            programs[stage] = capture_object(function, *args, stage=stage)
            row["stages"][stage] = "ok"
        except opscope.OpscopeError as error:
            row["stages"][stage] = f"refused: {error}"
        except Exception as error:
            row["stages"][stage] = f"failed: {type(error).__name__}: {error}"
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
        traced = jitted.trace(*args)
        lowered = traced.lower()
        costs = {"hlo": lowered.cost_analysis(), "optimized": lowered.compile().cost_analysis()}
    except Exception:
        return {}  # its arguments are modules, which opscope takes apart
    row: dict[str, Any] = {"flops": {}}
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
