"""What the home page may open: what was given to the server, and nothing else on the machine."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest
from conftest import ROOT, Corpus, Run

from opscope.errors import OpscopeError
from opscope.loading import sources_in
from opscope.readers.source import Source
from opscope.serve import directories as directories_module
from opscope.serve.directories import Directories
from opscope.serve.home import Home
from opscope.serve.recent import MOST, forget_all, recent_paths, remember
from opscope.serve.uploads import Uploads


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty state directory of this test's own."""
    monkeypatch.setenv("OPSCOPE_STATE", str(tmp_path / "state"))
    return tmp_path / "state" / "recent.json"


def files_in(directory: Path, count: int) -> list[Path]:
    paths = [directory / f"{i}.hlo" for i in range(count)]
    for path in paths:
        path.touch()
    return paths


def test_recent_files_are_the_latest_first_without_repeats_and_bounded(state: Path, tmp_path: Path) -> None:
    paths = files_in(tmp_path, MOST + 5)
    for path in [*paths, paths[-2]]:
        remember(path)
    assert recent_paths() == [paths[-2], paths[-1], *reversed(paths[5:-2])]
    paths[-2].unlink()
    assert paths[-2] not in recent_paths(), "what is gone is not offered"


def test_the_list_of_recent_files_is_private_and_can_be_cleared(state: Path, tmp_path: Path) -> None:
    remember(*files_in(tmp_path, 1))
    assert stat.S_IMODE(state.stat().st_mode) == 0o600 and stat.S_IMODE(state.parent.stat().st_mode) == 0o700
    state.chmod(0o644)
    assert recent_paths() == [], "a list that others could have written is not used"
    state.chmod(0o600)
    assert len(recent_paths()) == 1
    forget_all()
    assert recent_paths() == [] and not state.exists()


@pytest.mark.parametrize("text", ["", "{]", "[]", '{"opened": 3}', '{"opened": [1, null, "relative", "/a\\u0000b"]}', "[" * 5000])
def test_a_damaged_list_of_recent_files_is_empty(state: Path, tmp_path: Path, text: str) -> None:
    state.parent.mkdir()
    state.write_text(text)
    state.chmod(0o600)
    assert recent_paths() == []
    (path,) = files_in(tmp_path, 1)
    remember(path)
    assert recent_paths() == [path]


def test_the_state_directory_is_that_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = files_in(tmp_path, 1)
    remember(path)
    assert recent_paths() == [], "OPSCOPE_STATE=off, as in all tests, keeps no list"
    monkeypatch.setenv("OPSCOPE_STATE", "")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr(sys, "platform", "linux")
    remember(path)
    assert json.loads((tmp_path / "xdg" / "opscope" / "recent.json").read_text()) == {"opened": [str(path)]}


