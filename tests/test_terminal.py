"""Names from a stranger's file never control a terminal: every command shows their control characters as escapes."""

from __future__ import annotations

import ast
import io
import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Set
from pathlib import Path
from typing import Any

import pytest

import opscope
from opscope.cli import COMMANDS, main
from opscope.cli.prompt.names import Names
from opscope.readers.torch.readable import program_of_text
from opscope.readers.torch.symbols import symbol_text
from opscope.recording import processes
from opscope.recording.dumps.inductor_code import GeneratedCode
from opscope.serve.recordings import ServedRecording
from opscope.terminal import one_line, printable

SRC = Path(__file__).resolve().parent.parent / "src" / "opscope"
EVIL = "\x1b]0;title\x07\x1b[2J\x1b]52;c;cm0=\x07\x9b31m\r\nX\t\x08\x7f\u202egnp\u2066\u2028\ud800"
"""Title, clear screen, clipboard, C1, a new line, backspace, overrides of direction, half of a surrogate pair."""
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def hostile(count: int, suffix: str = "") -> dict[str, Any]:
    nodes = [
        {
            "id": f"n{i}{suffix}{EVIL}",
            "op": f"op{EVIL}",
            "inputs": [[f"n{i - 1}{suffix}{EVIL}", 0]] if i else [],
            "outputs": [{"dtype": f"f32{EVIL}", "shape": [2, f"s{EVIL}"]}],
            "scope": [f"scope{EVIL}"],
            "source": [{"file": f"file{EVIL}", "line": 1, "function": f"function{EVIL}"}],
            "attrs": {f"key{EVIL}": EVIL, "op_name": f"jax{EVIL}"},
        }
        for i in range(count)
    ]
    graph = {"name": f"main{EVIL}", "nodes": nodes}
    return {"format": "opscope", "version": 1, "name": f"program{EVIL}", "entry": graph["name"], "attrs": {EVIL: EVIL}, "graphs": [graph]}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("hostile")

    def write(name: str, data: Any) -> None:
        (directory / name).write_text(data if isinstance(data, str) else json.dumps(data), "utf-8")

    write("a.json", hostile(4))
    write("b.json", hostile(6, "z"))
    body = {key: value for key, value in hostile(2).items() if key not in ("format", "version")}
    write("two.json", {"format": "opscope", "version": 1, "programs": [body, {**body, "name": f"other{EVIL}"}]})
    missing, role = hostile(2), hostile(2)
    missing["graphs"][0]["nodes"][1]["inputs"] = [[f"nope{EVIL}", 0]]
    role["graphs"][0]["nodes"][1]["role"] = f"role{EVIL}"
    write("missing.json", missing)
    write("role.json", role)
    write("field.json", {**hostile(2), f"field{EVIL}": 1})
    write("name\x1b[31m\u202e.json", hostile(2))
    write("broken.hlo", "HloModule a\x1b[31mb\nENTRY %m {\n ROOT %x\x1b[2J = f32[] foo\x1b]0;P\x07(%y)\n}\n")
    write(
        "named.hlo",
        'HloModule ab\nENTRY %m {\n %x.1 = f32[2]{0} parameter(0), metadata={op_name="\x1b[31mfoo/bar" source_file="\x1b]0;P\x07"}\n'
        ' ROOT %y = f32[2]{0} custom-call(%x.1), custom_call_target="t\x1b[2J"\n}\n',
    )
    with opscope.record(directory / "run.opscope") as recorder:
        for i, name in enumerate(("a.json", "b.json")):
            recorder.snapshot(opscope.load(directory / name), f"pass{i}{EVIL}", pipeline=f"pipe{EVIL}", module=f"module{EVIL}")
        recorder.set(remarks=[f"remark{EVIL}"], skipped=[f"skipped{EVIL}"])
    dump = directory / "dump"
    dump.mkdir()
    (dump / "module_0001.f\x1b[2J.before_optimizations.txt").write_bytes((directory / "named.hlo").read_bytes())
    (dump / "module_0001.f\x1b[2J.0001.p\x9b31m.after_q\x1b]0;x\x07.before_r.txt").write_bytes((directory / "broken.hlo").read_bytes())
    (dump / "other\x1b[2J").touch()
    (dump / "module_0001.f\x1b[2J.priority_fusion_dump.txt").write_text(
        'fusion_steps {\n  fusion {\n    fusion_name: "y"\n    producer_name: "x.1\x1b[2J"\n    consumer_name: "y"\n  }\n}\n'
    )
    (dump / "module_0001.f\x1b[2J.y.ttir.txt").write_text("module { // \x1b]0;P\x07\x9b31m\n}")
    return directory


