"""Two programs compared by cost: `opscope cost A B`, and what programs cost after each pass."""

from __future__ import annotations

import gzip
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from support.cost_command import cost

import opscope
from opscope.analysis.info import info_of
from opscope.cli import main
from opscope.comparing import load_comparison
from opscope.program import Node, NodeKey
from opscope.recording.model import Recording

SAMPLES = Path(__file__).resolve().parent / "samples" / "kineto"
H200 = Path(__file__).resolve().parents[2] / "shared" / "data" / "profiles"


@pytest.fixture
def slower(tmp_path: Path) -> tuple[Path, float]:
    """The trace of a run in which the forward kernels of GELU take three times as long, and how much longer a step takes."""
    data = json.loads(gzip.decompress((SAMPLES / "eager.json.gz").read_bytes()))
    longer = 0.0
    for event in data["traceEvents"]:
        if event.get("cat") == "kernel" and "GeluCUDAKernelImpl" in event["name"]:
            longer += 2 * event["dur"] * 1e-6 / 2
            event["dur"] *= 3
    path = tmp_path / "slower.json"
    path.write_text(json.dumps(data))
    return path, longer


def test_what_got_slower_comes_first(slower: tuple[Path, float], capsys: pytest.CaptureFixture[str]) -> None:
    path, longer = slower
    data = cost(capsys, SAMPLES / "eager.json.gz", path)
    assert longer > 0 and data["after"] - data["before"] == pytest.approx(longer)
    grown = [row for row in data["rows"] if row["change"] > 1e-12]
    assert sorted(row["module"] for row in grown) == ["Net_0/Block_0", "Net_0/Block_1"] and data["rows"][: len(grown)] == grown
    assert sum(row["change"] for row in grown) == pytest.approx(longer) and data["matched_share"] == pytest.approx(1)
    operations = cost(capsys, SAMPLES / "eager.json.gz", path, "--per", "op")["rows"]
    assert operations[0]["op"] == "aten.gelu" and sum(row["after"] for row in operations) == pytest.approx(data["after"])
    assert main(["cost", str(SAMPLES / "eager.json.gz"), str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "eager → slower" in lines[0] and "100.0% of it on nodes that both have" in lines[2]


def changes_in(comparison: Recording, key: Callable[[NodeKey, Node], str]) -> dict[str, float]:
    """The change of device time on the nodes of both programs, as a page adds it up."""
    sums: dict[str, float] = {}
    for snapshot in comparison:
        for graph in snapshot.program:
            for id, seconds in graph.metrics.get("device time change", {}).items():
                name = key((graph.name, id), graph[id]) or "(none)"
                sums[name] = sums.get(name, 0.0) + seconds
    return sums


def test_what_a_page_shows_is_what_cost_lists(slower: tuple[Path, float], capsys: pytest.CaptureFixture[str]) -> None:
    eager = SAMPLES / "eager.json.gz"
    comparison = load_comparison(str(eager), str(slower[0]))
    rows = cost(capsys, eager, slower[0])["rows"]
    assert changes_in(comparison, lambda _, node: "/".join(node.scope)) == pytest.approx({row["module"]: row["change"] for row in rows})
    rows = cost(capsys, eager, slower[0], "--per", "node")["rows"]
    assert changes_in(comparison, lambda key, _: key[1]) == pytest.approx({row["node"]: row["change"] for row in rows})


@pytest.mark.slow
def test_two_profiles_of_a_train_step_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With and without command buffers: two compilations, whose names differ."""
    files = []
    for name in ("h200_jax_train_step", "h200_jax_train_step_uncaptured"):
        archive = H200 / f"{name}.tar.gz"
        if not archive.exists():
            pytest.skip("needs the profiles in ../shared")
        with tarfile.open(archive) as members:
            (member,) = [one for one in members.getmembers() if one.name.endswith(".xplane.pb")]
            stream = members.extractfile(member)
            assert stream is not None
            files.append(tmp_path / f"{name}.xplane.pb")
            files[-1].write_bytes(stream.read())
    data = cost(capsys, *files)
    changes = changes_in(load_comparison(*map(str, files)), lambda _, node: "/".join(node.scope))
    rows = {row["module"]: row["change"] for row in data["rows"]}
    assert changes == pytest.approx(rows, abs=1e-12) and sum(changes.values()) == pytest.approx(data["after"] - data["before"])
    assert data["matched_share"] > 0.9 and len(rows) > 20 and any(rows.values())


def test_a_module_that_was_renamed_is_the_same_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    renamed = tmp_path / "renamed.json"
    renamed.write_text((SAMPLES / "net.native").read_text().replace("blocks.1: Block", "layers.1: Block"))
    data = cost(capsys, SAMPLES / "net.native", renamed, "--by", "flops")
    rows = {row["module"]: row for row in data["rows"]}
    assert rows["blocks.1: Block/up: Linear"]["before"] == rows["blocks.1: Block/up: Linear"]["after"] > 0
    assert all(row["change"] == 0 for row in data["rows"]) and not any("layers" in name for name in rows)


def test_compiled_code_is_compared_by_its_modules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An eager step against the same step compiled: hardly a node is in both, and no module has the same name."""
    log, eager, compiled = tmp_path / "step.log", SAMPLES / "eager.json.gz", SAMPLES / "compiled.json.gz"
    log.write_bytes(gzip.decompress((SAMPLES / "compiled.log.gz").read_bytes()))
    data = cost(capsys, eager, log, "--profile", compiled)
    assert data["matched_share"] < 0.2 and data["matched_module_share"] > 0.95
    rows = {row["module"]: row for row in data["rows"]}
    linear = {f"Net_0/Block_{i // 2}/Linear_{i}": f"blocks/{i // 2}/{('up', 'down')[i % 2]}" for i in range(4)} | {"Net_0/Linear_4": "head"}
    own = {row["module"]: row["seconds"] for row in cost(capsys, log, "--profile", compiled, "--per", "module")["rows"]}
    assert {name: rows[name]["after"] for name in linear} == pytest.approx({name: own[module] for name, module in linear.items()})
    assert all(row["before"] and row["after"] for row in data["rows"]) and "SGD.step" in rows
    assert sum(row["after"] for row in data["rows"]) == pytest.approx(data["after"])
    assert main(["cost", str(eager), str(log), "--profile", str(compiled)]) == 0
    assert "% of it in modules that both have, by the order of their products" in capsys.readouterr().out
    assert main(["cost", str(eager), str(compiled)]) == 0
    assert "open its TORCH_TRACE log with --profile" in capsys.readouterr().out
    assert "matched_module_share" not in cost(capsys, eager, log, "--profile", compiled, "--per", "op")


def test_two_sources_have_a_profile_each(slower: tuple[Path, float], capsys: pytest.CaptureFixture[str]) -> None:
    trace = str(SAMPLES / "eager.json.gz")
    for command in (["cost", trace, trace], ["view", trace, trace, "--diff"], ["diff", trace, trace]):
        assert main([*command, "--profile", trace]) == 2
        assert "two sources need two profiles, not 1: --profile A --profile B" in capsys.readouterr().err
    assert main(["diff", trace, trace, "--device", "h200"]) == 2
    assert "--device only applies with -o FILE" in capsys.readouterr().err
    net = SAMPLES / "net.native"
    data = cost(capsys, net, net, "--profile", trace, "--profile", slower[0])
    assert data["after"] - data["before"] == pytest.approx(slower[1])
    assert main(["cost", trace, trace, "--per", "kernel"]) == 2
    assert "two sources are compared --per node, op, module, source" in capsys.readouterr().err


def test_passes_have_the_cost_of_the_program_after_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["passes", "demo:passes", "--cost", "--device", "h200", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    recording = opscope.open_recording("demo:passes")
    for row, snapshot in list(zip(rows, recording, strict=True))[:: max(1, len(rows) // 4)]:
        info = info_of(snapshot.program)
        assert (row["flops"], row["bytes"]) == (info.flops, info.bytes)
    assert all(row["estimated_seconds"] > 0 for row in rows) and len({row["flops"] for row in rows}) > 1
    assert main(["passes", "demo:passes", "--cost"]) == 0
    head = next(line for line in capsys.readouterr().out.splitlines() if "removed" in line)
    assert head.split()[-2:] == ["flops", "bytes"], "the time at best needs a device"
    assert main(["passes", "demo:passes", "--device", "h200"]) == 2
    assert "--device applies to --cost" in capsys.readouterr().err
