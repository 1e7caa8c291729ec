"""Memory snapshots of PyTorch's allocator: recorded on an H200 with the peak that PyTorch measured (`snapshots/make.py`)."""

from __future__ import annotations

import gzip
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from support.wire_reader import WireReader

from opscope.errors import SourceError
from opscope.limits import MOST_FRAMES
from opscope.loading import load_all
from opscope.memory.model import Memory
from opscope.memory.read_from import remember_source
from opscope.memory.shown import memory_of, planner_of
from opscope.memory.sources import read_memory
from opscope.memory.suggest import answer as answer_to
from opscope.program import Frame
from opscope.readers.torch_memory.frames import Place
from opscope.readers.torch_memory.plain_pickle import read_plain_pickle
from opscope.serve.opening import open_source

SNAPSHOTS = Path(__file__).parent / "snapshots"
TRUTH: dict[str, dict[str, Any]] = json.loads((SNAPSHOTS / "truth.json").read_text("utf-8"))


def snapshot(name: str) -> Memory:
    (memory,) = read_memory(str(SNAPSHOTS / f"{name}.pickle.gz"))
    return memory


def bytes_by_kind(memory: Memory) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for row in memory.live(memory.peak):
        sizes[row.buffer.kind] = sizes.get(row.buffer.kind, 0) + (row.buffer.bytes or 0)
    return sizes


@pytest.mark.parametrize("name", TRUTH)
def test_the_peak_is_what_pytorch_measured(name: str) -> None:
    memory = snapshot(name)
    assert memory.origin == "measured"
    assert memory.peak_bytes == TRUTH[name]["max_memory_allocated"]
    kinds = bytes_by_kind(memory)
    assert sum(size for kind, size in kinds.items() if kind != "unused") == memory.peak_bytes
    assert sum(kinds.values()) == memory.reserved_at(memory.peak), "the rest is cached or fragmented"


def test_kinds_follow_from_where_blocks_are_allocated_and_freed() -> None:
    memory = snapshot("transformer_early")
    kinds = bytes_by_kind(memory)
    weights = 4 * 2 * (2 * 192 + 192 * 576 + 576 + 192 * 192 + 192 + 192 * 768 + 768 + 768 * 192 + 192)
    assert weights <= kinds["parameter"] < 1.001 * weights, "blocks are rounded up to 512 bytes"
    assert kinds["optimizer state"] >= 2 * weights, "AdamW has two moments"
    saved = [row.buffer for row in memory.live(memory.peak) if row.buffer.kind == "saved"]
    assert saved[0].why.startswith("saved for backward: freed by ")
    assert saved[0].source.endswith("forward") and "make.py" in saved[0].source
    assert any(buffer.scope[-1] == "normalization.py forward" for buffer in saved)


def test_what_was_there_before_is_counted_and_said_so() -> None:
    kinds = bytes_by_kind(snapshot("transformer_late"))
    assert kinds["earlier"] > 3 * 3_000_000 and "parameter" not in kinds


def test_the_command_reads_a_snapshot(run: Run) -> None:
    done = run("memory", SNAPSHOTS / "conv_late.pickle.gz", "--per", "kind")
    assert done.returncode == 0, done.stderr
    assert "44.0 MB (44,024,832 bytes), measured by the allocator" in done.stdout
    assert "saved" in done.stdout and "earlier" in done.stdout


def test_plain_data_comes_back_as_it_was() -> None:
    shared = ["ä" * 300, 2**40, -5, -(2**70), 255, 65_536, 1.5, True, False, None, (), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)]
    data = {"shared": [shared, shared], "empty": [{}, []], "one": {"x": [1]}, "many": dict.fromkeys(map(str, range(2000)), 7)}
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert read_plain_pickle(pickle.dumps(data, protocol)) == data


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return (print, ("called",))


@pytest.mark.parametrize("value", [Evil(), {"segments": [Path("x")]}, Evil, b"bytes"], ids=["call", "object", "class", "bytes"])
def test_anything_but_plain_data_is_refused_and_not_run(value: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SourceError, match="contains more than plain data"):
        read_plain_pickle(pickle.dumps(value))
    assert not capsys.readouterr().out


def test_a_tuple_is_not_a_key() -> None:
    """Python crashes when it hashes a tuple that is nested a million levels deep."""
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        for data in ({(1,): 2}, {"a": 1, (((),),): 2}):
            with pytest.raises(SourceError, match="is not a complete pickle of plain data: a tuple as a key"):
                read_plain_pickle(pickle.dumps(data, protocol))