LINES: dict[str, list[list[str]]] = {
    "info": [
        ["a.json"],
        ["a.json", "--all"],
        ["a.json", "--json"],
        ["two.json"],
        ["two.json", "--module", "zz"],
        ["missing.json"],
        ["role.json"],
        ["field.json"],
        ["name\x1b[31m\u202e.json"],
        ["name\x1b[31m"],
        ["broken.hlo"],
        ["named.hlo"],
        ["run.opscope@9"],
        ["run.opscope@x"],
        ["run.opscope", "--module", EVIL.replace("\ud800", "")],
        ["a.json", "--from", "\x1b[2J"],
    ],
    "diff": [
        ["a.json", "b.json"],
        ["a.json", "b.json", "--all"],
        ["a.json", "b.json", "--json"],
        ["run.opscope@0", "@1"],
        ["two.json", "a.json"],
        ["a.json", "b.json", "--text"],
    ],
    "export": [
        ["a.json", "-o", "o.svg", "--graph", "nosuch"],
        ["a.json", "-o", "o.svg", "--around", "n1"],
        ["two.json", "-o", "o.svg"],
        ["a.json", "-o", "o.\x1b[2J"],
        ["a.json", "-o", "o", "--to", "\x1b[2J"],
        ["a.json", "-o", "o.svg", "--group-by", "\x1b[2J"],
    ],
    "passes": [
        ["run.opscope"],
        ["run.opscope", "--all"],
        ["run.opscope", "--json"],
        ["run.opscope", "--module", "zz"],
        ["dump"],
        ["dump", "--json"],
        ["run.opscope", "--find", "op:o"],
        ["run.opscope", "--find", "nosuch\x1b[2J"],
        ["run.opscope", "--touching", "op:o"],
        ["run.opscope", "--touching", "\x1b[2J"],
        ["run.opscope", "--why", "n1\x1b[2J"],
        ["run.opscope", "--why", "n1\x1b[2J,n2\x9b"],
        ["run.opscope", "--code", "n1\x1b[2J"],
        ["run.opscope", "--sort", "time"],
        ["run.opscope", "--cost", "--device", "h200"],
        ["run.opscope", "--cost", "--device", "\x1b[2J"],
        ["run.opscope", "--memory"],
        ["dump", "--why", "y"],
        ["dump", "--why", "x.1,y"],
        ["dump", "--code", "y"],
        ["dump", "--code", "y", "--json"],
    ],
    "memory": [
        ["a.json"],
        ["a.json", "--json"],
        ["a.json", "--all"],
        ["two.json"],
        ["a.json", "--at", "x"],
        ["named.hlo", "--per", "module"],
        ["named.hlo", "--suggest"],
        ["named.hlo", "--what-if", "recompute=\x1b[2J"],
        ["named.hlo", "--what-if", "\x1b[2J"],
        ["named.hlo", "--per", "source"],
    ],
    "cost": [
        ["a.json"],
        ["a.json", "--json"],
        ["two.json"],
        ["nosuch\x1b[2J"],
        ["a.json", "b.json"],
        ["named.hlo", "--per", "module"],
        ["named.hlo", "--per", "source"],
        ["named.hlo", "--device", "\x1b[2J"],
        ["named.hlo", "--by", "\x1b[2J"],
        ["named.hlo", "--profile", "a.json"],
    ],
    "view": [["a.json", "--graph", "nosuch"], ["two.json", "--module", "zz"], ["nosuch\x1b[2J"], ["a.json", "--host", "\x1b[2J"]],
    "demo": [["\x1b[2J"], ["--list"]],
    "formats": [[], ["--json"]],
    "bisect": [["run.opscope", "run.opscope"], ["run.opscope", "run.opscope", "--module", "zz"]],
    "repl": [["a.json"], ["two.json"]],
}
"""Command lines by command. A new command needs a row."""
SCRIPT = (
    "help\nlist computations\nlist n\nlist op_name jax\n/op\nstats\ndiff b.json\ninfo nosuch\nn1\nallpaths a b\nsave o.\x1b[2J\n\x1b[2J\n"
)


@pytest.fixture
def printed(files: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Callable[[list[str]], str]]:
    monkeypatch.chdir(files)

    def printed(arguments: list[str]) -> str:
        first = f"n0{EVIL}".split("\t")[0]
        monkeypatch.setattr(sys, "stdin", io.StringIO(SCRIPT + f"info 'n0{EVIL}'\n{first}\n"))
        main(arguments)
        out = capfd.readouterr()
        return out.out + out.err

    yield printed


