"""`visualize_with_clusters` end to end: a server that blocks, the page in Chromium, and a second program in the same tab."""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import re
import signal
import socket
import stat
import urllib.error
import urllib.request
import webbrowser
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from browser.conftest import browser, open_address
from browser.harness import Open, until
from quantized_models import stages

import opscope
from opscope.compat.executorch import clustered, visualize, visualize_graph, visualize_with_clusters

__all__ = ["browser", "open_address"]  # fixtures of the viewer's tests

SHOWN = "window.opscope?.state().status === 'ready' && window.opscope.state().nodes"
"""The number of nodes, once the page shows them; while the page is reloading there is none."""


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The blocking call in a separate process, and the file in which the server announces itself."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    tagged = stages().tagged
    options = {"no_open_in_browser": True}
    process = multiprocessing.get_context("fork").Process(target=visualize_with_clusters, args=(tagged,), kwargs=options)
    process.start()
    place = tmp_path / "opscope" / "server.json"
    until(lambda: place.exists() or not process.is_alive())
    assert process.is_alive()
    yield place
    assert process.pid is not None
    os.kill(process.pid, signal.SIGINT)
    process.join()
    assert process.exitcode == 0
    assert not place.exists(), "the server deletes its file when it ends"


def showing(page: Any) -> int:
    """0 while the page is reloading."""
    try:
        return int(page.evaluate(SHOWN) or 0)
    except Exception:
        return 0


def address_of(place: Path) -> str:
    state = json.loads(place.read_text())
    return f"http://127.0.0.1:{state['port']}/{state['token']}/"


@pytest.mark.step("4.9", "4.11", "4.19")
def test_partitions_and_clusters_in_the_viewer_then_another_program_in_the_same_tab(shown: Path, open_address: Open) -> None:
    assert stat.S_IMODE(shown.stat().st_mode) == 0o600
    assert stat.S_IMODE(shown.parent.stat().st_mode) == 0o700
    viewer = open_address(address_of(shown))
    state = viewer.state()
    assert state["grouping"] == "partition"
    program = opscope.capture(stages().tagged)
    paths = program.main.groupings["partition"]
    groups = {"g:" + "/".join(path[:length]) for path in paths.values() for length in range(1, len(path) + 1)}
    assert set(state["expanded"]) == groups, "every partition and every cluster is a frame"
    tags = Counter(node.meta["delegation_tag"] for node in stages().tagged.graph.nodes if "delegation_tag" in node.meta)
    for number, count in enumerate(tags.values()):
        viewer.row(f"partition {number}").click()
        viewer.idle()
        about = viewer.page.get_by_label("About the selection").inner_text()
        assert re.search(rf"nodes[^\n]*\s+{count}\b", about), "it contains exactly the nodes that the partitioner tagged"
    options = viewer.page.get_by_label("Group by", exact=True).locator("option").all_inner_texts()
    assert {"module", "partition", "qdq cluster"} <= set(options)
    clusters = {path[0] for path in program.main.groupings["qdq cluster"].values()}
    viewer.choose("Group by", "qdq cluster")
    assert set(viewer.press("Expand all")["expanded"]) == {f"g:{name}" for name in clusters}
    viewer.choose("Group by", "module")
    assert any(key.startswith("g:b1") for key in viewer.press("Expand all")["expanded"])
    viewer.press("Styles")
    assert viewer.page.get_by_role("status").filter(has_text="8 matches").count() == 1, "the predefined highlight is on"

    visualize(stages().lowered, reuse_server=True)
    until(lambda: showing(viewer.page) == opscope.capture(stages().lowered).node_count)
    assert viewer.idle()["grouping"] == "module"
    visualize_graph(stages().tagged.graph_module, stages().tagged, reuse_server=True)
    until(lambda: showing(viewer.page) == program.node_count)


@pytest.mark.step("4.17", "4.18")
def test_executorchs_rules_are_imported_and_give_each_partition_its_colour(
    shown: Path, open_address: Open, shared_data: Path, tmp_path: Path
) -> None:
    rules = shared_data / "executorch" / "cluster_highlight_style.json"
    colours = [rule["styles"]["node_bg_color"]["value"] for rule in json.loads(rules.read_text())]
    viewer = open_address(address_of(shown))
    viewer.press("Styles")
    with viewer.page.expect_file_chooser() as chooser:
        viewer.page.get_by_role("button", name="Import rules", exact=True).click()
    chooser.value.set_files(rules)
    viewer.page.get_by_role("listitem", name=f"Rule {len(colours)}", exact=True).wait_for()
    viewer.idle()
    quantize, aten, cluster, first, second, *others = colours
    with viewer.page.expect_download() as waiting:
        viewer.press("Save SVG")
    picture = Path(waiting.value.path()).read_text("utf-8")
    frames = re.findall(r'<g class="frame"[^>]* data-key="g:([^"]*)">.*?<rect [^>]*fill="([^"]*)"', picture, re.S)
    partitions = {name.partition(" (")[0]: fill for name, fill in frames if "/" not in name}
    assert partitions == {"partition 0": first, "partition 1": second}
    assert {fill for name, fill in frames if "/cluster (" in name} == {cluster}
    assert all(f'fill="{colour}"' in picture for colour in (quantize, aten))
    assert not any(f'fill="{colour}"' in picture for colour in others), "there are two partitions"
    assert viewer.page.locator("canvas.graph").bounding_box()["width"] > 500, (
        "the graph is next to the rules; Model Explorer's dialog covers it"
    )
    for theme in ("light", "dark"):
        closed = closed_boxes(clustered(stages().tagged), rules, tmp_path / f"{theme}.svg", theme)
        assert {name: fill for name, (fill, _) in closed.items() if name in partitions} == partitions, "without a browser, too"
        for name, (fill, ink) in closed.items():
            assert contrast(fill, ink) > 4.5, f"{name} can be read; in dark, Model Explorer writes it in white"


