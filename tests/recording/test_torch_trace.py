"""Logs of torch.compile (TORCH_TRACE): printed graphs equal those of the live compiler, and truncated logs still open."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import diff_of

import opscope
from opscope.errors import SourceError
from opscope.program import Program
from opscope.readers.torch.readable import program_of_text
from opscope.recording.dumps.torch_log_end import is_cut
from opscope.recording.dumps.torch_trace import _Times, read_dump
from opscope.recording.model import Recording

SAMPLE = Path(__file__).resolve().parent.parent / "samples" / "torch_trace" / "dedicated_log_torch_trace.log"
"""Written by PyTorch 2.13 with full Inductor: a module with a graph break trained once, then called with another size."""

WITH_INNER_GRAPHS = """
class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[s77, 4][4, 1]cuda:0", s77: "Sym(s77)"):
        l_x_ = L_x_

        # File: net.py:3 in forward, code: return cond(x.sum() > 0, up, down, (x,))
        sum_1: "f32[][]cuda:0" = l_x_.sum()
        gt: "b8[][]cuda:0" = sum_1 > 0;  sum_1 = None
        true_graph_0 = self.true_graph_0
        weight: "bf16[4][1]cuda:0" = self.weight
        cond = torch.ops.higher_order.cond(gt, true_graph_0, (l_x_, weight));  gt = true_graph_0 = None
        getitem: "f32[s77, 4][4, 1]cuda:0" = cond[0];  cond = None

        # No stacktrace found for following nodes
        whole = l_x_[(slice(None, 2, None), 0)]
        return (getitem, whole)

    class true_graph_0(torch.nn.Module):
        def forward(self, l_x_: "f32[s77, 4][4, 1]cuda:0", weight: "bf16[4][1]cuda:0"):
            mul: "f32[s77, 4][4, 1]cuda:0" = l_x_ * weight;  l_x_ = weight = None
            return (mul,)
"""


def shape_of(program: Program) -> dict[str, Any]:
    """What must be equal however a graph was read: names, operators, edges and types."""
    return {graph.name: [(node.id, node.op if node.role == "op" else "", node.inputs, node.outputs) for node in graph] for graph in program}


@pytest.mark.frameworks
def test_a_printed_graph_reads_as_the_live_one() -> None:
    torch = pytest.importorskip("torch")
    from torch.fx.experimental.proxy_tensor import make_fx

    def step(x: Any, w: Any) -> Any:
        values, places = torch.max((x @ w).t(), 1)
        return torch.native_layer_norm(x, [4], None, None, 1e-5)[0] + 2 * values.sum(), places.to(torch.float16)

    live = make_fx(step)(torch.randn(3, 4), torch.randn(4, 4))
    text = live.print_readable(print_output=False, include_stride=True, include_device=True)
    printed, captured = program_of_text(text), opscope.capture(live)
    expected = shape_of(captured)
    used = {name: {index for node in captured.main for other, index in node.inputs if other == name} for name in captured.main.position}
    expected["main"] = [
        (id, op, inputs, outputs[: max(used[id], default=0) + 1] if len(outputs) > 1 else outputs)
        for id, op, inputs, outputs in expected["main"]
    ]  # unused outputs are not printed
    assert shape_of(printed) == expected


def test_inner_graphs_symbols_methods_and_operators_are_read() -> None:
    program = program_of_text(WITH_INNER_GRAPHS)
    main, inner = program.main, program["true_graph_0"]
    assert [(node.id, node.op) for node in main if node.role == "op"] == [
        ("sum_1", "Tensor.sum"),
        ("gt", "operator.gt"),
        ("cond", "cond"),
        ("getitem", "getitem"),
        ("whole", "getitem"),
    ]
    assert main["cond"].calls == ("true_graph_0",) and main["cond"].inputs == (("gt", 0), ("l_x_", 0), ("weight", 0))
    assert main["weight"].role == "constant" and str(main["weight"].outputs[0]) == "bfloat16[4]"
    assert main["l_x_"].outputs[0].shape == ("s77", 4) and main["l_x_"].attrs["device"] == "cuda:0"
    assert str(main["s77"].outputs[0]) == "(SymInt s77)"
    assert inner["mul"].op == "operator.mul" and inner["mul"].inputs == (("l_x_", 0), ("weight", 0))
    assert [str(frame) for frame in main["gt"].source] == ["net.py:3 forward"] and main["whole"].source == ()


def test_every_truncated_text_is_read_or_refused_in_one_line() -> None:
    whole = program_of_text(WITH_INNER_GRAPHS).node_count
    read = 0
    for end in range(0, len(WITH_INNER_GRAPHS), 7):
        try:
            read += program_of_text(WITH_INNER_GRAPHS[:end]).node_count <= whole
        except SourceError as error:
            assert "contains no fx graph" in str(error)
    assert read > len(WITH_INNER_GRAPHS) / 7 / 2


@pytest.fixture
def usual_recursion_limit() -> Iterator[None]:
    """Frameworks that other tests import raise the limit, and Python then parses what is nested more deeply."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(limit)