@pytest.mark.slow
def test_only_sources_that_can_be_opened_again_are_remembered(run: Run, state: Path, tmp_path: Path, example: Path) -> None:
    """`opscope view` remembers files; not standard input, examples, live objects, or what could not be read."""
    shutil.copy(example, tmp_path / "step.hlo")
    (tmp_path / "bad.hlo").write_text("HloModule")
    for source, stdin in (("step.hlo", b""), ("-", example.read_bytes()), ("demo:detach", b""), ("bad.hlo", b"")):
        run("view", source, "--host", "192.0.2.1", "--no-browser", stdin=stdin)  # an address that this machine does not have
    assert recent_paths() == [tmp_path / "step.hlo"]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A directory with files, and a secret next to it."""
    (tmp_path / "secret.hlo").write_text("HloModule secret")
    root = tmp_path / "models"
    (root / "deep").mkdir(parents=True)
    (root / "b.hlo").write_text("HloModule b")
    (root / "deep" / "a.hlo").write_text("HloModule a")
    (root / ".hidden.hlo").touch()
    (root / "out.hlo").symlink_to(tmp_path / "secret.hlo")
    (root / "up").symlink_to(tmp_path)
    (root / "gone.hlo").symlink_to(tmp_path / "nothing")
    (root / "in.hlo").symlink_to(root / "deep" / "a.hlo")
    os.mkfifo(root / "pipe")
    return root


def test_a_listing_has_directories_and_files_that_can_be_opened(tree: Path) -> None:
    listing = Directories([tree]).listing(0, "")
    assert [(entry["name"], entry["kind"]) for entry in listing["entries"]] == [
        ("deep", "directory"), ("b.hlo", "file"), ("in.hlo", "file"),
    ]  # fmt: skip
    assert [entry["name"] for entry in Directories([tree]).listing(0, "deep")["entries"]] == ["a.hlo"]
    assert Directories([tree]).source(0, "in.hlo") == tree / "deep" / "a.hlo"


@pytest.mark.parametrize(
    "path",
    [
        "../secret.hlo", "..", "deep/../../secret.hlo", "deep/../b.hlo", "/etc/passwd", "//etc/passwd", "out.hlo", "up", "up/secret.hlo",
        "gone.hlo", ".hidden.hlo", "./.hidden.hlo", "deep/.", "nothing.hlo", "b.hlo/", "b.hlo\0", "..\\secret.hlo", "~", "b.hlo/../b.hlo",
        "\ud800.hlo",
    ],
)  # fmt: skip
def test_nothing_outside_a_directory_is_found(tree: Path, path: str) -> None:
    directories = Directories([tree])
    harmless = {"deep/.": tree / "deep", "b.hlo/": tree / "b.hlo"}
    if path in harmless:
        assert directories.path(0, path) == harmless[path]
        return
    for refuse in (directories.path, directories.source, directories.listing):
        with pytest.raises(OpscopeError, match="no such file in"):
            refuse(0, path)


@pytest.mark.parametrize("root", [-1, 1, 10**9])
def test_only_directories_that_were_named_are_listed(tree: Path, root: int) -> None:
    with pytest.raises(OpscopeError, match="--browse"):
        Directories([tree]).listing(root, "")


def test_a_directory_that_is_itself_a_link_can_be_named(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tree)
    assert Directories([tmp_path / "link"]).path(0, "b.hlo") == tree / "b.hlo"


def test_a_dump_is_opened_as_a_whole_unless_a_link_in_it_leads_out(corpus: Corpus, tmp_path: Path) -> None:
    shutil.copytree(corpus("hidet_passes"), tmp_path / "root" / "dump")
    directories = Directories([tmp_path / "root"])
    dump = next(path for path in sorted((tmp_path / "root").rglob("*")) if path.is_dir() and directories_module._is_dump(path))
    below = dump.relative_to(tmp_path / "root")
    assert {entry["name"]: entry["kind"] for entry in directories.listing(0, str(below.parent))["entries"]}[dump.name] == "dump"
    assert directories.source(0, str(below)) == dump
    (dump / "99_secret.json").symlink_to(tmp_path / "secret.json")
    with pytest.raises(OpscopeError, match="a link that leads out of"):
        directories.source(0, str(below))


def test_the_files_of_a_directory_are_opened_unless_one_is_a_link_that_leads_out(tree: Path, tmp_path: Path) -> None:
    """Opening a directory that is not a dump opens what is in it."""
    (tree / "models" / "only").mkdir(parents=True)
    for name in ("a.hlo", "b.hlo"):
        (tree / "models" / "only" / name).write_text("HloModule m\n\nENTRY e {\n  ROOT x = f32[2] parameter(0)\n}\n")
    directories = Directories([tree])
    assert directories.source(0, "models") == tree / "models"
    shutil.move(tree / "models" / "only" / "b.hlo", tmp_path / "elsewhere.hlo")
    (tree / "models" / "only" / "b.hlo").symlink_to(tmp_path / "elsewhere.hlo")
    for path in ("models", "models/only"):
        with pytest.raises(OpscopeError, match="a link that leads out of"):
            directories.source(0, path)
    shutil.move(tree / "models" / "only", tmp_path / "only")
    (tree / "models" / "only").symlink_to(tmp_path / "only")
    with pytest.raises(OpscopeError, match="a link that leads out of"):
        directories.source(0, "models")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_no_pipe_is_opened(tree: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody would wait for whoever writes into it."""

    def read(*_: object) -> bytes:
        raise AssertionError("a pipe was opened")

    monkeypatch.setattr(Source, "_streamed", read)
    pipe = tree / "pipe.hlo"
    os.mkfifo(pipe)
    held = os.open(pipe, os.O_RDWR)  # so that opening it does not wait
    try:
        with pytest.raises(OpscopeError, match="no such file in"):
            Directories([tree]).source(0, "pipe.hlo")
        assert str(pipe) not in sources_in(str(tree))
        remember(pipe)
        uploads = Uploads()
        served, problems = Home(uploads, [str(tree)], recent=True)._read([{"recent": str(pipe)}])
        uploads.close()
        assert served == [] and "pipe" in problems[0] and "internal error" not in problems[0]
    finally:
        os.close(held)