def closed_boxes(program: opscope.Program, rules: Path, picture: Path, theme: str) -> dict[str, tuple[str, str]]:
    """The colours of each box and of its title, with partitions closed."""
    opscope.save(program, picture, group_by="partition", depth=0, style=str(rules), theme=theme)
    pattern = r'<g class="box"[^>]* data-key="\w:([^"]*)">.*?<rect [^>]*fill="([^"]*)".*?<text [^>]*fill="([^"]*)"'
    return {key.partition(" (")[0]: (fill, ink) for key, fill, ink in re.findall(pattern, picture.read_text(), re.S)}


def contrast(one: str, other: str) -> float:
    """As WCAG defines it."""

    def luminance(colour: str) -> float:
        parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def shows_until_interrupted(exported: Any, log: Path, script: Path) -> None:
    """A user's script, with a browser that only writes down what it is asked to open, and by whom."""
    os.environ["BROWSER"] = f"{script} %s"
    importlib.reload(webbrowser)
    visualize(exported, reuse_server=False)
    (address,) = (line.split()[1] for line in log.read_text().splitlines() if line.startswith(f"{os.getpid()} "))
    with socket.socket() as probe, log.open("a") as stream:
        port = urlsplit(address).port
        stream.write(f"the script goes on, {'with' if probe.connect_ex(('127.0.0.1', port)) == 0 else 'without'} the server\n")


@pytest.mark.step("4.2", "4.10", "4.12")
def test_each_call_opens_a_tab_on_a_server_of_its_own_and_blocks_until_interrupted(
    tmp_path: Path, open_address: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    exported, log, script = stages().tagged, tmp_path / "log", tmp_path / "browser"
    script.write_text(f'#!/bin/sh\necho "$PPID $1" >>{log}\n')
    script.chmod(0o755)
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=shows_until_interrupted, args=(exported, log, script)) for _ in range(2)]
    for process in processes:
        process.start()
    lines = until(lambda: log.exists() and len(lines := log.read_text().splitlines()) == 2 and lines)
    addresses = [line.split()[1] for line in lines]
    assert len({urlsplit(address).port for address in addresses}) == 2, "Model Explorer gives the first free port to both"
    for address in addresses:
        assert open_address(address).state()["nodes"] == opscope.capture(exported).node_count
        with pytest.raises(urllib.error.HTTPError) as refused:  # Model Explorer answers everybody on the machine
            urllib.request.urlopen(f"http://{urlsplit(address).netloc}/")
        assert refused.value.code == 404
    for process in processes:
        assert process.is_alive() and process.pid is not None
        os.kill(process.pid, signal.SIGINT)
        process.join()
        assert process.exitcode == 0
    assert log.read_text().splitlines()[2:] == ["the script goes on, without the server"] * 2, (
        "Model Explorer's answers until the script ends"
    )


def test_replacing_the_program_requires_the_token(shown: Path) -> None:
    address = address_of(shown)
    port = json.loads(shown.read_text())["port"]
    for wrong, headers, status in (
        (f"http://127.0.0.1:{port}/guess/show", {}, 404),
        (f"http://127.0.0.1:{port}/show", {}, 404),
        (f"{address}show", {"Host": "evil.example"}, 403),
        (f"{address}show", {}, 422),
    ):
        request = urllib.request.Request(wrong, data=b'{"programs": "[]"}', headers=headers, method="POST")
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(request)
        assert error.value.code == status


@pytest.mark.step("4.11")
def test_a_file_that_others_can_read_or_a_server_that_is_gone_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from opscope.serve.running_server import show_in_running, state_file

    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    program = opscope.capture(stages().quantized)
    assert show_in_running(program, {}) is None
    state_file().parent.mkdir()
    state_file().write_text(json.dumps({"pid": 1, "port": 9, "token": "t"}))
    state_file().chmod(0o644)
    assert show_in_running(program, {}) is None
    state_file().chmod(0o600)
    assert show_in_running(program, {}) is None, "no server listens on that port"
