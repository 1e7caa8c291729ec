"""The server on a shared machine: its secret stays with this user, and a slow or strange client costs nothing."""

from __future__ import annotations

import hmac
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn
from starlette.types import ASGIApp

import opscope
from opscope.cli.prompt.drawing import LiveDrawer
from opscope.compat import executorch
from opscope.serve import app, impatient
from opscope.serve.app import make_app
from opscope.serve.home import Home
from opscope.serve.running_server import proof, show_in_running, state_file
from opscope.serve.sources import Served
from opscope.serve.start import address_of, listen, serve, server_settings, tunnel_end
from opscope.serve.start_codes import StartCodes
from opscope.serve.uploads import Uploads
from opscope.view_options import ViewOptions

TOKEN, CODE = "secret-token", "once"
SERVER = "the thread that answers everybody"


def program(name: str = "p") -> opscope.Program:
    builder = opscope.ProgramBuilder(name)
    builder.graph("main").node("x", "op")
    return builder.build()


@contextmanager
def running(app: ASGIApp) -> Iterator[int]:
    """The port of a server with this application."""
    listener = listen("127.0.0.1", 0)
    server = uvicorn.Server(server_settings(app))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True, name=SERVER)
    thread.start()
    yield listener.getsockname()[1]
    server.should_exit = True
    thread.join()
    listener.close()


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    uploads = Uploads()
    with running(
        make_app([Served.of(program())], TOKEN, starts=StartCodes(CODE), accept=True, home=Home(uploads, [str(tmp_path)]))
    ) as number:
        yield number
    uploads.close()


def get(
    port: int, path: str, host: str = "127.0.0.1", *, method: str = "GET", origin: str = "", body: bytes = b""
) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", host)
    if origin:
        connection.putheader("Origin", origin)
    if body:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    return connection.getresponse()


def test_the_address_is_the_one_that_is_bound() -> None:
    listener = listen("127.0.0.1", 0)
    number = listener.getsockname()[1]
    assert address_of(listener) == f"http://127.0.0.1:{number}", "a browser may look for localhost at [::1]"
    assert address_of(listener, "::") == f"http://[::]:{number}" and address_of(listener, "box") == f"http://box:{number}"
    listener.close()


def test_an_address_for_others_says_that_they_can_read_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uvicorn.Server, "run", lambda *_, **__: None)
    for host, is_announced in (("127.0.0.1", False), ("0.0.0.0", True)):
        lines: list[str] = []
        serve([Served.of(program())], host=host, browser=False, say=lines.append)
        assert any("is not encrypted" in line for line in lines) is is_announced


def test_a_user_without_a_name_can_start_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container may run as a number that its list of users does not have."""
    for variable in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 987_654_321)
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)
    lines: list[str] = []
    serve([Served.of(program())], browser=False, say=lines.append)
    assert any(f" USER@{socket.gethostname()}" in line for line in lines)


def test_the_browser_is_started_without_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other users can read the arguments of processes."""
    opened: list[str] = []
    said: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)
    serve([Served.of(program())], say=said.append)
    address, token, _ = said[0].rsplit("/", 2)
    assert len(token) > 20 and [each.startswith(f"{address}/start/") for each in opened] == [True]
    assert token not in opened[0]


def test_a_browser_for_the_prompt_is_started_without_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    said: list[str] = []
    drawer = LiveDrawer(program(), said.append)
    token = said[0].rsplit("/", 2)[1]
    assert len(token) > 20 and len(opened) == 1 and token not in opened[0]
    port = int(opened[0].split("/")[2].partition(":")[2])
    assert get(port, opened[0].partition(str(port))[2]).headers["Location"] == f"/{token}/"
    drawer.close()


def test_a_browser_for_a_running_server_is_started_without_the_token(port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr("webbrowser.open", opened.append)
    announce(port, TOKEN)
    for _ in range(2):
        executorch._show(program("second"), ViewOptions(), True, False, {})
    codes = [each.removeprefix(f"http://127.0.0.1:{port}") for each in opened]
    assert len(set(codes)) == 2 and TOKEN not in "".join(codes)
    assert [get(port, code).headers["Location"] for code in codes] == [f"/{TOKEN}/"] * 2
    assert get(port, codes[0]).status == 404


@pytest.mark.parametrize(
    ("host", "end"), [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("127.0.0.2", "127.0.0.2"), ("::1", "[::1]"), ("::", "[::1]")]
)
def test_a_tunnel_ends_where_the_server_listens(host: str, end: str) -> None:
    """Somebody else may listen at the other address of localhost."""
    try:
        listener = listen(host, 0)
    except opscope.OpscopeError:
        pytest.skip(f"{host} is not an address of this machine")
    assert tunnel_end(listener) == f"{end}:{listener.getsockname()[1]}"
    listener.close()


def test_other_requests_are_answered_while_a_watched_file_is_read_again() -> None:
    started, finish = threading.Event(), threading.Event()

    class Slow(Served):
        def refresh(self) -> bool:
            started.set()
            finish.wait()
            return False

    with running(make_app([Slow("p", program)], TOKEN, watch=True)) as number:
        waiting = threading.Thread(target=get, args=(number, f"/{TOKEN}/"))
        waiting.start()
        started.wait()
        connection = http.client.HTTPConnection("127.0.0.1", number, timeout=60)
        connection.request("GET", f"/{TOKEN}/viewer.js")
        try:
            assert connection.getresponse().status == 200
        finally:
            finish.set()
            waiting.join()


def test_the_stream_of_events_reads_a_changed_file_in_a_thread_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "_WATCH_SECONDS", 0.001)
    threads: list[str] = []
    refreshed = threading.Event()

    class Changing(Served):
        changes = 0

        def stamp(self) -> tuple[int, int]:
            self.changes += 1
            return self.changes, 0

        def refresh(self) -> bool:
            threads.append(threading.current_thread().name)
            refreshed.set()
            return True

    with running(make_app([Changing("p", program)], TOKEN, watch=True)) as number:
        events = get(number, f"/{TOKEN}/events")
        refreshed.wait()
        events.close()
    assert threads and SERVER not in threads


