"""What is measured of one PyTorch model: what opscope captures, whether it is true, whether anything changed, what it costs."""

from __future__ import annotations

import copy
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import opscope
from opscope.analysis.cost import CostModel
from opscope.analysis.enrich import enrich
from opscope.memory.schedule import computed_memory
from opscope.program import BACKWARD, BACKWARD_OF, DIRECTION_ATTR
from opscope.readers import capture_object
from opscope.readers.torch.nested import tensors

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from support.exported_truth import edges_of, expected_graph, wrong_scopes, wrong_types
from support.torch_state import differences, state_of, tensors_of, world

LOOKS = ("forward", "joint", "eager", "autograd", "summary")


def prepare() -> None:
    """Imports whatever a look at any model imports, once for all processes that are forked."""
    warnings.filterwarnings("ignore")
    model = torch.nn.Linear(2, 2)
    for look in LOOKS:
        _look(look, model, (torch.rand(1, 2),), {})
    _measured(model, (torch.rand(1, 2),), {})


def check(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """A row of the tables. The model must run. Nothing else is done to it between two looks."""
    warnings.filterwarnings("ignore")
    row: dict[str, Any] = {"stages": {}, "effects": []}
    programs, seconds, exports = {}, {}, {}
    hidden = _hidden_states(copy.deepcopy(model), args, kwargs)
    _result(model, args, kwargs)
    later, untouched = _result(model, args, kwargs), (state_of(model), tensors_of(model))
    for look in LOOKS:
        for _ in range(2):  # a first look may import what registers classes and filters of its own
            outside = world()
            started = time.process_time()
            with _watched_export() as exports[look]:
                programs[look], row["stages"][look] = _look(look, model, args, kwargs)
            seconds[look] = time.process_time() - started
            changed = differences(outside, world())
            if not changed:
                break
        row["effects"] += [f"{look}: {name}" for name in changed]
        if (state_of(model), tensors_of(model)) != untouched:
            row["effects"].append(f"{look}: the model")
        earlier, later = later, _result(model, args, kwargs)
        if not _same(later, earlier):
            row["effects"].append(f"{look}: later results")
        untouched = (state_of(model), tensors_of(model))  # some models keep something of each call
    if not _same(_hidden_states(model, args, kwargs), hidden):
        row["effects"].append("hidden states")
    if programs["forward"] is not None:
        row |= {"seconds": seconds["forward"], "export seconds": sum(each for _, each in exports["forward"])}
        row |= _truth(programs["forward"], model, exports["forward"][-1][0], kwargs)
        row |= _flops(programs["forward"], model, args, kwargs)
    if programs["joint"] is not None:
        row |= _links(programs["joint"]) | _memory(programs["joint"], model, args, kwargs)
        row["unknown in joint"] = sorted(CostModel(programs["joint"]).unknown_flops_ops)
    return row


@contextmanager
def _watched_export() -> Iterator[list[tuple[Any, float]]]:
    """What torch.export makes during a look, and its CPU seconds; None where it raises."""
    export, calls = torch.export.export, []

    def watched(*args: Any, **kwargs: Any) -> Any:
        exported, started = None, time.process_time()
        try:
            exported = export(*args, **kwargs)
            return exported
        finally:
            calls.append((exported, time.process_time() - started))

    torch.export.export = watched
    try:
        yield calls
    finally:
        torch.export.export = export


def _look(look: str, model: Any, args: Any, kwargs: Any) -> tuple[Any, str]:
    try:
        if look == "summary":
            opscope.summary(model, input_data=(args or kwargs))
            return None, "ok"
        program = capture_object(model, *args, **kwargs, stage=look)
    except opscope.OpscopeError as error:
        return None, f"refused: {error}"
    except Exception as error:
        return None, f"failed: {type(error).__name__}: {error}"
    notes = program.attrs.get("notes", [""])
    if "Showing one real run" in notes[0] or "error" in program.attrs:
        return program, "a run" if "error" not in program.attrs else f"a run that ends: {program.attrs['error']}"
    return program, notes[0].partition(",")[0] if notes[0].startswith("Exported") else "ok"


def _result(model: Any, args: Any, kwargs: Any) -> list[Any]:
    torch.manual_seed(0)
    with torch.no_grad():
        result = model(*copy.deepcopy(args), **copy.deepcopy(kwargs))
    return [(path, tensor.clone()) for path, tensor in tensors(result)]


def _hidden_states(model: Any, args: Any, kwargs: Any) -> list[Any]:
    """Models of transformers install hooks when they are first asked for these; nothing for other models."""
    if type(model).__module__.partition(".")[0] != "transformers":
        return []
    try:
        return _result(model, args, kwargs | {"output_hidden_states": True})
    except Exception as error:
        return [(type(error).__name__, torch.zeros(0))]


def _same(a: list[Any], b: list[Any]) -> bool:
    return [path for path, _ in a] == [path for path, _ in b] and all(
        torch.equal(x.nan_to_num(), y.nan_to_num()) for (_, x), (_, y) in zip(a, b, strict=True)
    )


def _truth(program: Any, model: Any, exported: Any, kwargs: Any) -> dict[str, Any]:
    """Nodes that are missing, extra or wrong, against torch's own walk over its graph; and parameters. A switch that nothing reads and that
    the call did not pass, such as `use_cache=False`, which opscope adds for torch.export, is not an input of the call."""
    elements = sum(parameter.numel() for parameter in {id(p): p for p in model.parameters()}.values())
    main = program.main
    counted = sum(kind.elements or 0 for node in main if node.role == "parameter" for kind in node.outputs)
    row: dict[str, Any] = {"nodes": len(main), "wrong": [], "parameters": [counted, elements]}
    if exported is not None:
        nodes, edges = expected_graph(exported, exported.graph)
        added = exported.example_inputs[1].keys() - kwargs.keys()
        nodes = [name for name in nodes if name not in added or any(source == name for source, _, _ in edges)]
        listed = [node.id for node in main if node.op != "constant" or node.id in nodes]
        row["wrong"] = sorted({*nodes} ^ {*listed})
        if not row["wrong"]:
            extra = {node.id for node in main} - {*nodes}
            row["wrong"] += [target for (source, _, target) in (edges - edges_of(main)) + (edges_of(main) - edges) if source not in extra]
            row["wrong"] += [*wrong_types(exported, main), *wrong_scopes(exported, main)]
    return row


def _flops(program: Any, model: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    costs = CostModel(program)
    row = {"unknown": sorted(costs.unknown_flops_ops)}
    try:
        table = opscope.summary(program).totals["flops"]
        with torch.enable_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:  # it counts no fused attention
            copy.deepcopy(model)(*copy.deepcopy(args), **copy.deepcopy(kwargs))
        return row | {"products": [table, counter.get_total_flops()]}
    except Exception as error:
        return row | {"products": [None, None], "counter": str(error)}


def _links(program: Any) -> dict[str, Any]:
    backward = [node for node in enrich(program).main if node.role == "op" and node.attrs.get(DIRECTION_ATTR) == BACKWARD]
    return {"linked": [sum(any(link.kind == BACKWARD_OF for link in node.links) for node in backward), len(backward)]}


def _memory(program: Any, model: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """Bytes at the peak of a step: computed from the joint graph, and what torch allocates in a real one besides what is there."""
    try:
        allocated = _measured(*copy.deepcopy((model, args, kwargs)))
        return {"memory": [computed_memory(program).peak_bytes, allocated]}
    except Exception as error:
        return {"allocator": str(error)}


def _measured(model: Any, args: Any, kwargs: Any) -> int:
    there = {tensor.untyped_storage()._cdata: tensor.untyped_storage().nbytes() for _, tensor in tensors([args, kwargs])}
    there |= {each.untyped_storage()._cdata: each.untyped_storage().nbytes() for each in (*model.parameters(), *model.buffers())}
    with torch.enable_grad(), torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        results = [tensor for _, tensor in tensors(model(*args, **kwargs)) if tensor.requires_grad]
        torch.autograd.backward(results, [torch.ones_like(tensor) for tensor in results])
    allocated = [event.nbytes() for event in profile.profiler.kineto_results.events() if event.name() == "[memory]"]
    return sum(there.values()) + max(accumulate(allocated), default=0)
