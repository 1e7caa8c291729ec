"""Recordings of the real torch.compile have every stage and rewrite, and recording does not affect the user's run."""

from __future__ import annotations

import inspect
import re
import runpy
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from conftest import diff_of

import opscope
from opscope.cli.diff import diff_lines
from opscope.errors import OpscopeError
from opscope.loading import load_timed
from opscope.recording.kernel_code import kernel_code
from opscope.recording.kernel_counts import kernel_counts
from opscope.recording.model import Recording, Snapshot
from opscope.recording.reasons import notes_of, why
from opscope.render.wire.compare_passes import compared_rows

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.frameworks
nn = torch.nn


class Attention(nn.Module):  # type: ignore[name-defined]
    """Written out by hand: Inductor has a pattern for it."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x: Any) -> Any:
        batch, length, width = x.shape

        def split(value: Any) -> Any:
            return value.view(batch, length, self.heads, width // self.heads).transpose(1, 2)

        q, k, v = split(self.q(x)), split(self.k(x)), split(self.v(x))
        weights = torch.matmul(q, k.transpose(-2, -1)).div((width // self.heads) ** 0.5).softmax(-1)
        return torch.matmul(weights, v).transpose(1, 2).reshape(batch, length, width)


class Block(nn.Module):  # type: ignore[name-defined]
    """Attention, a layer norm and a GELU."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.attention = Attention(width, 2)
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Any) -> Any:
        return self.out(nn.functional.gelu(self.norm(x + self.attention(x))))


def patched() -> list[Any]:
    """Everything in torch that recording replaces."""
    from torch._inductor import compile_fx, pattern_matcher
    from torch.fx.passes.graph_transform_observer import GraphTransformObserver

    functions = ("compile_fx", "_recursive_pre_grad_passes", "_recursive_joint_graph_passes", "partition_fn", "_recursive_post_grad_passes")
    observers = ("__enter__", "__exit__", "apply_gm_pass", "apply_graph_pass")
    entries = (pattern_matcher.LoweringPatternEntry, pattern_matcher.GraphPatternEntry, pattern_matcher.ReplacementPatternEntry)
    return [
        *(vars(compile_fx)[name] for name in functions),
        *(vars(GraphTransformObserver)[name] for name in observers),
        *(vars(entry)["apply"] for entry in entries),
    ]


def settings() -> list[Any]:
    import torch._functorch.config as functorch
    import torch._inductor.config as inductor

    return [
        inductor.force_disable_caches,
        inductor._pre_fusion_custom_pass,
        functorch.enable_autograd_cache,
        functorch.force_non_lazy_backward_lowering,
    ]


class Run(NamedTuple):
    recording: Recording
    module: Any
    inputs: Any
    result: Any
    gradients: dict[str, Any]

    def only(self, pipeline: str, name: str) -> Snapshot:
        (snapshot,) = [s for s in self.recording if s.pipeline[0] == pipeline and s.name == name]
        return snapshot


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """One training step of a Block, recorded without code generation. Torch is restored afterwards."""
    path = tmp_path_factory.mktemp("training") / "run.opscope"
    torch.manual_seed(0)
    module, inputs = Block(), torch.randn(2, 6, 16)
    before = patched(), settings()
    with opscope.record(path) as rec:
        result = rec.torch(module, inputs)
        result.square().sum().backward()
    assert (patched(), settings()) == before
    gradients = {name: parameter.grad.clone() for name, parameter in module.named_parameters()}
    loaded = opscope.open_recording(path)
    assert isinstance(loaded, Recording)
    yield Run(loaded, module, inputs, result.detach(), gradients)


def test_every_stage_is_there_in_order(training: Run) -> None:
    [module] = training.recording.modules
    assert re.fullmatch(r"Block\.forward \d+/0", module), "the frame's number depends on what was compiled before"
    stages = list(dict.fromkeys(s.pipeline if s.pipeline[0] == "post-grad" else s.pipeline[:1] for s in training.recording))
    assert [stage[:2] for stage in stages if len(stage) < 3] == [
        ("dynamo",),
        ("pre-grad",),
        ("aot autograd",),
        ("joint",),
        ("partition",),
        ("post-grad", "forward"),
        ("post-grad", "backward"),
    ]
    assert "remarks" not in training.recording.attrs


