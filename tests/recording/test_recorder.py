"""`opscope.record` with any compiler."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import diff_of

import opscope
from opscope.native import dumps
from opscope.program import Program, ProgramBuilder, TensorType
from opscope.recording.model import Origin, Recording
from opscope.recording.rows import row_of

F32 = TensorType("f32", (4,))


def program(*ops: str) -> Program:
    """A chain of unary operations on one input."""
    builder = ProgramBuilder("toy")
    graph = builder.graph("main")
    last = graph.node("x", "input", outputs=[F32], role="parameter").id
    for op in ops:
        last = graph.node(op, op, [(last, 0)], [F32]).id
    graph.outputs.append((last, 0))
    return builder.build()


@pytest.mark.parametrize("name", ["run.txt", "run", ""])
def test_a_recording_has_the_suffix_of_recordings(name: str, tmp_path: Path) -> None:
    with pytest.raises(opscope.OpscopeError, match=r"is not the name of a recording; use one that ends in \.opscope"):
        opscope.record(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_toy_compiler_in_ten_lines(tmp_path: Path) -> None:
    path = tmp_path / "toy.opscope"
    with opscope.record(path) as rec:
        rec.set(ids="names")

        @rec.watch
        def drop_relu(graph: Program) -> Program:
            return program("neg", "exp")

        rec.snapshot(program("neg", "relu", "exp"), "as written")
        drop_relu(program("neg", "relu", "exp"))
    recording = opscope.open_recording(path)
    assert [s.name for s in recording] == ["as written", "drop_relu"]
    assert recording[1].seconds is not None and recording[0].seconds is None
    diff = diff_of(recording, 1)
    assert diff.removed == (("main", "relu"),) and all(len(match.a) == 1 for match in diff.matched)
    assert recording.attrs["finished"] is True


def test_watched_passes_nest_and_record_the_first_state() -> None:
    with opscope.record() as rec:
        inner = rec.watch(lambda graph: program("neg"), name="inner")
        outer = rec.watch(lambda graph: inner(graph), name="outer")
        outer(program("neg", "relu"))
    snapshots = [(s.pipeline, s.name, s.nodes) for s in rec.recording]
    assert snapshots == [((), "before passes", 3), (("outer",), "inner", 2), ((), "outer", 2)]


def test_a_pass_that_works_in_place_returns_nothing() -> None:
    class Graph:
        def __init__(self) -> None:
            self.ops = ["neg", "relu"]

        def __opscope_program__(self) -> Program:
            return program(*self.ops)

    graph = Graph()
    with opscope.record() as rec:
        rec.watch(lambda g: g.ops.clear(), name="clear")(graph)
    assert [s.nodes for s in rec.recording] == [3, 1]


def test_provenance_by_id_and_by_graph() -> None:
    with opscope.record() as rec:
        rec.snapshot(program("a", "b"), "one")
        rec.snapshot(program("ab"), "two", provenance={"ab": ["a", ("main", "b")]})
        with pytest.raises(opscope.OpscopeError, match="not a node of"):
            rec.snapshot(program("ab"), "three", provenance={"ab": ["nothing"]})
    recording = rec.recording
    assert recording[1].origins == (Origin((("main", "a"), ("main", "b")), (("main", "ab"),)),)
    (match,) = [match for match in diff_of(recording, 1).matched if match.evidence == "rewrite"]
    assert match.a == (("main", "a"), ("main", "b")) and len(recording) == 2


def test_provenance_of_several_nodes_from_one_is_one_rewrite() -> None:
    """A compiler says of each new node where it came from. Softmax did not become its first part, and the counts of the row add up."""
    with opscope.record() as rec:
        rec.snapshot(program("softmax", "neg"), "as written")
        rec.snapshot(program("sub", "exp", "div", "neg"), "decompose", provenance={part: ["softmax"] for part in ("sub", "exp", "div")})
    (match,) = [match for match in diff_of(rec.recording, 1).matched if match.evidence == "rewrite"]
    assert match.a == (("main", "softmax"),) and [id for _, id in match.b] == ["sub", "exp", "div"]
    row = row_of(rec.recording, rec.recording[1])
    assert (row.added, row.removed, row.changed) == (3, 1, 0)


def test_times_are_printed_as_passes_start_and_end(capsys: pytest.CaptureFixture[str]) -> None:
    def hangs(graph: opscope.Program) -> None:
        assert capsys.readouterr().err.splitlines()[-1].split() == ["started", "…", "simplify", "/", "hangs"]

    with opscope.record(times=True) as rec:
        rec.snapshot(program("neg"), "fold", pipeline="simplify", seconds=0.5)
        assert capsys.readouterr().err.split() == ["0.500", "s", "simplify", "/", "fold", "2", "nodes"]
        with rec.pipeline("simplify"):
            rec.watch(hangs)(program("neg"))
    assert capsys.readouterr().err.split()[1:] == ["s", "simplify", "/", "hangs", "2", "nodes"]


def test_each_snapshot_as_json_in_a_directory(tmp_path: Path) -> None:
    with opscope.record(directory=tmp_path / "passes") as rec:
        rec.snapshot(program("neg"), "as written")
        rec.snapshot(program("neg", "exp"), "lower / it", pipeline=["a", "b"], module="jit f")
    files = sorted(path.name for path in (tmp_path / "passes").iterdir())
    assert files == ["0000_as_written.json", "0001_jit_f.a.b.lower_it.json"]
    assert opscope.load(tmp_path / "passes" / files[1]) == program("neg", "exp")
    assert json.loads((tmp_path / "passes" / files[0]).read_text())["format"] == "opscope"
    with pytest.raises(opscope.OpscopeError, match="not an empty directory"):
        opscope.record(directory=tmp_path / "passes")


def test_the_directory_of_snapshots_is_a_recording(tmp_path: Path) -> None:
    with opscope.record(directory=tmp_path) as rec:
        rec.snapshot(program("neg"), "as written")
        rec.snapshot(program("neg", "exp"), "lower")
    (tmp_path / "0002_two.json").write_text(dumps([program("neg"), program("exp")]))
    recording = opscope.open_recording(tmp_path)
    assert isinstance(recording, Recording)
    assert [(each.name, each.program) for each in recording] == [("as_written", program("neg")), ("lower", program("neg", "exp"))]
    assert recording.skipped == ["0002_two.json: has 2 programs; a snapshot has one"]


def test_a_failing_compiler_leaves_the_recorded_snapshots(tmp_path: Path) -> None:
    path = tmp_path / "failed.opscope"
    with pytest.raises(ZeroDivisionError), opscope.record(path) as rec:
        rec.snapshot(program("neg"), "one")
        raise ZeroDivisionError
    recording = opscope.open_recording(path)
    assert len(recording) == 1 and "finished" not in recording.attrs


def test_modules_are_kept_apart() -> None:
    with opscope.record() as rec:
        for module, ops in (("f", ["a"]), ("g", ["b"]), ("f", ["a", "c"]), ("g", ["b"])):
            rec.snapshot(program(*ops), "pass", module=module)
    recording = rec.recording
    assert recording.before(recording[2]) == recording[0]
    assert diff_of(recording, 2).added == (("main", "c"),) and diff_of(recording, 3).same


@pytest.mark.frameworks
def test_a_dump_that_cannot_be_read_leaves_the_compiled_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recording never makes the user's run fail: the function is compiled, and the recording says what it lacks."""
    jax = pytest.importorskip("jax")

    def unreadable(directory: Path) -> Recording:
        raise ValueError("no such pass")

    monkeypatch.setattr("opscope.recording.hooks.jax.read_dump", unreadable)
    with opscope.record() as rec:
        compiled = rec.jax(jax.numpy.sin, jax.numpy.ones(3))
    assert compiled(jax.numpy.zeros(3)).tolist() == [0, 0, 0]
    assert rec.recording.attrs["remarks"] == ["XLA's dump could not be recorded: ValueError: no such pass"]
    assert len(rec.recording) == 0 and jax.__version__ in rec.recording.attrs["producer"]