def test_every_command_has_hostile_input() -> None:
    assert set(LINES) == set(COMMANDS)


@pytest.mark.parametrize(
    ("command", "arguments"), [pytest.param(name, line, id=f"{name}{i}") for name, lines in LINES.items() for i, line in enumerate(lines)]
)
@pytest.mark.parametrize("traceback", ["", "1"], ids=["plain", "traceback"])
def test_no_command_prints_a_control_character(
    printed: Callable[[list[str]], str], monkeypatch: pytest.MonkeyPatch, command: str, arguments: list[str], traceback: str
) -> None:
    monkeypatch.setenv("OPSCOPE_TRACEBACK", traceback)
    text = printed([command, *arguments])
    assert text and "internal error" not in text
    assert OBEYED.findall(text) == []


def test_a_command_line_that_is_wrong_is_not_obeyed_either(printed: Callable[[list[str]], str]) -> None:
    for arguments in (["\x1b[2J"], ["info", "--\x1b[2J"], ["info", "a.json", "\x9b31m"]):
        text = printed(arguments)
        assert text and OBEYED.findall(text) == []


def test_json_means_the_same(printed: Callable[[list[str]], str]) -> None:
    assert json.loads(printed(["info", "a.json", "--json"]))["name"] == f"program{EVIL}"


def test_a_name_cannot_add_a_line(printed: Callable[[list[str]], str]) -> None:
    assert not any(line.startswith("X") for line in printed(["info", "a.json", "--all"]).split("\n"))


def on_a_terminal(command: list[str], directory: Path, typed: bytes = b"", kind: str = "dumb") -> str:
    """What a command writes to a terminal."""
    control, terminal = pytest.importorskip("pty").openpty()
    environment = {**os.environ, "TERM": kind, "COLUMNS": "200", "HOME": str(directory), "PYTHONIOENCODING": "utf-8"}
    with subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, cwd=directory, env=environment) as process:
        os.close(terminal)
        if typed:
            os.write(control, typed)
        text = b""
        while True:
            try:
                part = os.read(control, 1 << 16)
            except OSError:  # Linux reports the end of the output of a terminal as an error
                break
            if not part:
                break
            text += part
        process.wait()
    os.close(control)
    return text.decode("utf-8", "surrogatepass").replace("\r\n", "\n")


@pytest.mark.slow
@pytest.mark.parametrize("format", ["json", "hlo", "dot"])
def test_a_file_on_a_terminal_is_escaped(files: Path, format: str) -> None:
    source = "named.hlo" if format == "hlo" else "a.json"
    text = on_a_terminal([sys.executable, "-m", "opscope", "export", source, "-o", "-", "--to", format], files)
    assert len(text) > 100 and OBEYED.findall(text) == []


@pytest.mark.slow
def test_a_file_in_a_pipe_keeps_its_bytes(files: Path) -> None:
    command = [sys.executable, "-m", "opscope", "export", "named.hlo", "-o", "-", "--to", "hlo"]
    assert b"\x1b[2J" in subprocess.run(command, cwd=files, capture_output=True, check=True).stdout


@pytest.mark.slow
def test_the_prompt_on_a_terminal(files: Path) -> None:
    text = on_a_terminal([sys.executable, "-m", "opscope", "repl", "named.hlo"], files, b"list x\ninfo x.1\nstats\nquit\n")
    assert r"\x1b[31mfoo/bar" in text and "custom-call" in text
    assert not re.search("\x1b[]\\[](31m|0;|2J)", text), "the editor of lines has sequences of its own"


def test_a_name_that_cannot_be_typed_is_not_offered(files: Path) -> None:
    assert Names(opscope.load(files / "a.json")).starting_with("n") == []
    assert Names(opscope.load(files / "named.hlo")).starting_with("x") == ["x.1"]


def test_a_progress_bar_shows_the_source_as_text(tmp_path: Path) -> None:
    code = r"""
from opscope.cli.progress import _LateBar
bar = _LateBar("reading [/red][bold]a\x1b]0;title\x07.json")
bar.show()
bar.stop()
"""
    text = on_a_terminal([sys.executable, "-c", code], tmp_path, kind="xterm")
    assert r"reading [/red][bold]a\x1b]0;title\x07.json" in text and "\x1b]" not in text and "\x07" not in text