@pytest.mark.parametrize("nested", ["l_x_" + "[0]" * 3000, "-" * 9000 + "l_x_", "l_x_" + ".a" * 3000])
def test_a_line_that_is_nested_too_deeply_is_skipped_and_counted(nested: str, usual_recursion_limit: None) -> None:
    """Python does not say which line it is. To leave out the last lines one by one took minutes."""
    program = program_of_text(WITH_INNER_GRAPHS.replace("true_graph_0 = self.true_graph_0", f"odd = {nested}"))
    assert "odd" not in program.main and "cond" in program.main
    assert program.attrs["left_out"] == "1 line (truncated or not Python)"


def test_a_line_that_is_not_python_is_skipped_and_counted() -> None:
    text = WITH_INNER_GRAPHS.replace("true_graph_0 = self.true_graph_0", "odd = <built-in function odd>(l_x_)")
    program = program_of_text(text)
    assert "odd" not in program.main and "cond" in program.main
    assert program.attrs["left_out"] == "1 line (truncated or not Python)"


def test_text_is_never_run(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    program_of_text(f"class G(torch.nn.Module):\n    def forward(self, x):\n        y = open({str(marker)!r}, 'w')\n        return (y,)\n")
    assert not marker.exists()


def test_a_log_keeps_compile_ids_apart_and_follows_each_through_its_stages() -> None:
    recording = opscope.open_recording(SAMPLE)
    assert isinstance(recording, Recording) and not recording.skipped
    assert recording.modules == ["forward 0/0", "forward from line 8 1/0", "forward 0/1"]
    reason = "Call to `torch._dynamo.graph_break()`: User-inserted graph break. Message: None"
    assert recording.attrs["remarks"] == [f"graph break at model.py:8: {reason}"], "once, for both sizes"
    titles = [s.title for s in recording if s.module == "forward 0/0"]
    assert titles == [
        "dynamo / Dynamo graph",
        "pre-grad / before",
        "pre-grad / after",
        "aot autograd / joint graph",
        "partition / forward and backward",
        "post-grad / forward / before",
        "post-grad / forward / after",
        "post-grad / backward / before",
        "post-grad / backward / after",
    ]
    partition = next(s for s in recording if s.name == "forward and backward")
    assert partition.program.main["backward"].calls == ("backward",)
    assert {o.rule for o in partition.origins} == {"", "recomputed in the backward"}
    assert [str(f) for f in partition.program["forward"]["addmm"].source] == ["model.py:7 forward"]


def test_view_becoming_reshape_is_one_node_that_changed() -> None:
    recording = read_dump(SAMPLE)
    lowered = next(s for s in recording if s.title == "post-grad / backward / before")
    changes = {match.b[0]: [(c.field, c.old, c.new) for c in match.changes] for match in diff_of(recording, lowered.index).changed}
    assert changes == {("backward", "view"): [("op", "aten.view.default", "aten.reshape.default")]}


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_truncated_log_is_read_as_far_as_it_goes(tmp_path: Path, share: float) -> None:
    text = SAMPLE.read_bytes()
    cut = tmp_path / "cut.log"
    cut.write_bytes(text[: int(len(text) * share)])
    whole, part = read_dump(SAMPLE), read_dump(cut)
    assert 0 < len(part) < len(whole)
    assert [s.title for s in part][:-1] == [s.title for s in whole][: len(part) - 1]
    said = "the log ends in the middle of a record: it is truncated, and what torch.compile did next is missing"
    assert part.attrs["remarks"][0] == said and part.snapshots[-1].program.attrs["notes"][-1] == said
    assert said not in whole.attrs["remarks"]


def test_a_log_that_ends_after_a_line_of_a_payload_is_truncated(tmp_path: Path) -> None:
    """Records state a hash of their payload, which says nothing in a log that was edited, as the sample of these tests was."""
    payloads = [f'{{\n"step": {i}\n}}' for i in range(3)]
    hashes = [hashlib.md5(payload.encode()).hexdigest() for payload in payloads]
    records = [
        f'V1115 09:17:13.180000 27326 torch/_logging.py:1] {{"chromium_event": {{}}, "has_payload": "{digest}"}}\n'
        + "".join(f"\t{line}\n" for line in payload.split("\n"))
        for digest, payload in zip(hashes, payloads, strict=True)
    ]
    log = tmp_path / "step.log"
    for text, cut in [("".join(records), False), ("".join(records)[:-3], True), ("".join(records)[:-2], True)]:
        log.write_text(text)
        assert is_cut(log) == cut
    log.write_text("".join(records).replace("step", "edited")[:-3])
    assert not is_cut(log)
    log.write_text('V1115 09:17:13.180000 27326 torch/_logging.py:1] {"no end\n')
    assert not is_cut(log), "no record of it is whole, which the fuzzer found to end in an internal error"


def test_a_directory_of_ranks_is_one_recording(tmp_path: Path) -> None:
    for rank in (0, 1):
        (tmp_path / f"dedicated_log_torch_trace_rank_{rank}_abc.log").write_bytes(SAMPLE.read_bytes())
    (tmp_path / "notes.txt").write_text("not a log")
    recording = opscope.open_recording(tmp_path)
    assert isinstance(recording, Recording)
    assert recording.modules[0] == "rank 0: forward 0/0" and recording.modules[-1] == "rank 1: forward 0/1"


def test_a_log_that_lost_its_forward_graph_is_read(tmp_path: Path) -> None:
    """Logs are truncated, filtered and pasted: the backward half alone still goes through its stages."""
    log = tmp_path / "half.log"
    log.write_text(SAMPLE.read_text().replace('"aot_forward_graph"', '"lost"').replace('"aot_joint_graph"', '"lost"'))
    assert any("backward" in snapshot.title for snapshot in opscope.open_recording(log))


def test_a_log_without_graphs_says_so(tmp_path: Path) -> None:
    log = tmp_path / "empty.log"
    log.write_text('V1115 09:17:13.180000 27326 torch/_logging/_internal.py:1328] {"chromium_event": {}}\n\t{}\n')
    with pytest.raises(SourceError, match="without graphs"):
        opscope.open_recording(log)


def test_torchs_own_events_have_the_seconds_of_stages(tmp_path: Path) -> None:
    """An event begins and ends before the graph of its stage; one that does not end, or is damaged, has no seconds."""

    def event(phase: str, name: str, microseconds: float, of: dict[str, Any]) -> list[str]:
        header = json.dumps({"chromium_event": {}, **{key: of[key] for key in ("frame_id", "frame_compile_id")}})
        lines = json.dumps({"name": name, "ts": microseconds, "ph": phase}, indent=0).splitlines()
        return [f"V1115 09:17:13.180000 27326 torch/_dynamo/utils.py:2351] {header}", *(f"\t{line}" for line in lines)]

    written = []
    for line in SAMPLE.read_text("utf-8").splitlines():
        _, bracket, text = line.partition("] {")
        facts = json.loads("{" + text) if bracket and not line.startswith("\t") else {}
        if facts.get("artifact", {}).get("name") == "after_pre_grad_graph" or "after_pre_grad_graph" in facts:
            written += event("B", "_recursive_pre_grad_passes", 1e6, facts) + event("E", "_recursive_pre_grad_passes", 1.25e6, facts)
            written += event("B", "_recursive_post_grad_passes", 2e6, facts)
        written.append(line)
    log = tmp_path / SAMPLE.name
    log.write_text("\n".join(written))
    timed = [(s.pipeline, s.name, s.seconds) for s in read_dump(log) if s.seconds is not None]
    assert timed == [(("pre-grad",), "after", 0.25)] * 3
    assert len(read_dump(log)) == len(read_dump(SAMPLE))


@pytest.mark.parametrize("own_graph", [False, True])
def test_the_joint_passes_are_timed_whether_or_not_their_graph_is_logged(own_graph: bool) -> None:
    """Torch 2.11 logs no graph between the joint passes and the partition, whose graph then shows the work of both."""
    times = _Times()
    for name, begin, end in (
        ("bytecode_tracing", 0, 5),
        ("_recursive_joint_graph_passes", 10, 40),
        ("min_cut_rematerialization_partition", 50, 52),
    ):
        for phase, second in (("B", begin), ("E", end)):
            times.take("0/0", json.dumps({"name": name, "ts": second * 1e6, "ph": phase}))
    assert times.of("0/0", "dynamo_output_graph") == 5
    assert not own_graph or times.of("0/0", "after_joint_graph") == 30
    assert times.of("0/0", "aot_backward_graph") == (2 if own_graph else 32)
    assert times.of("0/0", "aot_backward_graph") is None


SCRIPT = """
import json, sys, torch, opscope
def step(x, w):
    return torch.nn.functional.gelu(x @ w).sum()
w = torch.randn(4, 4, requires_grad=True)
with opscope.record(sys.argv[1]) as rec:
    rec.torch(step, torch.randn(3, 4), w).backward()
"""


@pytest.mark.frameworks
def test_a_log_and_a_recording_of_the_same_run_have_the_same_graphs(tmp_path: Path) -> None:
    """Torch writes its log while opscope records: two witnesses of one compilation."""
    pytest.importorskip("torch")
    trace = tmp_path / "trace"
    trace.mkdir()
    run = [sys.executable, "-c", SCRIPT, str(tmp_path / "run.opscope")]
    subprocess.run(run, check=True, env={**os.environ, "TORCH_TRACE": str(trace)}, capture_output=True)
    recorded, logged = opscope.open_recording(tmp_path / "run.opscope"), opscope.open_recording(trace)
    assert isinstance(recorded, Recording) and isinstance(logged, Recording)
    for name in ("Dynamo graph", "joint graph", "forward and backward"):
        (mine,), (theirs,) = ([s for s in recording if s.name == name] for recording in (recorded, logged))
        assert list(mine.program.graphs) == list(theirs.program.graphs), name
        for graph in mine.program:
            ours = [(node.id, node.op, node.inputs) for node in graph if node.role == "op"]
            assert ours == [(node.id, node.op, node.inputs) for node in theirs.program[graph.name] if node.role == "op"], name
    timed = {(s.pipeline[0], s.name) for s in logged if s.seconds}
    assert timed == {
        ("dynamo", "Dynamo graph"),
        ("pre-grad", "after"),
        ("aot autograd", "joint graph"),
        ("partition", "forward and backward"),
    }


@pytest.mark.slow
def test_the_command_prints_a_row_per_graph() -> None:
    ran = subprocess.run([sys.executable, "-m", "opscope", "passes", str(SAMPLE), "--json"], capture_output=True, text=True, check=True)
    rows = json.loads(ran.stdout)
    assert len(rows) == len(read_dump(SAMPLE)) and {row["module"] for row in rows} >= {"forward 0/0"}