@pytest.mark.frameworks
def test_a_jax_function_is_recorded_while_it_compiles() -> None:
    """With the seconds of its passes, which fit into the time that compiling took."""
    jax = pytest.importorskip("jax")

    def loss(w: Any, x: Any) -> Any:
        return jax.numpy.tanh(x @ w).sum()

    x, w = jax.numpy.ones((4, 8)), jax.numpy.ones((8, 2))
    with opscope.record() as rec:
        started = time.perf_counter()
        compiled = rec.jax(jax.grad(loss), w, x)
        rec.jax(loss, w, x, every_pass=True, module="forward")
        total = time.perf_counter() - started
    recording = rec.recording
    assert compiled(w, x).shape == (8, 2)
    assert recording.modules == ["jit_loss", "forward"]
    assert recording[0].name == "before optimizations"
    passes = {module: [s for s in recording if s.module == module] for module in recording.modules}
    assert len(passes["forward"]) > len(passes["jit_loss"]) > 10
    assert any(s.name == "fusion" for s in passes["forward"])
    timed = [s for s in recording if s.seconds is not None]
    assert {s.name for s in timed if s.module == "forward"} >= {"fusion", "layout-assignment", "algsimp", "dce"}
    outermost = [s.seconds for s in timed if len(s.pipeline) == 1 and s.seconds is not None]
    assert all(outermost) and sum(outermost) < total, "passes of the outermost pipelines do not overlap"


