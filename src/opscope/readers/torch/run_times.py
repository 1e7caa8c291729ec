"""Runs the graph of a torch module node by node, and measures how long each takes, on the CPU or on a GPU."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

from opscope.errors import OpscopeError
from opscope.profile.peak import with_peak
from opscope.profile.place import Times, add_work
from opscope.profile.runs import Measurement
from opscope.program import Program
from opscope.readers.timed import Timed
from opscope.readers.torch import export
from opscope.readers.torch.exporting import exported_module, module_name, refuse_lazy
from opscope.readers.torch.joint import plain_module, traced_joint
from opscope.readers.torch.names import first_words
from opscope.readers.torch.run_memory import peak_of
from opscope.readers.torch.undisturbed import undisturbed


def measure(obj: Any, args: tuple[Any, ...], kwargs: dict[str, Any], stage: str, runs: int) -> Timed | None:
    """The program of a module with the times of its nodes; None for something else. `stage` is "forward" or "joint"."""
    import torch

    obj = getattr(obj, "_orig_mod", obj)
    if isinstance(obj, torch.export.ExportedProgram):
        if obj.range_constraints:
            raise OpscopeError("has symbolic sizes; pass the model and its inputs to measure one size")
        if not args and not kwargs:
            args, kwargs = obj.example_inputs or ((), {})
        return _measured(obj, plain_module(obj), args, kwargs, export.root_class(obj.graph_module) or "ExportedProgram", stage, runs)
    if not isinstance(obj, torch.nn.Module):
        return None
    refuse_lazy(obj)
    with exported_module(obj, args, kwargs) as exported:
        if exported.program is None:
            raise OpscopeError(f"{exported.refusal} Only what torch.export accepts can be measured node by node.")
        return _measured(exported.program, obj, args, exported.kwargs, module_name(obj), stage, runs)


def _measured(exported: Any, module: Any, args: Any, kwargs: Any, name: str, stage: str, runs: int) -> Timed:
    import torch

    with undisturbed(module, args, kwargs, is_timed=True) as watch:
        if stage == "joint":
            graph_module, program = traced_joint(exported, args, kwargs, name)
            inputs = _joint_inputs(graph_module, exported, args, kwargs)
        else:
            graph_module, program = exported.graph_module, export.program_of_exported(exported, name)
            inputs = graph_inputs(exported, args, kwargs)
        with torch.no_grad():
            return _times(program, graph_module, inputs, runs, watch)


def graph_inputs(exported: Any, args: Any, kwargs: Any) -> list[Any]:
    """The values of the graph's inputs, in order."""
    from torch.utils._pytree import tree_leaves

    given = iter(tree_leaves((args, kwargs)))
    values = []
    for spec in exported.graph_signature.input_specs:
        if spec.kind.name == "USER_INPUT":
            values.append(next(given))
        else:
            values.append(exported.state_dict[spec.target] if spec.target in exported.state_dict else exported.constants.get(spec.target))
    return values


def _joint_inputs(graph_module: Any, exported: Any, args: Any, kwargs: Any) -> list[Any]:
    """The values of a joint graph's inputs. Gradients of the results are ones."""
    import torch
    from torch.utils._pytree import tree_leaves

    given = tree_leaves((args, kwargs))
    values: list[Any] = []
    for node in graph_module.graph.nodes:
        if node.op != "placeholder":
            continue
        described = node.meta.get("desc")
        target = getattr(described, "target", None)
        if type(described).__name__ == "PlainAOTInput":
            values.append(given[described.idx])
        elif target is not None:
            values.append(exported.state_dict[target] if target in exported.state_dict else exported.constants[target])
        else:
            example = node.meta["val"]
            device = given[0].device if given and hasattr(given[0], "device") else "cpu"
            values.append(torch.ones(tuple(map(int, example.shape)), dtype=example.dtype, device=device))
    return values


