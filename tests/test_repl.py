"""The prompt, scripted and typed, on a real train step."""

from __future__ import annotations

import os
import pty
import random
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import EXAMPLE

import opscope

COMMAND = [sys.executable, "-m", "opscope", "repl", str(EXAMPLE)]


def script(lines: str, directory: Path) -> str:
    """The output of the prompt for lines that are piped in."""
    done = _run_script(lines, directory)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def failing_script(lines: str, directory: Path) -> tuple[str, list[str]]:
    """The output of the prompt for lines of which some fail, and their errors."""
    done = _run_script(lines, directory)
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    return done.stdout, done.stderr.splitlines()


def _run_script(lines: str, directory: Path) -> subprocess.CompletedProcess[str]:
    out = ["--output", str(directory / "drawings")]
    return subprocess.run([*COMMAND, *out], input=lines, capture_output=True, text=True, cwd=directory, timeout=120)


def some_node(op: str) -> str:
    match = re.search(rf"^\s+(?:ROOT )?%?([\w.-]+) = \S+ {op}\(", EXAMPLE.read_text(), re.MULTILINE)
    assert match
    return match[1]


@pytest.mark.slow
def test_text_commands_answer_in_a_script(tmp_path: Path) -> None:
    dot = some_node("dot")
    out = script(f"list computations\nlist {dot}\ninfo {dot}\nstacktrace {dot}\n/^{re.escape(dot)}$\nstats\nhelp\n", tmp_path)
    assert "entry" in out
    assert f"{dot}: f32[" in out
    assert re.search(r"operation +dot", out)
    assert re.search(r"\.py:\d+", out), "the stack trace names the user's file"
    for form in ("allpaths A B [limit]", "extract NAME [height]", "backend_config [on|off]", "/REGEX"):
        assert form in out


@pytest.mark.slow
def test_lists_name_the_computation_and_begin_with_the_entry(tmp_path: Path) -> None:
    program = opscope.load(EXAMPLE)
    assert isinstance(program, opscope.Program)
    out = script("list computations\nlist e\n", tmp_path).splitlines()
    assert out[1].split()[0] == program.entry
    listed = [line for line in out if " = " in line]
    assert len(listed) == sum("e" in node.id.lower() for graph in program for node in graph) > 100, "a pipe gets all of them"
    assert all(f"  in {program.entry}" in line for line in listed[:10])


def test_a_long_list_is_cut_for_a_person() -> None:
    from opscope.cli.prompt.session import Session

    program = opscope.load(EXAMPLE)
    assert isinstance(program, opscope.Program)
    lines: list[str] = []
    Session(program, lambda *_: "", lines.append, lines.append, lambda: "", most_listed=3).run("list e")
    count = sum("e" in node.id.lower() for graph in program for node in graph)
    assert lines[-1] == f"… and {count - 3:,} more; narrow the pattern to see them"
    assert len(lines[-4:-1]) == 3 and all(" = " in line for line in lines[-4:-1])


@pytest.mark.slow
def test_extracts_go_where_drawings_go(tmp_path: Path) -> None:
    dot = some_node("dot")
    out = script(f"extract {dot} 1\n", tmp_path)
    assert (tmp_path / "drawings" / f"{dot}-extracted.hlo").exists(), out


@pytest.mark.slow
def test_names_match_in_any_case_and_mistakes_suggest_the_closest(tmp_path: Path) -> None:
    dot = some_node("dot")
    out, errors = failing_script(f"info {dot}x\nallpaths {dot}\n{dot} wide\nlist (\n/(\ninfo %{dot.upper()}\n", tmp_path)
    assert re.search(rf"instruction +{re.escape(dot)}", out), "a script goes on after an error"
    assert len(errors) == 4
    assert errors[0].startswith(f"no instruction named '{dot}x'; did you mean")
    assert errors[1] == "usage: allpaths A B [limit]"
    assert errors[2] == "width must be a whole number, not 'wide'"
    assert errors[3].startswith("'(' is not a regular expression")


@pytest.mark.slow
def test_each_drawing_is_a_file(tmp_path: Path) -> None:
    dot = some_node("dot")
    out = script(f"{dot} 1\n{dot} 3 / {dot}\nsave around.svg\nquit\nnever reached\n", tmp_path)
    drawings = sorted((tmp_path / "drawings").iterdir())
    assert [str(path) for path in drawings] == [line for line in out.splitlines() if line.endswith(".html")]
    assert len(drawings) == 2
    assert (tmp_path / "around.svg").read_text().startswith("<svg")
    assert "never reached" not in out