@pytest.mark.frameworks
def test_seconds_of_xla_are_those_of_a_compilation_that_writes_no_dump() -> None:
    """Most passes take less time than writing what they did. The function was compiled before, which must not leave them unknown."""
    jax = pytest.importorskip("jax")
    function = jax.jit(jax.numpy.sin)
    function(jax.numpy.ones(3))
    asked: list[dict[str, Any]] = []

    class Watched:
        def lower(self, *args: Any) -> Any:
            lowered = function.lower(*args)
            compile_ = lowered.compile

            def watched(options: dict[str, Any]) -> Any:
                asked.append(options)
                return compile_(options)

            lowered.compile = watched
            return lowered

    watched: Any = Watched()
    with opscope.record() as rec:
        compiled = rec.jax(watched, jax.numpy.ones(3), compiler_options={"xla_cpu_enable_fast_math": True})
    assert compiled(jax.numpy.zeros(3)).tolist() == [0, 0, 0]
    with_dump, timed = asked
    assert "xla_dump_to" in with_dump and "xla_dump_to" not in timed and timed["xla_cpu_enable_fast_math"]
    assert any(s.seconds is not None for s in rec.recording)
    assert "which wrote no dump" in rec.recording.attrs["remarks"][0]


@pytest.mark.frameworks
def test_recording_a_jax_function_leaves_the_users_own_profile_alone(tmp_path: Path) -> None:
    """A process can take one profile at a time. The recording lacks the seconds of passes then, and says so."""
    jax = pytest.importorskip("jax")
    with jax.profiler.trace(str(tmp_path)), opscope.record() as rec:
        rec.jax(jax.numpy.cos, jax.numpy.ones(3))
        jax.jit(jax.numpy.tan)(jax.numpy.ones(3)).block_until_ready()
    assert len(rec.recording) > 10 and all(s.seconds is None for s in rec.recording)
    assert "another profile was being taken" in " ".join(rec.recording.attrs["remarks"])
    (profile,) = tmp_path.rglob("*.xplane.pb")
    assert b"jit_tan" in profile.read_bytes(), "it was taken to its end"