def test_a_recorded_step_gives_the_same_results_and_gradients(training: Run) -> None:
    training.module.zero_grad()
    result = training.module(training.inputs)
    result.square().sum().backward()
    torch.testing.assert_close(training.result, result.detach())
    for name, parameter in training.module.named_parameters():
        torch.testing.assert_close(training.gradients[name], parameter.grad)


def test_named_passes_have_their_seconds_and_most_change_nothing(training: Run) -> None:
    named = {s.name for s in training.recording if s.seconds is not None}
    assert {"remove_noop_ops", "pattern_matcher", "reinplace_inplaceable_ops"} <= named
    quiet = [row for row in compared_rows(training.recording) if row.unchanged]
    assert len(quiet) > len(training.recording) / 2


def test_stages_without_an_observer_have_the_seconds_that_torch_counts(tmp_path: Path) -> None:
    """Dynamo's tracing, AOTAutograd and the partition, beside torch's own counters of parts of them, and of all."""
    from torch._dynamo.utils import compilation_time_metrics as counted

    torch._dynamo.reset()
    before = {name: len(each) for name, each in counted.items()}
    with opscope.record(tmp_path / "run.opscope") as rec:
        started = time.perf_counter()
        rec.torch(Block(), torch.randn(2, 6, 16))
        took = time.perf_counter() - started
        recording = rec.recording
    torchs = {name: sum(each[before.get(name, 0) :]) for name, each in counted.items()}
    seconds = {s.title: s.seconds for s in recording if s.seconds is not None}
    stages = [seconds[each] for each in ("dynamo / Dynamo graph", "aot autograd / joint graph", "partition / forward and backward")]
    assert all(each > 0 for each in stages)
    assert torchs["bytecode_tracing"] <= stages[0] <= torchs["_compile.compile_inner"] and stages[1] >= torchs["aot_trace_joint_graph"] / 2
    assert sum(stages) <= took, "nothing counts twice"
    torch._dynamo.reset()


def test_inputs_have_their_names_in_the_model_at_every_stage(training: Run) -> None:
    for snapshot in (training.only("dynamo", "Dynamo graph"), training.only("aot autograd", "joint graph")):
        named = {node.attrs.get("name"): node.op for node in snapshot.program.main.parameters}
        assert named["norm.weight"] == "parameter" and named["x"] == "input", snapshot.title


def test_every_operation_of_the_joint_graph_is_traced_back_to_one_of_dynamos(training: Run) -> None:
    joint = training.only("aot autograd", "joint graph")
    explained = {key[1] for origin in joint.origins for key in origin.new}
    others = [node.id for node in joint.program.main if node.role == "op" and node.id not in explained]
    assert len(others) <= 2, others  # sums of gradients belong to no operation
    of_norm = [origin for origin in joint.origins if origin.old == (("main", "layer_norm"),)]
    assert {origin.rule for origin in of_norm} == {"AOTAutograd: decomposed", "AOTAutograd: backward of"}


def test_a_pattern_names_what_it_replaced_and_its_source_line(training: Run) -> None:
    attention = [(s, o) for s in training.recording for o in s.origins if o.rule.startswith("_sfdp_pattern")]
    ((snapshot, origin),) = attention
    assert snapshot.pipeline[:2] == ("joint", "pass_pattern_0")
    before = training.recording.before(snapshot)
    assert before is not None and all(id in before.program[graph] for graph, id in origin.old)
    assert all(id in snapshot.program[graph] and id not in before.program[graph] for graph, id in origin.new)
    assert {"bmm", "bmm_1"} <= {id for _, id in origin.old}
    assert any("scaled_dot_product" in snapshot.program[graph][id].op for graph, id in origin.new)
    assert origin.where is not None and origin.where.file.endswith("fuse_attention.py") and origin.where.line > 0
    (row,) = [row for row in compared_rows(training.recording) if row.snapshot.index == snapshot.index]
    assert row.removed >= len(origin.old) and row.added >= len(origin.new)


def test_replacements_inherit_the_module_and_line_of_what_they_replace(training: Run) -> None:
    """Torch sets neither; without them, fused attention would leave its module for the rest of the recording."""
    for snapshot in (training.recording[-1], training.only("partition", "forward and backward")):
        (fused,) = [node for node in snapshot.program["forward"] if "scaled_dot_product" in node.op]
        assert fused.scope == ("attention: Attention",), snapshot.title
        assert fused.source and fused.source[0].file == __file__