@pytest.mark.slow
def test_list_searches_operations_and_diff_compares_files(tmp_path: Path) -> None:
    other = tmp_path / "other.hlo"
    other.write_text(EXAMPLE.read_text().replace(" tanh(", " cosine(", 1))
    out = script(f"list op_type tanh\ndiff {other}\n", tmp_path)
    assert re.search(r"^[\w.-]+: f32\[.*\] = tanh", out, re.MULTILINE)
    assert "op tanh → cosine" in out or "cosine" in out
    assert "changed" in out


@pytest.mark.slow
def test_switches_change_what_info_shows(tmp_path: Path) -> None:
    out, errors = failing_script("metadata\nmetadata off\nbackend_config on\nbackend_config maybe\n", tmp_path)
    assert out.splitlines()[:3] == ["metadata is on", "metadata is off", "backend_config is on"]
    assert errors == ["usage: backend_config [on|off]"]


@pytest.mark.slow
def test_extracts_parse_in_xla_again(tmp_path: Path) -> None:
    """50 random instructions, at random heights, through XLA's own parser (in a separate process: it can crash)."""
    pytest.importorskip("jaxlib")
    from opscope.readers.hlo import parse_hlo
    from opscope.render.writers.hlo import extract

    program = parse_hlo(EXAMPLE.read_text())[0]
    nodes = [(graph, node) for graph in program for node in graph]
    chosen = random.Random(7).sample(nodes, 50)
    for i, (graph, node) in enumerate(chosen):
        text = extract(program, graph, node.id, random.Random(i).choice([None, 0, 1, 3]))
        (tmp_path / f"{i}.hlo").write_text(text)
        again = parse_hlo(text)[0]
        assert again.main.outputs[0][0] == node.id
    check = (
        "import sys, pathlib; from jaxlib import _hlo\n"
        "for path in sorted(pathlib.Path(sys.argv[1]).glob('*.hlo')): _hlo.hlo_module_from_text(path.read_text())\n"
        "print('all parsed')"
    )
    done = subprocess.run([sys.executable, "-c", check, str(tmp_path)], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "all parsed", done.stderr[-2000:]


WITH_TERMINAL = """
import fcntl, os, signal, sys, termios
signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_SETMASK, [])
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


class Terminal:
    """
    The prompt behind a pseudo-terminal. Ctrl+C is neither ignored nor blocked, however the tests themselves were started (a shell's
    background jobs ignore it).
    """

    def __init__(self, directory: Path) -> None:
        self.fd, inner = pty.openpty()
        environment = os.environ | {"HOME": str(directory), "TERM": "dumb", "COLUMNS": "200"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", WITH_TERMINAL, *COMMAND], stdin=inner, stdout=inner, stderr=inner, cwd=directory, env=environment,
            start_new_session=True,
        )  # fmt: skip
        os.close(inner)
        self.output = ""

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def interrupt(self) -> None:
        """Press Ctrl+C until the prompt is back: Python can miss one between two keys, and a person would press again."""
        for _ in range(30):
            os.kill(self.process.pid, signal.SIGINT)
            end = time.monotonic() + 5
            while time.monotonic() < end:
                if "opscope> " in self.output or not self.read(0.2):
                    return

    def read(self, seconds: float) -> bool:
        """Read what is printed within `seconds`; False at the end."""
        if select.select([self.fd], [], [], seconds)[0]:
            try:
                self.output += os.read(self.fd, 65536).decode(errors="replace")
            except OSError:
                return False
        return True

    def wait_for(self, text: str, seconds: float = 150) -> str:
        """Everything printed since the last wait, up to and including `text`."""
        end = time.monotonic() + seconds
        while text not in self.output:
            assert time.monotonic() < end, f"waited for {text!r}, saw {self.output[-500:]!r}"
            if not self.read(0.2):
                break
        before, match, self.output = self.output.partition(text)
        assert match, f"waited for {text!r}, saw {before[-500:]!r}"
        return before + match

    def close(self) -> int:
        code = self.process.wait(timeout=60)
        os.close(self.fd)
        return code


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_a_person_can_complete_interrupt_and_leave(tmp_path: Path) -> None:
    dot = some_node("dot")
    terminal = Terminal(tmp_path)
    terminal.wait_for("opscope> ")
    terminal.type("stat\t\n")
    terminal.wait_for("count")  # Tab completed it to `stats`
    terminal.wait_for("opscope> ")
    terminal.type("unfinished")
    terminal.wait_for("unfinished")
    terminal.interrupt()
    terminal.wait_for("opscope> ")
    terminal.type(f"info {dot}\n")
    terminal.wait_for("operation")
    terminal.wait_for("opscope> ")
    terminal.type("list computations\n")
    terminal.wait_for("entry")
    terminal.wait_for("opscope> ")
    terminal.type("stats\nmetadata on\n")
    terminal.wait_for("metadata is on")
    terminal.wait_for("opscope> ")  # Ctrl+D leaves only once the prompt is there
    terminal.type("\x04")
    assert terminal.close() == 0
    assert f"info {dot}" in (tmp_path / ".opscope_history").read_text()


@pytest.mark.slow
def test_drawings_open_fusions_and_name_instructions_unless_switched_off(tmp_path: Path) -> None:
    """Like interactive_graphviz: fusions show their bodies, and boxes the names that can be typed next."""
    fused = tmp_path / "fused.hlo"
    fused.write_text(
        "HloModule m\n\nbody {\n  p = f32[4] parameter(0)\n  t = f32[4] tanh(p)\n  ROOT e = f32[4] exponential(t)\n}\n\n"
        "ENTRY main {\n  x = f32[4] parameter(0)\n  lone = f32[4] negate(x)\n  ROOT f = f32[4] fusion(x), kind=kLoop, calls=body\n}\n"
    )
    commands = "f\nsave on.svg\nshow_fusion_subcomputations off\nf\nsave off.svg\nsave all.json\nsave all.hlo\n"
    commands += "allpaths lone f\nstatz\ninfo f\n"
    done = subprocess.run(
        [sys.executable, "-m", "opscope", "repl", str(fused), "--output", str(tmp_path)], input=commands, cwd=tmp_path,
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    on, off = (tmp_path / "on.svg").read_text(), (tmp_path / "off.svg").read_text()
    assert ">t<" in on and ">e<" in on and ">f<" in on and "kLoop" in on
    assert ">t<" not in off and ">f<" in off
    assert len(opscope.load(tmp_path / "all.json").main) == len(opscope.load(fused).main), "the program, not the drawing"
    assert opscope.load(tmp_path / "all.hlo").main.outputs[0][0] == "f"
    assert "no path between lone and f" in done.stderr
    assert "'statz' is not a command, instruction or computation; did you mean stats" in done.stderr
    assert "their roots  e" in done.stdout.replace("   ", "  ")


def test_a_whole_computation_keeps_its_parameter_numbers(tmp_path: Path) -> None:
    """Numbers as in the text of the computation, also where it prints its parameters in another order or does not use one."""
    from opscope.readers.hlo import parse_hlo
    from opscope.render.writers.hlo import extract

    text = """HloModule m
f {
  param_2 = f32[4] parameter(2)
  param_0 = f32[4] parameter(0)
  param_1 = f32[8] parameter(1)
  ROOT d = f32[4] divide(param_2, param_0)
}
ENTRY main {
  x = f32[4] parameter(0)
  y = f32[8] parameter(1)
  ROOT c = f32[4] fusion(x, y, x), kind=kLoop, calls=f
}
"""
    program = parse_hlo(text)[0]
    numbers = dict(re.findall(r"(\w+) = \S+ parameter\((\d+)\)", extract(program, program["f"], "d")))
    assert numbers == {"param_0": "0", "param_1": "1", "param_2": "2"}


def test_a_computation_is_extracted_by_its_name(tmp_path: Path) -> None:
    from opscope.readers.hlo import parse_hlo

    program = parse_hlo(EXAMPLE.read_text())[0]
    body = next(graph for graph in program if graph.name != program.main.name)
    out, errors = failing_script(f"extract {body.name}\nstacktrace {body.name}\n", tmp_path)
    assert "wrote " in out
    (written,) = (tmp_path / "drawings").glob("*-extracted.hlo")
    again = parse_hlo(written.read_text())[0].main
    assert [node.op for node in again] != [] and sorted(node.op for node in again) == sorted(node.op for node in body)
    assert errors == [f"{body.name!r} is a computation; name one of its instructions, such as {body.outputs[0][0]!r}"]


def test_extracts_keep_metadata_when_asked(tmp_path: Path) -> None:
    from opscope.render.writers.hlo import extract

    program = opscope.load(EXAMPLE)
    node = next(node for node in program.main if node.op == "dot")
    assert "metadata" not in extract(program, program.main, node.id, 0)
    with_metadata = extract(program, program.main, node.id, 0, metadata=True)
    assert f'op_name="{node.attrs["metadata.op_name"]}"' in with_metadata and f"source_line={node.source[0].line}" in with_metadata
    assert "stack_frame_id" not in with_metadata, "the extract does not contain the table that it refers to"


def ask(*arguments: str | Path, lines: str, directory: Path) -> subprocess.CompletedProcess[str]:
    """`opscope repl` with these arguments, and lines that are piped in."""
    command = [sys.executable, "-m", "opscope", "repl", *map(str, arguments)]
    return subprocess.run(command, input=lines, capture_output=True, text=True, cwd=directory, timeout=120)


@pytest.mark.slow
@pytest.mark.step("0.3")
def test_the_prompt_needs_no_build_and_no_framework(tmp_path: Path) -> None:
    code = (
        "import sys; from opscope.cli import main; code = main(['repl', sys.argv[1]]);"
        "print(code, sorted({'jax', 'jaxlib', 'torch', 'tensorflow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, EXAMPLE], input="list computations\n", capture_output=True, text=True, cwd=tmp_path)
    assert {graph.name for graph in opscope.load(EXAMPLE)} <= {*done.stdout.split()}
    assert done.stdout.splitlines()[-1] == "0 []", done.stderr


@pytest.mark.slow
@pytest.mark.step("0.4")
def test_the_source_can_be_named_as_interactive_graphviz_names_it(tmp_path: Path) -> None:
    lines = "list computations\nstats\n"
    usual = ask(EXAMPLE, lines=lines, directory=tmp_path)
    flagged = ask(f"--hlo_text={EXAMPLE}", lines=lines, directory=tmp_path)
    assert (flagged.returncode, flagged.stdout) == (0, usual.stdout)
    for arguments, sentence in (
        ([], "Name a source: SOURCE, or one of --hlo_text"),
        ([EXAMPLE, f"--hlo_text={EXAMPLE}"], "Name only one source"),
        (["--hlo_text=missing.hlo"], "missing.hlo: no such file"),
    ):
        refused = ask(*arguments, lines="", directory=tmp_path)
        assert refused.returncode == 2 and sentence in refused.stderr and refused.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_named_browser_opens_each_drawing(tmp_path: Path) -> None:
    browser = tmp_path / "browser.sh"
    browser.write_text('#!/bin/sh\necho "$1" >> opened.txt\n')
    browser.chmod(0o755)
    dot = some_node("dot")
    out = ask(EXAMPLE, f"--browser={browser}", "--output", "drawings", lines=f"{dot} 1\n", directory=tmp_path).stdout
    opened = tmp_path / "opened.txt"
    while not opened.exists() or not opened.read_text().endswith("\n"):
        time.sleep(0.02)
    assert opened.read_text().strip() == (tmp_path / out.strip()).as_uri()
    refused = ask(EXAMPLE, "--browser=no-such-browser", lines=f"{dot} 1\n", directory=tmp_path)
    assert refused.returncode == 2 and "cannot start 'no-such-browser'; the drawing is " in refused.stderr


def png_size(path: Path) -> tuple[int, int]:
    head = path.read_bytes()[:24]
    return int.from_bytes(head[16:20]), int.from_bytes(head[20:24])


@pytest.mark.slow
@pytest.mark.step("0.13")
def test_save_takes_a_scale_for_png(tmp_path: Path) -> None:
    dot = some_node("dot")
    script(f"attributes off\n{dot} 1\nsave once.png\nsave twice.png 2\n", tmp_path)
    width, height = png_size(tmp_path / "once.png")
    assert png_size(tmp_path / "twice.png") == (2 * width, 2 * height)
    command = [sys.executable, "-m", "opscope", "export", str(EXAMPLE), "-o", "exported.png", "--scale", "2"]
    subprocess.run([*command, "--around", dot, "--hops", "1", "--names", "--depth", "9"], cwd=tmp_path, check=True)
    assert (tmp_path / "exported.png").read_bytes() == (tmp_path / "twice.png").read_bytes()
    _, errors = failing_script(f"{dot} 1\nsave x.png huge\nsave x.png nan\nsave x.svg 2\n", tmp_path)
    assert errors[0] == "scale must be a number, such as 2 or 1.5, not 'huge'"
    assert "scale must be 0.05 to 32" in errors[1] and "scale does not apply to SVG files" in errors[2]


@pytest.mark.slow
def test_layouts_are_written_on_boxes_on_request(tmp_path: Path) -> None:
    compiled = Path(__file__).parent / "samples" / "hlo" / "step_compiled.hlo"
    lines = "dot.1 1\nsave plain.svg\nlayouts on\ndot.1 1\nsave layouts.svg\n"
    assert ask(compiled, "--output", "drawings", lines=lines, directory=tmp_path).returncode == 0
    plain, with_layouts = ((tmp_path / name).read_text() for name in ("plain.svg", "layouts.svg"))
    info = ask(compiled, lines="info dot.1\n", directory=tmp_path).stdout
    [(type,), (layout,)] = (re.findall(rf"^{row} +(.+)$", info, re.M) for row in ("type", "layout"))
    assert f">{type}{layout}<" in with_layouts and f">{type}<" in plain and layout not in plain
