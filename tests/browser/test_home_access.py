"""The routes of the home page give nothing to anybody else, and nothing that was not given to the server."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from conftest import EXAMPLE

import opscope
from browser.samples import network

Server = Callable[..., str]


def ask(address: str, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    """Status and answer of a request below the address."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port)
    content = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
    connection.request(method, parts.path + path, content, headers)
    response = connection.getresponse()
    text = response.read().decode("latin-1")
    return response.status, json.loads(text) if response.headers["Content-Type"] == "application/json" else text


def opened(address: str, *sources: dict[str, Any]) -> tuple[int, Any]:
    return ask(address, "POST", "open", {"sources": sources})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a directory to browse, a secret beside it, and links to the secret."""
    place = tmp_path_factory.mktemp("home")
    opscope.save(network(), place / "secret.json")
    models = place / "models"
    models.mkdir()
    opscope.save(network(), models / "n.json")
    (models / "out.json").symlink_to(place / "secret.json")
    (models / "up").symlink_to(place)
    return place


@pytest.fixture(scope="module")
def address(place: Path) -> Iterator[str]:
    """One server for all tests that only ask it."""
    command = [sys.executable, "-m", "opscope", "view", "--browse", str(place / "models"), "--no-browser"]
    environment = {**os.environ, "OPSCOPE_STATE": str(place / "state")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


def test_the_directory_is_listed_and_its_file_opened(address: str) -> None:
    status, listing = ask(address, "GET", "browse?directory=0&path=")
    assert (status, [entry["name"] for entry in listing["entries"]]) == (200, ["n.json"])
    status, answer = opened(address, {"directory": 0, "path": "n.json"})
    assert status == 200 and ask(address, "GET", answer["page"])[0] == 200
    assert ask(address, "GET", answer["page"] + "details/0?start=0&stop=3")[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "../secret.json",
        "out.json",
        "up/secret.json",
        "up",
        "/etc/passwd",
        "n.json/../../secret.json",
        "..",
        "%2e%2e/secret.json",
        "n.json\0",
    ],
)
def test_nothing_outside_the_directory_is_listed_or_opened(address: str, place: Path, path: str) -> None:
    status, text = ask(address, "GET", f"browse?directory=0&path={quote(path)}")
    assert status == 422 and "secret" not in text.replace(path, "")
    for source in ({"directory": 0, "path": path}, {"directory": 0, "path": str(place / "secret.json")}):
        status, answer = opened(address, source)
        assert status == 422 and "no such file in" in answer["problems"][0]


@pytest.mark.parametrize(
    "source",
    [
        {"directory": 1, "path": "n.json"}, {"directory": -1, "path": "n.json"}, {"directory": "0", "path": "n.json"}, {"directory": 0},
        {"recent": "/etc/passwd"}, {"recent": ""}, {"example": "../cli/view.py"}, {"example": "/etc/passwd"}, {"upload": 0}, {"upload": -1},
        {"upload": 99}, {"upload": "0"}, {"path": "n.json"}, {"source": "os:getcwd"}, {"example": "os:getcwd"}, {"recent": "os:getcwd"}, {},
    ],
)  # fmt: skip
def test_a_page_can_name_only_what_it_was_offered(address: str, source: dict[str, Any]) -> None:
    status, answer = opened(address, source)
    assert status == 422 and len(answer["problems"]) == 1 and "root:" not in answer["problems"][0]


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"sources": []}', b'{"sources": [1]}', b'{"sources": {}}', b"[" * 100_000, b" " * 2_000_000]
)
def test_a_malformed_request_is_refused(address: str, body: bytes) -> None:
    assert ask(address, "POST", "open", body)[0] == 400


def test_nothing_happens_without_the_token(address: str, place: Path) -> None:
    parts = urlsplit(address)
    opened(address, {"directory": 0, "path": "n.json"})
    almost = parts.path[:-2] + ("A/" if parts.path[-2] != "A" else "B/")
    for prefix in ("/", "/wrong-token/", almost):
        elsewhere = f"http://localhost:{parts.port}{prefix}"
        for method, path in (
            ("POST", "upload?name=a.json"), ("POST", "open"), ("GET", "browse?directory=0"), ("DELETE", "recent"), ("GET", "home"),
            ("GET", "open/1/"), ("GET", "open/1/wire/0"),
        ):  # fmt: skip
            assert ask(elsewhere, method, path)[0] == 404, (prefix, path)
    assert (place / "state" / "recent.json").exists()


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "upload?name=a.json"), ("POST", "open"), ("DELETE", "recent"), ("GET", "browse?directory=0")]
)
def test_another_host_name_is_refused(address: str, method: str, path: str) -> None:
    assert ask(address, method, path, Host="evil.example")[0] == 403


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "upload"), ("GET", "open"), ("POST", "browse"), ("GET", "recent"), ("PUT", "upload"), ("POST", "home")]
)
def test_other_methods_are_refused(address: str, method: str, path: str) -> None:
    assert ask(address, method, path)[0] == 405


def test_recent_files_belong_to_the_home_page_that_was_asked_for(server: Server, place: Path, tmp_path: Path) -> None:
    """A server that shows a file neither lists, opens nor clears what was opened before."""
    state = {"OPSCOPE_STATE": str(tmp_path / "state")}
    address = server(place / "models" / "n.json", env=state)
    other = server(place / "secret.json", env=state)
    assert (tmp_path / "state" / "recent.json").exists()
    for one, path in ((address, place / "secret.json"), (other, place / "models" / "n.json")):
        status, answer = opened(one, {"recent": str(path)})
        assert (status, answer["problems"]) == (422, ["the page offers no such file; reload it"])
        assert ask(one, "DELETE", "recent")[0] == 404
        assert str(place) not in ask(one, "GET", "home")[1]
    assert opened(server(env=state), {"recent": str(place / "secret.json")})[0] == 200


def test_an_uploaded_file_is_private_and_its_copy_ends_with_the_server(tmp_path: Path) -> None:
    """However the server ends: with Ctrl+C or with `kill`."""
    for number in (signal.SIGINT, signal.SIGTERM):
        home = tmp_path / f"tmp{number}"
        home.mkdir()
        command = [sys.executable, "-m", "opscope", "view", "--no-browser"]
        environment = {**os.environ, "TMPDIR": str(home)}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            assert ask(address, "POST", "upload?name=../step.hlo", EXAMPLE.read_bytes()) == (200, {"upload": 0})
            (copy,) = home.rglob("step.hlo")
            assert copy.read_bytes() == EXAMPLE.read_bytes()
            (directory,) = home.iterdir()
            assert directory.stat().st_mode & 0o777 == 0o700
            assert opened(address, {"upload": 0}) == (200, {"page": "open/1/"})
            assert ask(address, "GET", "open/1/details/0?start=0&stop=1")[0] == 200
            process.send_signal(number)
            process.wait()
        assert list(home.iterdir()) == []


def test_a_file_that_is_too_large_is_refused_with_a_sentence(address: str) -> None:
    parts = urlsplit(address)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port)
    connection.putrequest("POST", parts.path + "upload?name=big.onnx")
    connection.putheader("Content-Length", str(1_000_000_001))
    connection.endheaders()
    response = connection.getresponse()
    sentence = "big.onnx: is larger than 1.00 GB, the most that a page can send; run `opscope view FILE` instead"
    assert (response.status, response.read().decode()) == (413, sentence)


def test_a_file_that_does_not_say_how_large_it_is_stops_at_the_limit(tmp_path: Path) -> None:
    """With a smaller limit, because the real one takes a while."""
    code = (
        "import sys\nfrom opscope.serve import home, uploads\nhome.MOST_BYTES = uploads.MOST_BYTES = 1000\n"
        "from opscope.cli import main\nsys.exit(main(['view', '--no-browser']))\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        pieces = iter([b"x" * 600] * 3)
        status, text = ask(address, "POST", "upload?name=big.onnx", pieces)
        assert (status, "the most that a page can send" in text) == (413, True)
        assert not list(tmp_path.rglob("big.onnx"))
        assert opened(address, {"upload": 0})[1] == {"problems": ["the server does not have that file; choose it again"]}
        process.terminate()


def test_old_pages_read_their_programs_again(address: str) -> None:
    """Programs of pages that were opened long ago leave memory; the pages still work."""
    answers = [opened(address, {"directory": 0, "path": "n.json"}) for _ in range(11)]
    pages = [answer["page"] for status, answer in answers if status == 200]
    assert len(set(pages)) == 11
    for page in (pages[0], pages[-1]):
        assert ask(address, "GET", page + "details/0?start=0&stop=3")[0] == 200
    assert ask(address, "GET", "open/99999/")[0] == 422