def test_a_rule_that_only_removes_is_recorded_too(training: Run) -> None:
    """And `opscope diff` names it behind each node."""
    removing = [(s, o) for s in training.recording for o in s.origins if o.rule == "pointless_permute_pair"]
    assert removing and all(o.old and not o.new and o.where is not None for _, o in removing)
    snapshot, origin = removing[0]
    lines = diff_lines(diff_of(training.recording, snapshot.index), None)
    assert [line for line in lines if line.startswith(f"− {origin.old[0][1]}:") and line.endswith(": pointless_permute_pair")]


def test_the_partition_calls_forward_and_backward_and_says_what_is_computed_twice(training: Run) -> None:
    partition = training.only("partition", "forward and backward")
    program = partition.program
    forward, backward = program.main["forward"], program.main["backward"]
    assert (forward.calls, backward.calls) == (("forward",), ("backward",))
    assert len(forward.inputs) == len(program["forward"].parameters)
    assert any(name == "forward" for name, _ in backward.inputs), "saved values connect forward and backward"
    twice = [o for o in partition.origins if o.rule == "recomputed in the backward"]
    assert twice and all({graph for graph, _ in o.new} == {"forward", "backward"} for o in twice)
    difference = diff_of(training.recording, partition.index)
    assert not difference.fusions, "a half is called, and nothing was fused into it"
    moved = {(match.a[0][0], match.b[0][0]) for match in difference.changed if match.moved}
    assert {("main", "forward"), ("main", "backward")} <= moved


def test_a_wrapper_has_the_name_of_the_module_that_it_is_called_for(tmp_path: Path) -> None:
    """torch.compile wraps the call of a module of torch.nn, and transformers that of every model."""
    torch._dynamo.reset()
    with opscope.record(tmp_path / "run.opscope") as rec, torch.no_grad():
        rec.torch(torch.nn.Linear(2, 2), torch.ones(1, 2))
        assert rec.recording.modules == ["Linear.forward 0/0"]


def test_the_first_graph_break_has_its_reason_too(tmp_path: Path) -> None:
    """Dynamo notes a reason before it has the first graph compiled, which is when a recording notices that something is compiled."""

    def branching(x: Any) -> Any:
        y = x.relu() + 1
        if y.sum() > 0:
            y = y.sin()
        return y * 2

    torch._dynamo.reset()
    with opscope.record(tmp_path / "run.opscope") as rec, torch.no_grad():
        torch.compile(branching)(torch.ones(3))
    (remark,) = rec.recording.attrs["remarks"]
    line = inspect.getsourcelines(branching)[1] + 2
    assert remark.startswith(f"graph break at {__file__}:{line}: Data-dependent branching"), "one remark, although Dynamo has two"


def test_graph_breaks_and_new_sizes_create_modules(tmp_path: Path) -> None:
    def stretched(x: Any) -> Any:
        y = x.relu() + 1
        torch._dynamo.graph_break()
        return y.sin() * 2

    torch._dynamo.reset()  # compile ids count from 0
    before = patched(), settings()
    with opscope.record(tmp_path / "run.opscope") as rec, torch.no_grad():
        with rec.torch_compile():
            compiled = torch.compile(stretched)
            results = [compiled(torch.ones(size)) for size in (3, 5)]
        cached = torch._C._dynamo.eval_frame._debug_get_cache_entry_list(stretched.__code__)
        assert cached == [], "compilations without code are forgotten"
        recording = rec.recording
    assert (patched(), settings()) == before
    names = [name.rpartition(".")[2] for name in recording.modules]
    line = inspect.getsourcelines(stretched)[1] + 2
    resumed = f"stretched from line {line}"
    assert names == ["stretched 0/0", f"{resumed} 1/0", "stretched 0/1", f"{resumed} 1/1"]
    (remark,) = recording.attrs["remarks"]
    assert remark.startswith(f"graph break at {__file__}:{line}: Call to `torch._dynamo.graph_break()`")
    first, _, again, _ = (next(s for s in recording if s.module == module) for module in recording.modules)
    assert [first.program.main["relu"].outputs[0].shape, len(again.program.main["relu"].outputs[0].shape)] == [(3,), 1]
    assert isinstance(again.program.main["relu"].outputs[0].shape[0], str), "the size became a symbol"
    for size, result in zip((3, 5), results, strict=True):
        torch.testing.assert_close(result, stretched(torch.ones(size)))