def test_an_answer_that_is_not_ready_when_the_server_ends_is_cut() -> None:
    """It is not an error of the program that the client asked for."""
    asked, finish = threading.Event(), threading.Event()

    class Slow(Served):
        def wire(self) -> tuple[bytes, int]:
            asked.set()
            finish.wait()
            return super().wire()

    try:
        with running(make_app([Slow("p", program)], TOKEN)) as number:
            client = socket.create_connection(("127.0.0.1", number))
            client.sendall(f"GET /{TOKEN}/wire/0 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            asked.wait()
        with client:
            assert client.recv(1000) == b""
    finally:
        finish.set()


def test_a_file_that_cannot_be_read_again_is_named_in_the_answer() -> None:
    def read() -> opscope.Program:
        raise OSError(5, "Input/output error", "p.json")

    with running(make_app([Served("p", read)], TOKEN)) as number:
        answer = get(number, f"/{TOKEN}/wire/0")
        assert (answer.status, answer.read()) == (422, b"p.json: Input/output error")


def test_the_code_in_the_arguments_of_the_browser_works_once(port: int) -> None:
    first = get(port, f"/start/{CODE}")
    assert first.status == 303 and first.headers["Location"] == f"/{TOKEN}/"
    again = get(port, f"/start/{CODE}")
    assert again.status == 404 and TOKEN not in again.read().decode()
    assert get(port, "/start/").status == 404 and get(port, f"/{TOKEN}/").status == 200


@pytest.mark.parametrize(
    "host", ["[::1].evil.com", "[::1]evil", "localhost:80@evil.com", "localhost:evil", "localhost:", "a b", "[localhost]"]
)
def test_a_host_that_only_begins_like_this_machine_is_refused(port: int, host: str) -> None:
    assert get(port, f"/{TOKEN}/", host).status == 403


@pytest.mark.parametrize("origin", ["http://evil.com", "null", "http://127.0.0.1:1", "http://127.0.0.1.evil.com", "127.0.0.1"])
def test_a_page_of_another_server_is_refused(port: int, origin: str) -> None:
    for method, path in [("POST", "open"), ("POST", "show"), ("GET", "browse"), ("GET", "")]:
        refused = get(port, f"/{TOKEN}/{path}", method=method, origin=origin)
        assert refused.status == 403 and b"its own pages" in refused.read()
        answered = get(port, f"/{TOKEN}/{path}", method=method, origin="http://127.0.0.1")
        assert answered.status != 403 and answered.read()


@pytest.mark.parametrize("body", [b"[]", b"5", b"[1]", b'"x"', b"{", b"\xff", b"null", b"[" * 100_000])
def test_settings_that_are_not_an_object_are_refused(port: int, body: bytes) -> None:
    refused = get(port, f"/{TOKEN}/page.html", method="POST", body=body)
    assert (refused.status, refused.read()) == (400, b"the settings of the page must be a JSON object")


def test_settings_are_data_and_not_part_of_the_page(port: int) -> None:
    """Whatever a page sends to be saved with it, it ends up in one JSON block."""
    body = b'{"theme": "</script><script>alert(1)</script>", "sources": [], "initial": {"open": ["<!--"]}}'
    saved = get(port, f"/{TOKEN}/page.html", method="POST", body=body).read().decode()
    assert "alert(1)" in saved and "<script>alert" not in saved and "<!--" not in saved.partition("<body")[2]
    assert '"sources": []' not in saved, "a page cannot name the programs"


@pytest.mark.slow
def test_a_signal_that_arrives_in_a_finalizer_ends_the_server() -> None:
    """Right after the server printed its address. Python ignores what a finalizer raises."""
    script = """
import os, signal, uvicorn
from opscope.serve.start import serve

class Finalized:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        sum(range(1000))  # the handler runs before this ends

run = uvicorn.Server.run

def run_later(server, sockets):
    Finalized()
    run(server, sockets)

async def main_loop(server):
    print("still serving", flush=True)
    os._exit(1)

uvicorn.Server.run, uvicorn.Server.main_loop = run_later, main_loop
serve([], browser=False)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "still serving" not in done.stdout and done.returncode == 128 + signal.SIGTERM, done.stderr


@pytest.mark.parametrize("path", ["open/{}/", "open/{}/wire/0", "open/1/recording/0/wire/{}", "open/1/wire/{}"])
def test_a_number_of_5000_digits_is_not_found(port: int, path: str) -> None:
    """Python refuses to convert so many digits, and the routes convert numbers."""
    assert get(port, f"/{TOKEN}/open", method="POST", body=b'{"sources": [{"example": "passes"}]}').status == 200
    assert get(port, f"/{TOKEN}/{path.format('1')}").status < 500, "the route exists"
    for number in ("9" * 5000, "9" * 1900, "%C2%B2"):  # the last is a digit, but not a number
        assert get(port, f"/{TOKEN}/{path.format(number)}").status in (404, 422)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", f"memory/0?what-if={'[' * 50_000}", ""),
        ("POST", "show", "[" * 100_000),
        ("POST", "open", '{"sources": ' + "[" * 100_000),
        ("GET", f"browse?directory=0&path={'a' * 5000}", ""),
        ("GET", "browse?directory=0&path=a%00b", ""),
        ("POST", "compare", '{"sources": [{"example": "passes"}], "shown": {"page": 1, "program": 0, "pass": 99999}}'),
        ("POST", "compare", '{"sources": [{"example": "passes"}], "shown": {"page": 1, "program": 9}}'),
        ("POST", "upload?name=" + "%00" * 300, ""),
    ],
)
def test_what_no_page_sends_is_refused(port: int, method: str, path: str, body: str) -> None:
    opened = get(port, f"/{TOKEN}/open", method="POST", body=b'{"sources": [{"example": "passes"}]}')
    assert opened.status == 200, opened.read()
    answer = get(port, f"/{TOKEN}/{path}", method=method, body=body.encode())
    assert 200 <= answer.status < 500, answer.read()


def test_a_client_that_does_not_finish_its_request_is_left(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(impatient, "SECONDS", 0.2)
    with socket.create_connection(("127.0.0.1", port)) as silent, socket.create_connection(("127.0.0.1", port)) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half:")
        assert silent.recv(10) == b"" and slow.recv(10) == b"", "the server has closed both"
    assert get(port, f"/{TOKEN}/").status == 200


def announce(port: int, token: str) -> None:
    path = state_file()
    path.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    path.write_text(json.dumps({"pid": os.getpid(), "port": port, "token": token}))
    path.chmod(0o600)


def test_a_running_server_is_found(port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    announce(port, TOKEN)
    shown = show_in_running(program("second"), {})
    assert shown is not None and shown.address == f"http://127.0.0.1:{port}/{TOKEN}/"


def test_whoever_listens_at_the_port_of_a_dead_server_gets_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    stranger = socket.create_server(("127.0.0.1", 0))
    announce(stranger.getsockname()[1], TOKEN)
    heard: list[bytes] = []

    def listen_once() -> None:
        connection, _ = stranger.accept()
        heard.append(connection.recv(1 << 16))
        connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{"tabs": 1}')
        connection.close()

    thread = threading.Thread(target=listen_once)
    thread.start()
    assert show_in_running(program(), {}) is None
    thread.join()
    stranger.close()
    assert TOKEN.encode() not in heard[0] and b"main" not in heard[0]


def test_whoever_listens_when_the_server_has_ended_after_its_proof_gets_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    listener = socket.create_server(("127.0.0.1", 0))
    announce(listener.getsockname()[1], TOKEN)
    heard: list[bytes] = []

    def prove_and_be_replaced() -> None:
        connection, _ = listener.accept()
        question = connection.recv(1 << 16).split(b" ")[1].removeprefix(b"/proof/").decode()
        connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 64\r\n\r\n" + proof(TOKEN, question).encode())
        connection.close()
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        heard.append(connection.recv(1 << 16))
        connection.close()

    thread = threading.Thread(target=prove_and_be_replaced)
    thread.start()
    assert show_in_running(program(), {}) is None
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()
    assert heard == []


def test_a_proof_does_not_contain_the_token() -> None:
    assert proof(TOKEN, "ab" * 16) == hmac.new(TOKEN.encode(), b"ab" * 16, "sha256").hexdigest()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_file_that_becomes_a_pipe_counts_as_unchanged_and_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    opscope.save(program(), path)
    served = Served("p", lambda: opscope.load(path), path)
    path.unlink()
    os.mkfifo(path)
    assert served.refresh() is False
    served.release()
    with pytest.raises(opscope.OpscopeError, match="has become a pipe"):
        served.program()
    path.unlink()
    opscope.save(program(), path)
    assert served.program().graphs == program().graphs