def test_times_and_errors_in_python_are_escaped_too(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with opscope.record(times=True) as recorder:
        recorder.snapshot(opscope.load(files / "a.json"), f"pass{EVIL}")
    assert OBEYED.findall(capsys.readouterr().err) == []
    with pytest.raises(opscope.OpscopeError) as refusal:
        opscope.load(files / "missing.json")
    assert OBEYED.findall(str(refusal.value)) == []


def test_an_error_in_a_thread_of_the_server_is_one_line_too(files: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Python prints the traceback of a thread, with the names in it as they are."""
    path = tmp_path / "run.opscope"
    shutil.copyfile(files / "run.opscope", path)
    served = ServedRecording("run", lambda: opscope.open_recording(path), opscope.open_recording(path), path)

    def fail(_: object) -> None:
        raise ValueError(f"no such thing as {EVIL}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("opscope.serve.recordings.compared", fail)
        served.answer("passes", 0, {})
        assert served._comparing is not None
        served._comparing.join()
    printed = capfd.readouterr().err
    assert printed.startswith("opscope: internal error at test_terminal.py:") and printed.count("\n") == 1
    assert OBEYED.findall(printed) == []


def test_an_error_in_a_child_is_one_line_too(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stream:
        def __init__(self, content: bytes = b"") -> None:
            self.buffer = io.BytesIO(content)

    def fail(question: str) -> bytes:
        raise ValueError(f"no such thing as {question}")

    answers = Stream()
    monkeypatch.setattr(sys, "stdin", Stream(b"\x1b[2J\0"))
    monkeypatch.setattr(sys, "stdout", answers)
    processes.serve(fail)
    assert answers.buffer.getvalue()[:1] == b"-" and b"ValueError: no such thing as" in answers.buffer.getvalue()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize(
    "command", ["info a.json", "info a.json --json", "export a.json -o - --to json", "export a.json -o /dev/full --to json"]
)
def test_a_full_device_is_named(files: Path, command: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "opscope", *command.split()], cwd=files, stdout=full, stderr=subprocess.PIPE, check=False
        )
        unheard = subprocess.run([sys.executable, "-m", "opscope", *command.split()], cwd=files, stdout=full, stderr=full, check=False)
    name = b"/dev/full" if "/dev/full" in command else b"standard output"
    assert (done.returncode, unheard.returncode, done.stderr) == (2, 2, name + b": No space left on device\n")


def test_plain_text_stays_as_it_is() -> None:
    assert one_line("größe → 模型 🙂") == printable("größe → 模型 🙂") == "größe → 模型 🙂"
    assert one_line("a\tb\n") == r"a\tb\n" and printable("a\tb\n") == "a\tb\n"


GRAPH = 'class GraphModule(torch.nn.Module):\n    def forward(self, x: "f32[4]"):\n        a = torch.f(x, {})\n        return (a,)\n'


@pytest.mark.parametrize("read", [program_of_text, GeneratedCode, symbol_text])
@pytest.mark.parametrize("value", ['"\\\x1b"', "1if x else y"], ids=["escape", "number"])
def test_python_does_not_warn_of_a_strangers_code(read: Callable[[str], object], value: str) -> None:
    """Python 3.12 repeats the character behind a backslash as it is."""
    texts = {program_of_text: GRAPH.format(value), GeneratedCode: f"def call(args):\n    return ({value},)\n"}
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        read(texts.get(read, value))
    assert warned == []


PRINTS = {
    "print",
    "print_tb",
    "print_last",
    "dump_traceback",
    "echo",
    "secho",
    "echo_via_pager",
    "prompt",
    "confirm",
    "progressbar",
    "print_exc",
    "print_exception",
    "print_stack",
}
ALLOWED = {
    "terminal.py": "the module that prints",
    "cli/progress.py": "progress bars of rich, whose text is from `one_line`",
    "python_text.py": "the module that parses Python code, without warnings, which Python prints",
    "recording/processes.py": "a child process, whose standard output is a pipe to its parent",
    "readers/jax/xla.py": "a child process, whose standard output is a pipe to its parent",
    "readers/mlir.py": "a child process, whose standard output is a pipe to its parent",
    "render/draw/host.py": "a child process, whose standard output is a pipe to its parent",
}
HARMLESS = {"isatty", "flush", "fileno"}
TERMINALS = {"/dev/tty", "/dev/stdout", "/dev/stderr", "/dev/fd/1", "/dev/fd/2"}


OF_MODULES = {
    "os": {"write", "system", "popen"},
    "ast": {"parse"},
    "logging": {"debug", "info", "warning", "error", "critical", "exception", "log", "getLogger", "basicConfig"},
    "sys": {"__stdout__", "__stderr__", "excepthook"},
    "threading": {"excepthook"},
    "pprint": {"pprint"},
    "warnings": {"warn", "warn_explicit", "showwarning"},
}
"""Of `ast`: Python warns of code on standard error."""
IMPORTED = {"sys": {"stdout", "stderr"}, **{module: set() for module in ("traceback", "click", "builtins", "faulthandler")}}


def ways_to_print(tree: ast.AST) -> Iterator[str]:
    parents = {child: parent for parent in ast.walk(tree) for child in ast.iter_child_nodes(parent)}
    modules = OF_MODULES.keys() | IMPORTED.keys()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "print":
            yield f"line {node.lineno}: print"
        if isinstance(node, ast.Attribute) and node.attr in PRINTS:
            yield f"line {node.lineno}: .{node.attr}"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in OF_MODULES.get(node.value.id, ()):
            use = parents[node]
            if not (node.attr == "warn" and isinstance(use, ast.Call) and use.args and is_escaped(use.args[0])):
                yield f"line {node.lineno}: {node.value.id}.{node.attr}"
        if isinstance(node, ast.ImportFrom):
            ways = {*OF_MODULES.get(node.module or "", ()), *IMPORTED.get(node.module or "", ()), *PRINTS}
            if (node.module or "").partition(".")[0] == "rich" or {each.name for each in node.names} & ({*ways, "*"}):
                yield f"line {node.lineno}: from {node.module}"
        if isinstance(node, ast.Import) and any(each.name in modules and each.asname for each in node.names):
            yield f"line {node.lineno}: import as"
        if (
            isinstance(node, ast.Attribute)
            and node.attr in ("stdout", "stderr")
            and isinstance(node.value, ast.Name)
            and node.value.id == "sys"
        ):
            use = parents[node]
            if not (isinstance(use, ast.Attribute) and use.attr in HARMLESS):
                yield f"line {node.lineno}: sys.{node.attr}"
        if isinstance(node, ast.Constant) and node.value in TERMINALS:
            yield f"line {node.lineno}: {node.value}"
        if isinstance(node, ast.Call):
            yield from ways_of_a_call(node, modules)


def ways_of_a_call(node: ast.Call, modules: Set[str]) -> Iterator[str]:
    name = ast.unparse(node.func)
    first = node.args[0] if node.args else None
    if name == "input" and not isinstance(first, ast.Constant):
        yield f"line {node.lineno}: input"
    if name in ("sys.exit", "exit", "SystemExit") and isinstance(first, ast.JoinedStr | ast.Name):
        yield f"line {node.lineno}: {name} with a text"
    if name == "getattr" and isinstance(first, ast.Name) and first.id in modules:
        yield f"line {node.lineno}: getattr of {first.id}"
    if name == "importlib.import_module" and isinstance(first, ast.Constant) and first.value in modules:
        yield f"line {node.lineno}: import of {first.value!r}"


def is_escaped(text: ast.expr) -> bool:
    return isinstance(text, ast.Call) and ast.unparse(text.func) in ("one_line", "printable")


@pytest.mark.slow
def test_only_one_module_prints() -> None:
    elsewhere = {
        name: uses
        for path in sorted(SRC.rglob("*.py"))
        if (name := str(path.relative_to(SRC))) not in ALLOWED and (uses := list(ways_to_print(ast.parse(path.read_text("utf-8")))))
    }
    assert elsewhere == {}, "print with opscope.terminal.say, which escapes control characters"


def test_the_search_for_prints_finds_them() -> None:
    planted = (
        "print(1)", "f(print)", "click.echo(x)", "sys.stdout.write(x)", "f(file=sys.stderr)", "traceback.print_exc()", "input(x)",
        "os.write(1, x)", "from sys import stderr", "sys.__stdout__.write(x)", "logging.getLogger(x).warning(y)", "ast.parse(x)",
        "from rich import print as p", "from rich.console import Console", "from pprint import pprint", "builtins.print(x)",
        "from builtins import print as p", "from click import echo", "from traceback import print_exc", "import sys as system",
        "from logging import getLogger", "warnings.warn(x)", "from warnings import warn", "sys.exit(f'{x}')", "raise SystemExit(f'{x}')",
        "getattr(sys, 'stdout').write(x)", "open('/dev/tty', 'w').write(x)", "from sys import *", "pprint.pprint(x)", "os.popen(x)",
    )  # fmt: skip
    for code in planted:
        assert list(ways_to_print(ast.parse(code))), code
    for code in ('sys.stdout.isatty(); input("> ")', "warnings.warn(one_line(x), stacklevel=2)", "sys.exit(main())"):
        assert not list(ways_to_print(ast.parse(code))), code