def test_only_requested_functions_are_recorded_and_compiled_without_code(tmp_path: Path) -> None:
    """`rec.torch` leaves other uses of torch.compile in the same block alone."""
    modules: list[Any] = []

    def mine(module: Any, inputs: Any) -> Any:
        modules.append(module)
        return module.forward

    with opscope.record(tmp_path / "run.opscope") as rec, torch.no_grad():
        rec.torch(lambda x: x + 1, torch.ones(2))
        torch.compile(lambda x: x * 3, backend=mine)(torch.ones(2))
        assert len(rec.recording.modules) == 1
    assert len(modules) == 1


def test_hooks_are_removed_when_the_run_fails(tmp_path: Path) -> None:
    def fails(x: Any) -> Any:
        return torch.matmul(x.relu(), torch.ones(7, 7))

    before = patched(), settings()
    with pytest.raises(Exception, match=r"size|shape"), opscope.record(tmp_path / "run.opscope") as rec:
        rec.torch(fails, torch.ones(2, 3))
    assert (patched(), settings()) == before


def test_an_error_of_recording_becomes_a_remark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise ValueError("no such thing")

    monkeypatch.setattr("opscope.recording.hooks.torch_compile.chain.program_of", broken)
    with opscope.record(tmp_path / "run.opscope") as rec, torch.no_grad():
        assert rec.torch(lambda x: x + 1, torch.ones(2)).tolist() == [2.0, 2.0]
        remarks = rec.recording.attrs["remarks"]
    assert "Dynamo's graph could not be recorded: ValueError: no such thing" in remarks


def test_without_torchs_observer_stages_remain_and_a_remark_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.fx.passes.graph_transform_observer", None)
    with opscope.record(tmp_path / "run.opscope") as rec, torch.no_grad():
        rec.torch(lambda x: x.relu() + 0 * x, torch.ones(2))
        recording = rec.recording
    (remark,) = recording.attrs["remarks"]
    assert "has no GraphTransformObserver: only stages are recorded, not single passes" in remark
    assert {"dynamo", "aot autograd"} <= {s.pipeline[0] for s in recording}
    assert not any(s.name == "remove_noop_ops" for s in recording)


def test_an_old_torch_is_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__version__", "2.1.0")
    with opscope.record(tmp_path / "run.opscope") as rec, pytest.raises(OpscopeError, match=r"needs PyTorch 2\.6 or later"):
        rec.torch(lambda x: x, torch.ones(1))


def test_with_code_generation_the_scheduler_is_recorded_before_and_after_fusion(tmp_path: Path) -> None:
    def normalized(x: Any) -> Any:
        y = x * 2
        return y.softmax(-1)

    inputs = torch.arange(12.0).reshape(3, 4)
    with opscope.record(tmp_path / "run.opscope") as rec, torch.no_grad():
        result = rec.torch(normalized, inputs, codegen=True)
        recording = rec.recording
    torch.testing.assert_close(result, normalized(inputs))
    before, after = [s for s in recording if s.pipeline == ("scheduler",)]
    assert (before.name, after.name) == ("before fusion", "after fusion")
    buffers = {node.id for node in before.program.main if node.role == "op"}
    kernels = [node for node in after.program.main if node.op.startswith("fused_")]
    assert kernels and kernels[0].op == "_".join(["fused", *kernels[0].attrs["computes"]]), str(after.program)
    assert {"_softmax", "mul"} <= {*kernels[0].attrs["computes"]}
    inside = [node.id for kernel in kernels for node in after.program[kernel.calls[0]] if node.role == "op"]
    alone = [node.id for node in after.program.main if node.role == "op" and not node.calls]
    assert len(inside) >= 2 and sorted([*inside, *alone]) == sorted(buffers), "every buffer is in one kernel or on its own"
    assert all(node.outputs[0].bytes for node in before.program.main if node.role == "op"), "sizes are numbers"
    lowered = {name for origin in before.origins for _, name in origin.old}
    assert {"exp", "div"} <= lowered
    assert [f.new for f in diff_of(recording, after.index).fusions] == [("main", kernel.id) for kernel in kernels]
    notes = why(recording, kernels[0].id).fusion
    assert [note.kind for note in notes if note.fusion == kernels[0].id] == ["fused"]
    refused = [note for note in notes_of(recording) if note.kind == "not fused"]
    assert refused and all(note.reason and note.producer in buffers | {kernel.id for kernel in kernels} for note in refused)
    (count,) = kernel_counts(recording)
    assert count.kernels == 1 and count.operations >= len(lowered) and str(count).endswith("operations → 1 kernel")
    (launch,) = [node for node in recording[-1].program.main if node.role == "op"]
    (code,) = kernel_code(recording, launch.id)
    assert "exp()" in code.text and code.language == launch.op
    assert [line.frame.line - normalized.__code__.co_firstlineno for line in code.lines] == [1, 2]