def _times(program: Program, graph_module: Any, inputs: list[Any], runs: int, watch: Any) -> Timed:
    import torch

    is_cuda = any(isinstance(value, torch.Tensor) and value.is_cuda for value in inputs)
    clock = _Events() if is_cuda else _Clock()

    class Timing(torch.fx.Interpreter):  # type: ignore[misc]
        def run_node(self, n: Any) -> Any:
            if n.op in ("placeholder", "output", "get_attr"):
                return super().run_node(n)
            with clock.measuring(n.name):
                return super().run_node(n)

    flat = torch.fx.Graph()  # without the nesting of inputs and results, which the graph's own code may have
    flat.output(flat.graph_copy(graph_module.graph, {}))
    undisturbed_run = torch.fx.GraphModule(graph_module, flat)
    try:
        with watch:
            undisturbed_run(*inputs)
        for _ in range(2):
            undisturbed_run(*inputs)
            Timing(graph_module).run(*inputs, enable_io_processing=False)
        clock.take()
        peak = peak_of(lambda: undisturbed_run(*inputs), inputs)
        measurement = Measurement()
        for _ in range(runs):  # in alternation, so that both see the same machine
            started = clock.now()
            undisturbed_run(*inputs)
            measurement.whole.append(clock.now() - started)
            Timing(graph_module).run(*inputs, enable_io_processing=False)
            measurement.add(clock.take())
    except Exception as error:
        raise OpscopeError(f"{program.name} raised {first_words(error)} when it ran") from error
    times = Times(1)
    for node, seconds in measurement.medians.items():
        if node in program.main:
            add_work(times, (program.entry, node), program.main[node].op, seconds)
    return Timed(with_peak(measurement.on(program, times), peak), times)


_CYCLES = 10_000_000
"""Of a GPU, to find out how many there are in a second."""
_PAIRS = 50
"""Of events, to find out how far apart two of them are at least."""
_SHORTEST_SLEEP = 1e-4
_LONGEST_SLEEP = 1e-3
"""Seconds; a launch that takes longer waits for the GPU itself."""


class _Clock:
    """Time of the host, which waits for each operation."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    @contextmanager
    def measuring(self, node: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self._seconds[node] = time.perf_counter() - started

    def now(self) -> float:
        return time.perf_counter()

    def take(self) -> dict[str, float]:
        """The seconds since the last call."""
        seconds, self._seconds = self._seconds, {}
        return seconds


class _Events(_Clock):
    """Time of a GPU, by events in its stream; nothing waits until all nodes have run.

    The GPU sleeps before each node, for as long as the host took to launch it before. Otherwise a GPU that is faster than the host would
    wait between the events, and a small kernel would seem to take as long as its launch.
    """

    def __init__(self) -> None:
        import torch

        self._events: dict[str, tuple[Any, Any]] = {}
        self._launches: dict[str, float] = {}
        """The seconds that the host took to launch each node."""
        torch.cuda._sleep(_CYCLES)  # the first one loads the kernel
        started = self.now()
        torch.cuda._sleep(_CYCLES)
        self._cycles_per_second = _CYCLES / (self.now() - started)
        self._between = 0.0
        """The seconds between two events with nothing between them."""
        for number in range(_PAIRS):
            with self.measuring(str(number)):
                pass
        self._between = median(self.take().values())

    @contextmanager
    def measuring(self, node: str) -> Iterator[None]:
        import torch

        before, after = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda._sleep(int(self._cycles_per_second * min(_LONGEST_SLEEP, 2 * self._launches.get(node, _SHORTEST_SLEEP))))
        started = time.perf_counter()
        before.record()
        yield
        after.record()
        self._launches[node] = time.perf_counter() - started
        self._events[node] = before, after

    def now(self) -> float:
        import torch

        torch.cuda.synchronize()
        return time.perf_counter()

    def take(self) -> dict[str, float]:
        self.now()
        pairs, self._events = self._events, {}
        return {node: max(0.0, before.elapsed_time(after) * 1e-3 - self._between) for node, (before, after) in pairs.items()}
