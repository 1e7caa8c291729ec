"""Profiles: what is read, where the times go, and what damaged or foreign ones say."""

from __future__ import annotations

import random
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import opscope
from opscope.errors import SourceError
from opscope.profile.model import Event, Profile
from opscope.profile.place import align_run, place
from opscope.profile.schedule import Labels, executed_graphs
from opscope.profile.xplane import is_xplane, read_xplane
from opscope.program import Program
from opscope.readers.hlo_proto import hlo_proto, program_of
from opscope.readers.source import Source
from opscope.readers.xplane import timed_programs, timed_with

SAMPLE = Path(__file__).resolve().parents[1] / "samples" / "xplane" / "loop.xplane.pb"
H200 = Path(__file__).resolve().parents[3] / "shared" / "data" / "profiles"


def text(number: int, content: bytes) -> bytes:
    assert len(content) < 1 << 14
    size = bytes([len(content)]) if len(content) < 128 else bytes([len(content) & 127 | 128, len(content) >> 7])
    return bytes([number << 3 | 2]) + size + content


def number(at: int, value: int) -> bytes:
    encoded = b""
    while value > 127:
        encoded += bytes([value & 127 | 128])
        value >>= 7
    return bytes([at << 3]) + encoded + bytes([value])


def entry(at: int, key: int, name: bytes) -> bytes:
    return text(at, number(1, key) + text(2, text(2, name)))


def test_the_sample_has_its_module_with_times() -> None:
    (timed,) = timed_programs(Source(SAMPLE))
    assert timed.times is not None and timed.times.steps == 3 and not timed.times.unplaced
    assert timed.program.name == "jit_loop" and timed.program.metrics["device time"].origin == "measured"
    (loop,) = [node for node in timed.program.main if node.op == "while"]
    column = timed.program.main.metrics["device time"]
    body = timed.program[loop.attrs["body"]]
    (product,) = [node for node in body if node.id in body.metrics["device time"] and ("dot" in node.id or "ynn" in node.id)]
    assert timed.times.calls((body.name, product.id)) == 9
    assert column[loop.id] > body.metrics["device time"][product.id] * 3
    assert sum(column.values()) * 3 == pytest.approx(timed.times.device_seconds)


def test_runs_that_all_differ_are_not_all_aligned(monkeypatch: pytest.MonkeyPatch) -> None:
    (timed,) = timed_programs(Source(SAMPLE))
    runs, each = 1000, 1 + sum(len(graph) for graph in executed_graphs(timed.program))
    events = [Event(f"loop_fusion_{number}", "", number, 1, 1, number, 0, "s") for number in range(1, runs + 1)]
    aligned: list[int] = []

    def noted(program: Program, labels: Labels, run: Sequence[Event], nodes: Any) -> list[Any]:
        aligned.append(run[0].run)
        return align_run(program, labels, run, nodes)

    monkeypatch.setattr("opscope.profile.place.align_run", noted)
    monkeypatch.setattr("opscope.profile.place._MOST_ALIGNED", 10 * each)
    times = place(timed.program, events)
    assert 10 <= len(aligned) < 100 and times.steps == runs
    assert times.device_seconds == pytest.approx(runs * 1e-12)


@pytest.mark.parametrize("plane", [b"/host:metadata", b"/device:TPU:0"])
def test_a_module_whose_number_is_too_long_is_not_numbered(plane: bytes) -> None:
    module = text(4, number(1, 1) + text(2, text(2, b"jit_f(" + b"1" * 5000 + b")") + text(5, text(6, b"x"))))
    runs = text(3, text(2, b"XLA Modules") + text(4, number(1, 1) + number(2, 0) + number(3, 5)))
    assert not read_xplane(text(1, text(2, plane) + module + runs)).modules


def test_a_directory_of_the_profiler_is_its_trace(tmp_path: Path) -> None:
    inner = tmp_path / "plugins" / "profile" / "2026_11_16"
    inner.mkdir(parents=True)
    (inner / "vm.xplane.pb").write_bytes(SAMPLE.read_bytes())
    assert opscope.load(tmp_path).name == "jit_loop"
    (inner / "other.xplane.pb").write_bytes(SAMPLE.read_bytes())
    with pytest.raises(SourceError, match=r"profiles of 2 hosts; name one of the files in 2026_11_16: other.xplane.pb, vm.xplane.pb"):
        opscope.load(tmp_path)


