"""The server serves its programs to whoever has its address, and nothing to anybody else."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import opscope
from browser.harness import Open, until
from browser.samples import network

Server = Callable[..., str]


@pytest.fixture
def address(server: Server, tmp_path: Path) -> str:
    opscope.save(network(), tmp_path / "network.json")
    return server(tmp_path / "network.json")


def get(address: str, path: str, host: str | None = None, method: str = "GET") -> http.client.HTTPResponse:
    parts = urlsplit(address)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port)
    connection.putrequest(method, path, skip_host=host is not None)
    if host is not None:
        connection.putheader("Host", host)
    connection.endheaders()
    return connection.getresponse()


def token(address: str) -> str:
    return urlsplit(address).path


def test_the_page_and_its_parts_are_served(address: str) -> None:
    secret = token(address)
    page = get(address, secret)
    assert page.status == 200
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert get(address, secret + "viewer.js").headers["Content-Type"].startswith("text/javascript")
    wire = get(address, secret + "wire/0")
    assert wire.status == 200 and wire.headers["Content-Encoding"] == "gzip"
    assert get(address, secret + "details/0?start=0&stop=3").read().startswith(b"OPSW")


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:80",
        "",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
        "[::2]:80",
        "[::1",
        "[::1].evil",
        "localhost:evil",
        "localhost:80@evil",
    ],
)
def test_another_host_name_is_refused(address: str, host: str) -> None:
    """A page elsewhere whose name resolves to this machine (DNS rebinding) learns nothing."""
    assert get(address, token(address), host=host).status == 403


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9", "127.0.0.1:1234", "[::1]:80"])
def test_names_of_this_machine_are_accepted_with_any_port(address: str, host: str) -> None:
    """An ssh tunnel may end at another port."""
    assert get(address, token(address), host=host).status == 200


def test_nothing_is_served_without_the_token(address: str) -> None:
    secret = token(address)
    for path in (
        "/",
        "/viewer.js",
        "/wire/0",
        secret[:-3] + "/",
        secret.rstrip("/"),
        secret.lower() if secret.lower() != secret else "/x/",
    ):
        assert get(address, path).status in (404, 307), path
    assert get(address, "/" + "a" * len(secret) + "/wire/0").status == 404


@pytest.mark.parametrize(
    "path",
    [
        "../../../../etc/passwd", "..%2f..%2f..%2fetc%2fpasswd", "wire/1", "wire/-1", "wire/0x0", "wire/٣", "wire/9999999999",
        "wire/../../network.json", "network.json", "details/0", "details/0?start=a&stop=b", "details/0?start=-5&stop=5",
        "details/0?start=0&stop=99999999999", "details/7?start=0&stop=1", "events", "%00", "viewer.js.map", "?" + "x" * 9000,
    ],
)  # fmt: skip
def test_nothing_else_is_served(address: str, path: str) -> None:
    response = get(address, token(address) + path.encode().decode("latin-1") if path.isascii() else token(address) + "wire/%D9%A3")
    body = response.read()
    assert response.status in (200, 400, 404, 422)
    assert b"root:" not in body and b'"format": "opscope"' not in body
    if response.status == 200:
        assert path.startswith("?"), "only the page itself ignores what follows it"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "BREW"])
def test_other_methods_are_refused(address: str, method: str) -> None:
    assert get(address, token(address), method=method).status == 405


def test_it_survives_garbage(address: str) -> None:
    parts = urlsplit(address)
    for garbage in (
        b"\x16\x03\x01\x02\x00\x01",
        b"GET",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x00" * 5000,
        b"GET " + b"/a" * 60_000 + b" HTTP/1.1\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", parts.port or 0), timeout=5) as connection:
            connection.sendall(garbage)
            connection.shutdown(socket.SHUT_WR)
            try:
                connection.recv(4096)
            except OSError:
                pass
    assert get(address, token(address)).status == 200


def test_it_listens_on_loopback_only(address: str) -> None:
    port = urlsplit(address).port
    address_of_host = socket.gethostbyname(socket.gethostname())
    if address_of_host.startswith("127."):
        pytest.skip("this machine has no other address")
    with pytest.raises(OSError):
        socket.create_connection((address_of_host, port or 0), timeout=2).close()


def test_watch_shows_the_changed_file(server: Server, open_address: Open, tmp_path: Path) -> None:
    source = tmp_path / "network.json"
    opscope.save(network(2), source)
    viewer = open_address(server(source, "--watch"))
    assert viewer.state()["nodes"] == network(2).node_count
    viewer.press("Flatten")
    opscope.save(network(4), source)
    until(lambda: viewer.state()["nodes"] == network(4).node_count)
    assert viewer.idle()["flatten"] is True, "view options stay"


def test_a_changed_file_that_cannot_be_read_is_reported(server: Server, open_address: Open, tmp_path: Path) -> None:
    source = tmp_path / "network.json"
    opscope.save(network(2), source)
    viewer = open_address(server(source, "--watch"), faults=True)
    source.write_text('{"format": "opscope", "version": 1, "graphs": [')
    until(lambda: viewer.state()["status"] == "failed")
    assert "network.json" in viewer.page.get_by_role("alert").inner_text()


def test_several_sources(server: Server, open_address: Open, tmp_path: Path) -> None:
    for name, layers in (("a.json", 2), ("b.json", 5)):
        opscope.save(network(layers), tmp_path / name)
    viewer = open_address(server(tmp_path / "a.json", tmp_path / "b.json", "--rankdir", "LR"))
    assert viewer.state()["direction"] == "LR"
    assert viewer.choose("Source", "1")["nodes"] == network(5).node_count


@pytest.mark.step("0.9")
def test_it_prints_an_ssh_command_for_other_machines(tmp_path: Path) -> None:
    opscope.save(network(), tmp_path / "n.json")
    command = [sys.executable, "-m", "opscope", "view", str(tmp_path / "n.json"), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address, tunnel = process.stdout.readline(), process.stdout.readline()
        process.terminate()
    port = urlsplit(address).port
    assert f"ssh -N -L {port}:127.0.0.1:{port} " in tunnel


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.json"], "no such file"),
        (["n.json", "--graph", "nope"], "no graph named"),
        (["n.json", "--scale", "3"], "--scale"),
    ],
)
def test_errors_are_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    opscope.save(network(), tmp_path / "n.json")
    done = subprocess.run(
        [sys.executable, "-m", "opscope", "view", *arguments, "--no-browser"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert message in done.stderr


def test_a_file_that_changed_while_no_page_was_open_is_read_again(server: Server, open_address: Open, tmp_path: Path) -> None:
    source = tmp_path / "network.json"
    opscope.save(network(2), source)
    address = server(source, "--watch")
    viewer = open_address(address)
    assert viewer.state()["nodes"] == network(2).node_count
    viewer.page.goto("about:blank")
    opscope.save(network(4), source)
    viewer.page.goto(address)
    until(lambda: viewer.page.evaluate("window.opscope?.state().nodes") == network(4).node_count)