@pytest.mark.slow
def test_a_damaged_or_other_pickle_is_one_line(run: Run, tmp_path: Path) -> None:
    whole = gzip.decompress((SNAPSHOTS / "mlp_late.pickle.gz").read_bytes())
    cases = {
        "cut": (whole[: len(whole) // 2], "is not a complete pickle of plain data"),
        "other": (pickle.dumps([1, 2]), "is a pickle, but not a memory snapshot"),
        "empty": (pickle.dumps({"segments": [], "device_traces": [[]]}), "has no events"),
        "strange": (pickle.dumps({"segments": [3], "device_traces": [[{"action": "alloc"}]]}), "that opscope does not understand"),
        "first protocol": (pickle.dumps(Evil(), 0), "torch-memory (not a pickle of protocol 2 or later)"),
    }
    for name, (data, message) in cases.items():
        file = tmp_path / f"{name}.pickle"
        file.write_bytes(data)
        done = run("memory", file)
        assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1, (name, done.stderr)


@pytest.mark.parametrize(
    ("segments", "events", "message"),
    [
        ([], [{"action": "alloc", "addr": 0, "size": -5}], r"event 0 \(alloc\) has a size of -5 bytes; write it again"),
        (
            [{"address": 0, "total_size": -1, "blocks": []}],
            [{"action": "alloc", "addr": 0, "size": 5}],
            "segment at 0 has a size that no memory has",
        ),
        ([], [{"action": "alloc", "addr": 0, "size": 2**70}], r"event 0 \(alloc\) has a size of 1180591620717411303424 bytes"),
        (
            [{"address": 0}],
            [{"action": "alloc", "addr": 0, "size": 5}],
            "does not understand: a part of it has no 'total_size'; write it again",
        ),
        (["x"], [{"action": "alloc"}], "does not understand: a part of it is not of the type that torch writes; write it again"),
    ],
)
def test_what_no_allocator_writes_is_refused_in_plain_words(segments: Any, events: Any, message: str, tmp_path: Path) -> None:
    file = tmp_path / "memory.pickle"
    file.write_bytes(pickle.dumps({"segments": segments, "device_traces": [events]}))
    with pytest.raises(SourceError, match=message) as error:
        read_memory(str(file))
    assert "Error:" not in str(error.value)


def test_a_snapshot_is_a_program_whose_memory_is_the_snapshot() -> None:
    file = str(SNAPSHOTS / "transformer_early.pickle.gz")
    (served,) = open_source(file)
    program, memory = served.program(), snapshot("transformer_early")
    made = [buffer for buffer in memory.buffers if buffer.kind != "earlier"]
    assert {buffer.node for buffer in made} == {node.id for node in program.main}
    relu = next(buffer for buffer in made if buffer.source.startswith("/tmp/make.py:27 "))
    node = program.main[relu.node]
    assert node.scope == relu.scope and str(node.source[0]) == relu.source
    assert program.main.metrics["allocated bytes"][relu.node] == relu.bytes
    wire = WireReader(gzip.decompress(served.memory()))
    ids = [node.id for node in program.main]
    steps = wire.column("steps")
    assert [ids[step] for step in steps if step >= 0] == ids, "every allocation is a step, and releases are steps without a node"
    assert wire.fields["peakBytes"] == memory.peak_bytes


def test_a_snapshot_is_read_once_for_its_program_and_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    file = str(SNAPSHOTS / "mlp_early.pickle.gz")
    times: list[int] = []

    def counted(data: bytes, progress: Any) -> Any:
        times.append(len(data))
        return read_plain_pickle(data, progress)

    monkeypatch.setattr("opscope.readers.torch_memory.snapshot.read_plain_pickle", counted)
    (program,) = load_all(file)
    remember_source(file, program)
    assert memory_of(program).peak_bytes == snapshot("mlp_early").peak_bytes
    assert len(times) == 2, "once for the program and its memory, and once for the memory that it is compared with"


def test_what_if_of_a_snapshot_knows_when_blocks_are_made_and_freed() -> None:
    file = str(SNAPSHOTS / "transformer_early.pickle.gz")
    (served,) = open_source(file)
    answer = answer_to(planner_of(served.program()), [], suggests=True)
    assert answer.result.memory.live_peak < snapshot("transformer_early").live_peak
    assert answer.result.known_flops is None, "an allocator does not know what computes a value"
    assert answer.advice and all("torch.utils.checkpoint.checkpoint(" in line and "make.py:" in line for line in answer.advice)


@pytest.mark.parametrize("code", [b"r\xff\xff\xff\x7f", b"\x8e" + b"\xff" * 8, b"\x8d" + b"\x00" * 6 + b"\xff\x00"])
def test_a_pickle_cannot_ask_for_memory_that_it_does_not_fill(code: bytes) -> None:
    """The instructions name a huge memo, and bytes and a text that are longer than the file."""
    try:
        assert read_plain_pickle(b"\x80\x04]" + code + b".") == []
    except SourceError as error:
        assert "plain data" in str(error)


def test_a_frame_without_a_name_is_not_a_function() -> None:
    """The fuzzer found it."""
    place = Place([{"filename": "a.py", "line": 3}, {"filename": "b.py", "line": 4, "name": "f"}], has_stacks=True)
    assert place.scope == ("b.py f",) and place.frame == Frame("b.py", 4, "f")


def test_a_stack_that_many_events_share_is_looked_at_once(tmp_path: Path) -> None:
    """Half a megabyte of pickle took minutes: 5,000 events with one list of 20,000 frames. Without the limit this test takes as long."""
    frames = [{"filename": "a.py", "line": 1, "name": f"f{i}"} for i in range(20_000)]
    events = [{"action": "alloc", "addr": 512 * i, "size": 512, "frames": frames} for i in range(5_000)]
    file = tmp_path / "memory.pickle"
    file.write_bytes(pickle.dumps({"segments": [], "device_traces": [events]}))
    [program] = load_all(file)
    assert {len(node.scope) for node in program.main} == {MOST_FRAMES}