def test_a_profile_of_the_program_and_of_another(tmp_path: Path) -> None:
    program = opscope.load(SAMPLE)
    opscope.save(program, tmp_path / "loop.hlo")
    timed = opscope.load(tmp_path / "loop.hlo", profile=SAMPLE)
    assert {node: time for graph in timed for node, time in graph.metrics.get("device time", {}).items()} == {
        node: time for graph in program for node, time in graph.metrics.get("device time", {}).items()
    }
    (tmp_path / "again.hlo").write_text((tmp_path / "loop.hlo").read_text().replace("wrapped_tanh", "other_tanh"))
    notes = opscope.load(tmp_path / "again.hlo", profile=SAMPLE).attrs["notes"]
    assert "the profile is of another compilation: the program does not have 1 of its" in notes[-1]
    (tmp_path / "other.hlo").write_text("HloModule other\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n")
    with pytest.raises(SourceError, match="is a profile of another program: it has jit_loop") as error:
        opscope.load(tmp_path / "other.hlo", profile=SAMPLE)
    assert "\n" not in str(error.value)
    (tmp_path / "other.hlo").write_text("HloModule jit_loop\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n")
    with pytest.raises(SourceError, match="instructions that ran are in what was opened under that name"):
        opscope.load(tmp_path / "other.hlo", profile=SAMPLE)
    with pytest.raises(SourceError, match="is not a profile; expected"):
        opscope.load(tmp_path / "loop.hlo", profile=tmp_path / "other.hlo")


def test_a_tpu_has_its_operations_on_a_line() -> None:
    """By the format: modules on one line, operations on another, loops around their bodies."""
    metadata = [(1, b"jit_f(7)"), (2, b"%while.1 = f32[] while(%x)"), (3, b"%fusion.2 = f32[] fusion(%x)")]

    def event(kind: int, start: int, length: int) -> bytes:
        return text(4, number(1, kind) + number(2, start) + number(3, length))

    lines = [
        text(3, text(2, b"XLA Modules") + number(3, 5) + event(1, 0, 1000) + event(1, 2000, 1000)),
        text(3, text(2, b"XLA Ops") + number(3, 5) + event(2, 0, 900) + event(3, 100, 300) + event(3, 500, 300) + event(3, 2000, 50)),
    ]
    plane = number(1, 3) + text(2, b"/device:TPU:0") + b"".join(lines) + b"".join(entry(4, *one) for one in metadata)
    profile = read_xplane(text(1, plane))
    assert [(event.op, event.duration, event.program, event.run) for event in profile.device] == [
        ("while.1", 300, 7, 1), ("fusion.2", 300, 7, 1), ("fusion.2", 300, 7, 1), ("fusion.2", 50, 7, 2),
    ]  # fmt: skip
    assert profile.modules[7].name == "jit_f"


def test_a_stat_without_anything_is_nothing() -> None:
    names = entry(5, 1, b"hlo_op") + entry(5, 2, b"program_id")
    line = text(3, text(2, b"thread") + text(4, number(1, 1) + text(4, b"")))
    assert read_xplane(text(1, text(2, b"/host:CPU") + names + line)).device == []


def test_what_is_left_of_a_truncated_profile_is_shown() -> None:
    """The modules come first, then the planes with their events. A plane names its events at its end, so a cut one has no times."""
    data = SAMPLE.read_bytes()
    events, last = data.index(b"/host:CPU"), data.index(b"Task Environment")
    (whole,) = timed_programs(Source(SAMPLE))
    (timed,) = timed_programs(Source("cut.xplane.pb", data[: last + 40]))
    assert timed.times is not None and whole.times is not None and timed.times.seconds == whole.times.seconds
    assert timed.program.attrs["notes"] == ("the profile is truncated; the times are of what could be read",)
    cut = Source("cut.xplane.pb", data[: events + 1000])
    untimed = {one.program.name: one for one in timed_programs(cut)}
    assert untimed["jit_loop"].times is None and untimed["jit_loop"].program.node_count == whole.program.node_count
    assert untimed["jit_loop"].program.attrs["notes"] == ("the profile is truncated; no times could be read",)
    without_events = timed_programs(Source("idle.xplane.pb", data[: data.index(b"\n", events - 8)]))
    note = "the profile has no events of these modules: nothing ran while it was taken"
    assert [one.program.attrs["notes"] for one in without_events] == [(note,)] * len(untimed)
    with pytest.raises(SourceError, match="has no times that could be read: the profile is truncated"):
        timed_with([whole.program], cut)
    with pytest.raises(SourceError, match="has no module"):
        timed_programs(Source("cut.xplane.pb", data[:2000]))