def test_a_large_directory_is_listed_in_part(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directories_module, "MOST_ENTRIES", 2)
    listing = Directories([tree]).listing(0, "")
    assert (len(listing["entries"]), listing["left_out"]) == (2, 1)


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("step.hlo", "step.hlo"), ("../../etc/passwd", "passwd"), ("C:\\models\\a.onnx", "a.onnx"), ("a\nb\0c.json", "a_b_c.json"),
        ("", "file"), ("..", "file"), ("ünï.json", "ünï.json"), ("x" * 500 + ".onnx", "x" * 115 + ".onnx"), ("-", "-"),
        ("demo:x", "demo_x"),
    ],
)  # fmt: skip
def test_an_uploaded_file_keeps_its_name_and_stays_in_its_directory(name: str, stored: str) -> None:
    uploads = Uploads()
    number, path = uploads.place(name)
    path.write_text("x")
    assert path.name == stored and uploads.path(number) == path
    home = path.parent.parent
    assert stat.S_IMODE(home.stat().st_mode) == 0o700 and uploads.without_place(f"{path}:1: no") == f"{stored}:1: no"
    for other in (-1, number + 1):
        with pytest.raises(OpscopeError, match="choose it again"):
            uploads.path(other)
    uploads.close()
    assert not home.exists()


@pytest.mark.slow
def test_a_script_without_a_source_gets_an_error_and_no_server(run: Run, tmp_path: Path) -> None:
    """A server that nobody asked for would make a script hang; `opscope` alone prints its help (see test_cli)."""
    done = run("view")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert done.stderr.startswith("opscope view: name a SOURCE; without one, the home page opens only from a terminal")
    for options, sentence in (
        (["--depth", "2"], "--depth needs a SOURCE"),
        (["--from", "hlo"], "--from needs a SOURCE"),
        (["--module", "m"], "--module needs a SOURCE"),
        (["--browse", "nowhere"], "Directory 'nowhere' does not exist"),
    ):
        for command in ([], ["view"]):
            done = run(*command, "--no-browser", *options)
            assert (
                (done.returncode, len(done.stderr.splitlines())) == (2, 1)
                and done.stderr.startswith("opscope view: ")
                and sentence in done.stderr
            )
    assert run("--nonsense").stderr.startswith("opscope: No such option")


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [[], ["view"], ["--port=0"]])
def test_at_a_terminal_the_home_page_opens(tmp_path: Path, arguments: list[str]) -> None:
    """The browser is a script that writes down the address that it was given."""
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    browser.chmod(0o755)
    environment = {**os.environ, "BROWSER": f"{browser} %s", "PYTHONPATH": str(ROOT / "src")}
    outer, inner = pty.openpty()
    command = [sys.executable, "-m", "opscope", *arguments]
    with subprocess.Popen(command, stdin=inner, stdout=inner, stderr=inner, cwd=tmp_path, env=environment) as process:
        os.close(inner)
        with open(outer, encoding="utf-8", newline="\n") as terminal:
            address, hint = terminal.readline().strip(), terminal.readline()
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]+/", address)
            assert "opscope --help" in hint
            assert urlopen(address).status == 200
            process.send_signal(signal.SIGINT)
            assert process.wait() == 0
    opened = (tmp_path / "opened").read_text().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/start/[\w-]+", opened), "the secret is not among the arguments of the browser"