def test_a_recording_listens_by_itself_and_restores_torch(tmp_path: Path) -> None:
    def doubled(x: Any) -> Any:
        return x.sin() * 2

    before, call = patched(), torch._TorchCompileInductorWrapper.__call__
    compiled = torch.compile(doubled)
    with opscope.record(tmp_path / "run.opscope"), torch.no_grad():
        torch.testing.assert_close(compiled(torch.ones(3)), doubled(torch.ones(3)))
    assert (patched(), torch._TorchCompileInductorWrapper.__call__) == (before, call)
    recording = opscope.open_recording(tmp_path / "run.opscope")
    assert isinstance(recording, Recording)
    assert {"dynamo", "post-grad"} <= {s.pipeline[0] for s in recording} and "scheduler" not in {s.pipeline[0] for s in recording}


def test_in_the_scheduler_halves_stay_connected_and_kernels_belong_to_modules(tmp_path: Path) -> None:
    """Buffers have other names than the model; people search by the names of the model."""

    class Net(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(4, 4)
            self.norm = nn.LayerNorm(4)
            self.head = nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            return self.head(self.norm(self.fc(x)).sin())

    compiled, x = torch.compile(Net()), torch.ones(3, 4)
    with opscope.record(tmp_path / "run.opscope") as rec, rec.torch_compile(codegen=True):
        compiled(x).sum().backward()
        recording = rec.recording
    passes = [(snapshot.pipeline, snapshot.name) for snapshot in recording if snapshot.pipeline[0] == "code generation"]
    assert passes == [(("code generation", "forward"), "launches"), (("code generation", "backward"), "launches")]
    last = recording[len(recording) - 1].program
    saved = [name for name, _ in last.main["backward"].inputs if name == "forward"]
    assert saved, "values saved by the forward are inputs of the backward"
    assert {"fc.weight", "norm.weight"} <= {node.attrs.get("name") for node in last["forward"].parameters}
    scopes = {node.scope[0] for graph in last for node in graph if node.role == "op" and node.scope}
    assert scopes == {"fc: Linear", "norm: LayerNorm", "head: Linear"}
    kernels = [node for graph in last for node in graph if node.op.startswith("cpp_fused_")]
    computed = ["_".join(node.attrs.get("computes", ())) for node in kernels]
    assert len(kernels) > 2 and computed == [node.op.removeprefix("cpp_fused_").rpartition("_")[0] for node in kernels]
    with torch.profiler.profile() as prof:
        compiled(x).sum().backward()
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    (timed,) = load_timed(str(tmp_path / "run.opscope"), profile=str(tmp_path / "trace.json"))
    assert timed.times is not None
    launches = [timed.program[graph][node] for graph, node in timed.times.seconds]
    assert [node.scope for node in launches if node.op == "extern_kernels.addmm"] == [("fc: Linear",), ("head: Linear",)]


def test_the_example_prints_the_passes_and_writes_the_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = Path(__file__).resolve().parents[2] / "examples" / "passes_torch.py"
    runpy.run_path(str(example))["main"](tmp_path)
    printed = capsys.readouterr().out
    assert "_sfdp_pattern_11_training turned 48 nodes into 13" in printed and "forward and backward" in printed
    assert len(opscope.open_recording(tmp_path / "run.opscope")) > 40
    assert (tmp_path / "passes.html").stat().st_size > 10_000