def test_damaged_profiles_are_read_or_one_sentence() -> None:
    data = SAMPLE.read_bytes()
    dice = random.Random(1)
    for _ in range(150):
        place = dice.randrange(len(data))
        damaged = data[:place] if dice.random() < 0.3 else data[:place] + dice.randbytes(2) + data[place + 2 :]
        try:
            read_xplane(damaged)
        except SourceError as error:
            assert str(error) and "\n" not in str(error)
    with pytest.raises(SourceError, match="has no planes"):
        read_xplane(b"")
    assert is_xplane(data) and not is_xplane(b"\x0a\x03abc")


def hidden(events: list[Event]) -> list[Event]:
    """The events as they would be in a command buffer."""
    return [event._replace(op="command_buffer_1") for event in events]


def right_share(profile: Profile, module: int) -> tuple[float, float]:
    """Shares of the device's time that are placed, and placed on the instruction that the profiler names, with the names hidden."""
    program = program_of(hlo_proto(profile.modules[module].hlo)["hlo_module"])
    events = profile.of_module(module)
    truth, found = place(program, events), place(program, hidden(events))
    both = sum(min(seconds, found.seconds.get(node, 0.0)) for node, seconds in truth.seconds.items())
    return found.placed_seconds / truth.device_seconds, both / truth.device_seconds


@pytest.mark.frameworks
def test_a_profile_of_jax_agrees_with_its_own_reader(tmp_path: Path) -> None:
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    def step(weights: Any, x: Any) -> Any:
        loss = lambda w: (jax.lax.scan(lambda carry, one: (jnp.tanh(carry @ one), None), x, w)[0] ** 2).sum()  # noqa: E731
        return jax.grad(loss)(weights)

    compiled = jax.jit(step)
    weights, x = jnp.ones((4, 64, 64)), jnp.ones((32, 64))
    compiled(weights, x).block_until_ready()
    with jax.profiler.trace(str(tmp_path)):
        for _ in range(3):
            compiled(weights, x).block_until_ready()
    (file,) = tmp_path.rglob("*.xplane.pb")
    (timed,) = [one for one in timed_programs(Source(file)) if one.program.name == "jit_step"]
    times = timed.times
    assert times is not None and times.steps == 3 and not times.unplaced
    durations: dict[str, float] = {}
    for plane in jax.profiler.ProfileData.from_file(str(file)).planes:
        for line in plane.lines:
            for event in line.events:
                stats = dict(list(event.stats))
                if stats.get("hlo_module") == "jit_step" and "hlo_op" in stats:
                    durations[stats["hlo_op"]] = durations.get(stats["hlo_op"], 0.0) + event.duration_ns * 1e-9
    loops = {node.id for graph in executed_graphs(timed.program) for node in graph if node.op == "while"}
    own = {node: seconds for (_, node), seconds in times.seconds.items() if node not in loops}
    assert own == pytest.approx({name: seconds for name, seconds in durations.items() if name not in loops}, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["h200_jax_train_step", "h200_jax_train_step_uncaptured"])
def test_a_train_step_on_a_gpu_is_placed(name: str) -> None:
    """Five steps on an H200, with and without command buffers."""
    archive = H200 / f"{name}.tar.gz"
    if not archive.exists():
        pytest.skip("needs the profiles in ../shared")
    with tarfile.open(archive) as files:
        (member,) = [one for one in files.getmembers() if one.name.endswith(".xplane.pb")]
        trace = files.extractfile(member)
        assert trace is not None
        profile = read_xplane(trace.read())
    (module,) = profile.heaviest()
    program = program_of(hlo_proto(profile.modules[module].hlo)["hlo_module"])
    times = place(program, profile.of_module(module))
    total = sum(event.duration for event in profile.device) * 1e-12
    assert times.steps == 5 and abs(times.device_seconds - total) <= 0.001 * total
    assert times.placed_seconds >= 0.995 * total and profile.device_name == "NVIDIA H200"
    if name.endswith("uncaptured"):
        placed, right = right_share(profile, module)
        assert placed >= 0.995 and right >= 0.99
