"""What backends take over: delegates of real ExecuTorch appear as the graphs that they were made from."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import opscope
from opscope.errors import OpscopeError
from opscope.program import Program
from opscope.readers import etdump


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.cumsum(self.first(x).relu(), dim=1))  # cumsum is not XNNPACK's: two delegates


@pytest.fixture(scope="module")
def edge() -> Any:
    pytest.importorskip("executorch")
    logging.disable(logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
        from executorch.exir import to_edge_transform_and_lower

        exported = torch.export.export(Net().eval(), (torch.ones(3, 4),))
        edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    logging.disable(logging.NOTSET)
    return edge


@pytest.fixture(scope="module")
def lowered(edge: Any) -> Program:
    return opscope.capture(edge.exported_program())


def test_delegates_are_called_graphs(lowered: Program) -> None:
    """Each call leads to a graph with its backend, its size, and the operations that went into it."""
    calls = [node for node in lowered.main if node.calls]
    assert [node.op for node in calls] == ["executorch_call_delegate"] * 2
    first, second = (lowered[node.calls[0]] for node in calls)
    assert first.attrs["backend"] == second.attrs["backend"] == "XnnpackBackend"
    assert first.attrs["bytes"] > 0
    assert [node.op for node in first if node.role == "op"] == ["aten.linear.default", "aten.relu.default"]
    assert {node.attrs["name"] for node in second if node.op == "parameter"} == {"second.weight", "second.bias"}


def test_operators_of_the_edge_dialect_have_their_names(lowered: Program) -> None:
    """ExecuTorch wraps operators; they have their ATen names, and the schema's argument names."""
    (cumsum,) = [node for node in lowered.main if "cumsum" in node.op]
    assert (cumsum.op, cumsum.attrs["dim"]) == ("aten.cumsum.default", 1)
    assert lowered.main.users[cumsum.id] == (lowered.main.nodes[-3].id,)


def test_times_of_an_etdump_are_on_operators_and_delegates(edge: Any, lowered: Program, tmp_path: Path) -> None:
    """ExecuTorch's wheel has a runtime that writes no events, so the file is written with its schema and read with its Inspector. Kernels
    and delegates are the instructions of the program that it would run; a delegate's own events are part of its time."""
    from executorch.devtools.etdump import schema_flatcc as schema
    from executorch.devtools.etdump.serialize import serialize_to_etdump_flatcc

    def event(name: str, instruction: int, start: int, end: int, inside: str = "") -> schema.Event:
        chain = -1 if instruction < 0 else 0
        return schema.Event(schema.ProfileEvent(name, chain, instruction, -1, inside, None, start, end), None, None)

    plan = edge.to_executorch().executorch_program.execution_plan[0]
    runs = [schema.RunData("Default", -1, [], [event("Program::load_method", -1, 0, 5000)])]
    for run in range(2):
        events = [event("Method::execute", -1, 0, 90_000)]
        for i, instruction in enumerate(plan.chains[0].instructions):
            args, start, end = instruction.instr_args, 10_000 * i, 10_000 * i + 1000 * (i + 1) + 100 * run
            if hasattr(args, "op_index"):
                operator = plan.operators[args.op_index]
                events.append(event(f"native_call_{operator.name.removeprefix('aten::')}.{operator.overload}", i, start, end))
                events.append(event("OPERATOR_CALL", i, start, end + 300))
            elif hasattr(args, "delegate_index"):
                events.append(event("", i, start, end - 50, inside="Fully Connected"))
                events.append(event("DELEGATE_CALL", i, start, end))
        runs.append(schema.RunData("Execute", -1, [], events))
    data = serialize_to_etdump_flatcc(schema.ETDumpFlatCC(0, runs))
    path = tmp_path / "run.etdp"
    path.write_bytes(len(data).to_bytes(4, "little") + data)  # as the runtime writes it
    assert etdump.is_etdump(path.read_bytes())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (timed,) = etdump.timed([lowered], etdump.inspected(str(path)))
    assert timed.times is not None and timed.times.steps == 2 and not timed.times.unplaced
    kinds = {lowered.main[node].op: seconds for (_, node), seconds in timed.times.seconds.items()}
    assert kinds.keys() == {"executorch_call_delegate", "aten.cumsum.default"} and len(timed.times.seconds) == 3
    column = timed.program.main.metrics["device time"]
    (cumsum,) = [node.id for node in lowered.main if "cumsum" in node.op]
    order = [node for node in (node.id for node in lowered.main) if node in column]
    assert [round(column[node] * 1e9) for node in order] == sorted(round(each * 1e9) for each in column.values()) and cumsum in order[1:-1]
    with pytest.raises(OpscopeError, match=r"is a profile of another program: it ran DELEGATE_CALL, cumsum\.out"):
        etdump.timed([opscope.load("demo:train_step")], etdump.inspected(str(path)))
