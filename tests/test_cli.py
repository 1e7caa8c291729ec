"""The command line as users meet it: exit codes, one-line errors, stdin, several modules, no file overwritten by accident."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Run
from programs import TWO_MODULES, everything

import opscope
from opscope import native


@pytest.fixture
def step(tmp_path: Path) -> Path:
    path = tmp_path / "step.json"
    path.write_text(native.dumps(everything()), "utf-8")
    return path


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """One line on stderr, nothing on stdout, exit code 2."""
    assert done.returncode == 2, done
    assert done.stdout == "" and done.stderr.count("\n") == 1 and "Traceback" not in done.stderr
    return done.stderr.strip()


@pytest.mark.slow
def test_info_reports_graphs_ops_parameters_and_cost(run: Run, example: Path) -> None:
    done = run("info", example)
    assert done.returncode == 0 and done.stderr == ""
    info = json.loads(run("info", example, "--json").stdout)
    assert info["name"] == "jit_train_step" and info["nodes"] == sum(graph["nodes"] for graph in info["graphs"])
    assert sum(op["nodes"] for op in info["ops"]) == info["nodes"]
    assert f"{info['nodes']:,} in {len(info['graphs'])} graphs, entry {info['entry']}" in done.stdout
    assert info["parameters"] == 54 and info["parameter_bytes"] == info["parameter_elements"] * 4
    assert "parameters  54 (every argument of the entry): " in done.stdout and info["inputs"] == info["buffers"] == 0
    assert info["flops"] > 10**7 and info["unknown"] == 0
    assert info["saved_for_backward"] == {"values": 112, "bytes": 2_137_600}
    assert "saved       112 values for backward, 2.14 MB" in done.stdout
    assert re.search(r"^dot +75  matmul$", done.stdout, re.M)
    assert "more graphs (--all lists them)" in done.stdout and "--all" not in run("info", example, "--all").stdout


def test_info_reports_saved_values_of_halves_that_are_only_modules(run: Run, tmp_path: Path) -> None:
    """As the page does: modules called forward and backward are the halves where backward reads something of forward."""

    def saved_of(read: str) -> object:
        builder = opscope.ProgramBuilder("p")
        graph = builder.graph("main")
        f32 = opscope.TensorType("f32", (2, 3))
        graph.node("x", "input", outputs=[f32], role="input")
        graph.node("tanh", "Tanh", [("x", 0)], [f32], scope=("forward", "act"))
        graph.node("grad", "Mul", [(read, 0), ("x", 0)], [f32], scope=("backward", "act"))
        opscope.save(builder.build(), tmp_path / "step.json")
        return json.loads(run("info", tmp_path / "step.json", "--json").stdout)["saved_for_backward"]

    assert saved_of("tanh") == {"values": 1, "bytes": 24}
    assert saved_of("x") is None


def test_info_says_unknown_where_nothing_is_known(run: Run, tmp_path: Path) -> None:
    """An ONNX file without value_info: the type of the Relu's result is unknown, so the Tanh's bytes are unknown too."""
    builder = opscope.ProgramBuilder("p")
    graph = builder.graph("main")
    f32 = opscope.TensorType("f32", (2, 3))
    graph.node("x", "input", outputs=[f32], role="input")
    graph.node("relu", "Relu", [("x", 0)], [opscope.TensorType("?")])
    graph.node("tanh", "Tanh", [("relu", 0)], [f32])
    opscope.save(builder.build(), tmp_path / "untyped.json")
    text = run("info", "untyped.json").stdout
    assert re.search(r"^FLOPs +6, 6 of them transcendental, without 1 operation of unknown cost \(Relu\)$", text, re.M)
    assert re.search(r"^bytes +unknown: 2 operations with values of unknown size$", text, re.M)
    assert re.search(r"^main +3 +6 +unknown +entry$", text, re.M)


@pytest.mark.slow
def test_info_lists_the_modules_of_a_file_and_shows_the_chosen_one(run: Run, tmp_path: Path) -> None:
    (tmp_path / "two.hlo").write_text(TWO_MODULES)
    listed = run("info", "two.hlo").stdout
    assert "2 modules; --module NAME shows one" in listed and re.search(r"^second +1 +2  b$", listed, re.M)
    assert [info["name"] for info in json.loads(run("info", "two.hlo", "--json").stdout)["programs"]] == ["first", "second"]
    assert json.loads(run("info", "two.hlo", "--module", "second", "--json").stdout)["ops"][1]["op"] == "tanh"
    assert refused(run("info", "two.hlo", "--module", "third")) == "two.hlo: no module named 'third'; there are: first, second"
    several = refused(run("export", "two.hlo", "-o", "x.dot"))
    assert several == "two.hlo: has 2 modules; choose one with --module NAME (in Python module=NAME): first, second"


@pytest.mark.slow
def test_json_of_several_modules_is_one_file_and_reads_back(run: Run, tmp_path: Path) -> None:
    (tmp_path / "two.hlo").write_text(TWO_MODULES)
    assert run("export", "two.hlo", "-o", "two.json").returncode == 0
    assert run("export", "two.json", "-o", "again.json").returncode == 0
    assert (tmp_path / "two.json").read_bytes() == (tmp_path / "again.json").read_bytes()
    assert [program.name for program in native.loads((tmp_path / "two.json").read_text("utf-8"))] == ["first", "second"]


@pytest.mark.slow
def test_exporting_an_export_writes_identical_files(run: Run, example: Path, tmp_path: Path) -> None:
    assert run("export", example, "-o", "x.json").returncode == 0
    assert run("export", "x.json", "-o", "y.json").returncode == 0
    assert (tmp_path / "x.json").read_bytes() == (tmp_path / "y.json").read_bytes()


@pytest.mark.slow
def test_standard_input_and_output(run: Run, example: Path) -> None:
    text = example.read_bytes()
    piped = run("info", "-", "--json", stdin=text)
    assert json.loads(piped.stdout)["name"] == "jit_train_step"
    assert run("info", "-", "--json", stdin=gzip.compress(text)).stdout == piped.stdout
    assert run("export", "-", "-o", "-", "--to", "dot", stdin=text).stdout.startswith('digraph "jit_train_step" {')
    assert "choose a format with --to NAME" in refused(run("export", "-", "-o", "-", stdin=text))


@pytest.mark.slow
def test_pipes_are_sources_and_devices_are_not(run: Run, example: Path, tmp_path: Path) -> None:
    """A pipe can be read only once and not rewound: <(…) of the shell, and a named pipe."""
    os.mkfifo(tmp_path / "pipe")
    opscope = f"{sys.executable} -m opscope"
    command = f"cat {example} > pipe & {opscope} info pipe && {opscope} info <(gzip -c {example})"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert len(re.findall(r"^program +jit_train_step$", done.stdout, re.M)) == 2
    assert refused(run("info", "/dev/zero")) == "/dev/zero: is a device; expected a file, a directory or a pipe"
    closed = subprocess.run(["bash", "-c", f"{opscope} info - <&-"], capture_output=True, text=True, check=False)
    assert refused(closed) == "<stdin>: standard input is closed; pipe a source into it"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "is a Git LFS pointer, not the file itself; run `git lfs pull`"),
        (
            b"<!doctype html><title>step \xc2\xb7 opscope</title>",
            "is a page that opscope wrote; open it in a browser, or pass the file that it was made from",
        ),
        (b"<!DOCTYPE html><html>", "is an HTML page, probably saved instead of the file behind it; download the raw file"),
        (b"dump/".ljust(257, b"\0") + b"ustar", "is an archive; unpack it with `tar xf given`, and pass what was in it"),
        (b"<svg/>", "is XML or SVG, a picture rather than a graph"),
        (b"\x1f\x8b\x08broken", "cannot be decompressed"),
        (b'{"a": 1}', """unrecognized format. Tried: native (JSON without "format": "opscope"); hlo ("""),
        (b"\0\1\2\3", "unrecognized format. Tried: native (not a JSON object); hlo ("),
        (b"\x89PNG\r\n\x1a\n\0\0", "is a PNG file, a picture rather than a graph; pass the file that the picture was made from"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "is a JPEG file, a picture rather than a graph; pass the file that"),
    ],
)
def test_common_wrong_files_have_their_own_message(run: Run, tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "given").write_bytes(content)
    assert refused(run("info", "given")).startswith(f"given: {sentence}")


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("model.py", b"def make(): ...", "is Python code; name the callable to show: model:NAME"),
        ("step.xplane.pb", b"\x8f\x93\x01\0\xff", "is not a profile of JAX, or is damaged from its beginning on"),
        ("times.csv", b"a,b\n1,2\n", "is a table, not a graph; pass the program, and a table with the columns node and ms"),
        ("model.tflite", b"\x1c\0\0\0TFL3\0\0", "is a TensorFlow Lite model, which opscope does not read; convert it to ONNX"),
        ("model.safetensors", b"\x02\0\0\0\0\0\0\0{}", "contains weights but no graph; pass the model itself"),
    ],
)
def test_an_unsupported_file_is_refused_with_what_would_work(run: Run, tmp_path: Path, name: str, content: bytes, sentence: str) -> None:
    (tmp_path / name).write_bytes(content)
    assert refused(run("info", name)).startswith(f"{name}: {sentence}")


def test_contents_count_more_than_the_file_name(run: Run, tmp_path: Path) -> None:
    (tmp_path / "graph.pb").write_text(TWO_MODULES)
    assert "2 modules" in run("info", "graph.pb").stdout


@pytest.mark.slow
def test_a_missing_file_and_a_directory_without_dumps(run: Run, tmp_path: Path) -> None:
    assert refused(run("info", "nowhere.hlo")) == "nowhere.hlo: no such file or directory"
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "step.onnx").touch()
    missing = str(Path("models", "stp.onnx"))
    assert refused(run("info", missing)).endswith("no such file or directory; did you mean 'step.onnx'?")
    assert refused(run("info", "models")).startswith("models: is a directory")
    (tmp_path / "lost.hlo").symlink_to("nowhere.hlo")
    assert refused(run("info", "lost.hlo")) == "lost.hlo: is a link that leads to no file"


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that can be opened and not be read")
def test_a_file_that_cannot_be_read_is_named(run: Run) -> None:
    assert refused(run("info", "/proc/self/mem")) == "/proc/self/mem: cannot be read: Input/output error"


@pytest.mark.slow
def test_errors_name_the_line_and_column(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.hlo").write_text("HloModule m\nENTRY e { ROOT x = f32[2 parameter(0) }\n")
    assert re.match(r"bad\.hlo:2:\d+: ", refused(run("info", "bad.hlo")))
    (tmp_path / "bad.json").write_text('{"format": "opscope",\n "version" 1}')
    assert refused(run("info", "bad.json")) == "bad.json:2:12: not JSON: expecting ':' delimiter"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["export", "step.json"], "opscope export: Missing option '-o' / '--output'. See `opscope export --help`."),
        (["export", "step.json", "-o", "x.docx"], "x.docx: unknown suffix '.docx'; use one of ."),
        (["export", "step.json", "-o", "x"], "x: has no suffix to choose a format by; use one of ."),
        (["export", "step.json", "-o", "no/x.dot"], "no: no such directory; create it first"),
        (["export", "step.json", "-o", "x.dot", "--to", "excel"], "no writer for format 'excel'; there are: "),
        (["export", "step.json", "-o", "x.dot", "--graph", "main"], "step.json: no graph named 'main'; did you mean 'main.7'?"),
        (["export", "step.json", "-o", "x.dot", "--group-by", "modules"], "step.json: no grouping named 'modules'; did you mean 'module'?"),
        (["export", "step.json", "-o", "x.dot", "--around", "add.9999"],
         "step.json: no node named 'add.9999' in graph 'main.7'; did you mean 'add.3'?"),
        (["export", "step.json", "-o", "x.dot", "--around", "add3"],
         "step.json: no node named 'add3' in graph 'main.7'; did you mean 'add.3'?"),
        (["export", "step.json", "-o", "x.dot", "--around", "t"],
         "step.json: no node named 't' in graph 'main.7'; graph 'fused_computation.1' has one: --graph fused_computation.1"),
        (["export", "step.json", "-o", "x.dot", "--paths", "pair", "ad"], "step.json: no node named 'ad'"),
        (["export", "step.json", "-o", "x.dot", "--group-by", "colour"],
         "step.json: no grouping named 'colour'; there are: module, partition, source line, op, direction"),
        (["export", "step.json", "-o", "x.json", "--depth", "2"],
         "--depth does not apply to JSON files; leave it out, or write html, svg, png, jpg, webp, gif, pdf, drawio or dot"),
        (["export", "step.json", "-o", "step.json"], "step.json: is the source itself; choose another name, or use --force"),
        (["info", "step.json", "--from", "tarot"], "no reader for format 'tarot'; there are: native, hlo"),
        (["export", "step.json", "-o", "x.svg", "--dept", "3"],
         "opscope export: No such option '--dept'. Did you mean '--depth'? See `opscope export --help`."),
        (["export", "step.json", "-o", "x.svg", "--paths", "add.3"],
         "opscope export: Option '--paths' requires 2 arguments. See `opscope export --help`."),
        (["step.json", "--paths", "add.3"], "opscope view: Option '--paths' requires 2 arguments. See `opscope view --help`."),
        (["diff", "@24", "@25"], "A must name a recording, such as run.opscope@24"),
        (["diff", "step.json", "@25"], "step.json: is not a recording, so @25 names no pass in it"),
        (["info", "step.json", "--colour"], "opscope info: No such option '--colour'"),
        (["repository"], "opscope: 'repository' is neither a command nor a file. See `opscope --help`."),
        (["veiw", "step.json"], "opscope: 'veiw' is neither a command nor a file; did you mean view?"),
        (["info", "no_such_module:f"], "no_such_module:f: there is neither a module 'no_such_module' here nor a file of that name"),
    ],
)  # fmt: skip
def test_mistakes_are_answered_in_one_line(run: Run, step: Path, arguments: list[str], sentence: str) -> None:
    assert refused(run(*arguments)).startswith(sentence)


def test_without_a_command_the_help_is_an_error_message(run: Run) -> None:
    done = run()
    assert (done.returncode, done.stdout, done.stderr) == (2, "", run("--help").stdout)


@pytest.mark.slow
def test_only_files_of_the_same_format_are_overwritten_without_force(run: Run, step: Path, tmp_path: Path) -> None:
    target = tmp_path / "x.dot"
    cases = [(None, [], 0), ("digraph old {}", [], 0), ("", [], 0), ("my notes", [], 2), ("my notes", ["--force"], 0)]
    for before, force, code in cases:
        if before is not None:
            target.write_text(before)
        done = run("export", step, "-o", target, *force)
        assert done.returncode == code, (before, force, done)
        assert target.read_text().startswith('digraph "jit_step"' if code == 0 else "my notes")
    assert not list(tmp_path.glob(".*.part"))


@pytest.mark.slow
def test_a_failed_export_leaves_the_old_file(run: Run, step: Path, tmp_path: Path) -> None:
    target = tmp_path / "x.dot"
    target.write_text("digraph old {}")
    refused(run("export", step, "-o", target, "--graph", "nope"))
    assert target.read_text() == "digraph old {}" and sorted(os.listdir(tmp_path)) == ["step.json", "x.dot"]


@pytest.mark.slow
def test_a_callable_of_a_module_is_a_source(run: Run, tmp_path: Path) -> None:
    (tmp_path / "models.py").write_text(
        "import opscope\n"
        "def make():\n"
        "    builder = opscope.ProgramBuilder('made')\n"
        "    builder.graph('g').node('n', 'add')\n"
        "    return builder.build()\n"
        "program = make()\n"
        "def broken():\n"
        "    raise ValueError('no\\nluck')\n"
        "number = 3\n"
    )
    for name in ("models:make", "models.py:program"):
        assert json.loads(run("info", name, "--json").stdout)["name"] == "made"
    assert refused(run("info", "models:broken")) == "models:broken: raised ValueError: no luck"
    assert refused(run("info", "models:nothing")).startswith("models:nothing: models has no 'nothing'; there are: ")
    assert refused(run("info", "models:number")).startswith("models:number: cannot capture a builtins.int")
    assert "Traceback" in run("info", "models:broken", env={"OPSCOPE_TRACEBACK": "1"}).stderr


@pytest.mark.slow
def test_formats_lists_what_can_be_read_and_written(run: Run) -> None:
    formats = json.loads(run("formats", "--json").stdout)
    assert {"native", "hlo"} <= {row["name"] for row in formats["readers"]}
    assert {".json", ".dot"} <= {suffix for row in formats["writers"] for suffix in row["suffixes"]}
    text = run("formats").stdout
    assert all(row["what"] in text for row in formats["readers"] + formats["writers"] + formats["dumps"])
    assert "pip install" not in "".join(row["install"] for row in formats["writers"]), "opscope's own dependencies are installed"


@pytest.mark.slow
def test_formats_says_what_to_install_for_live_objects() -> None:
    code = (
        "import sys\nfrom importlib import util\nfind_spec = util.find_spec\n"
        "util.find_spec = lambda name, package=None: None if name in ('torch', 'jax', 'flax', 'jaxlib') else find_spec(name, package)\n"
        "from opscope.cli import main\nsys.exit(main(['formats', *sys.argv[1:]]))\n"
    )
    text, data = (
        subprocess.run([sys.executable, "-c", code, *more], capture_output=True, text=True, check=True).stdout for more in ([], ["--json"])
    )
    rows = {row["name"]: row for row in json.loads(data)["reads"]}
    assert (rows["torch"]["available"], rows["torch"]["objects_available"]) == (True, False), "its files need no torch"
    assert (rows["jax"]["available"], rows["mlir"]["available"]) == (False, False)
    assert re.search(r"^  torch .*  for torch objects: pip install 'opscope\[torch\]'$", text, re.M)
    assert re.search(r"^  jax .*  pip install 'opscope\[jax\]'$", text, re.M) and re.search(
        r"^  mlir .*  pip install 'opscope\[jax\]'$", text, re.M
    )


def test_a_closed_pipe_is_not_an_error(example: Path) -> None:
    command = f"{sys.executable} -m opscope info {example} --all --json | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout == "{\n" and done.stderr == ""


@pytest.mark.slow
def test_a_source_without_a_command_is_viewed(run: Run, step: Path) -> None:
    """`opscope step.json` means `opscope view step.json`: it takes the options of `view`, and errors name that command."""
    for source in ("step.json", "-", "model:make"):
        assert refused(run(source, "--colour")).startswith("opscope view: No such option '--colour'")
    assert "no node named 'nowhere'" in refused(run("step.json", "--around", "nowhere"))


def test_completion_offers_the_commands(run: Run) -> None:
    done = run(env={"_OPSCOPE_COMPLETE": "bash_complete", "COMP_WORDS": "opscope ex", "COMP_CWORD": "1"})
    assert done.stdout.split() == ["plain,export"]


def test_help_imports_nothing_but_click() -> None:
    code = (
        "import sys\nfrom opscope.cli import main\nmain(['--help'])\n"
        "heavy = {'rich', 'numpy', 'torch', 'jax', 'starlette', 'opscope.program', 'opscope.readers'} & set(sys.modules)\n"
        "sys.exit(repr(heavy) if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Commands:" in done.stdout


@pytest.mark.slow
def test_a_progress_bar_for_a_terminal_and_only_for_a_terminal(run: Run, tmp_path: Path) -> None:
    """Whoever waits longer than a second sees progress; a redirected stderr stays empty."""
    (tmp_path / "slow.py").write_text(
        "import time, opscope\n"
        "from pathlib import Path\n"
        "def make():\n"
        "    time.sleep(1.5)\n"
        "    for _ in range(600):\n"  # a busy machine takes its time to draw a bar; a program that ends before it shows none
        "        if Path('seen').exists(): break\n"
        "        time.sleep(0.1)\n"
        "    builder = opscope.ProgramBuilder('made')\n"
        "    builder.graph('g').node('n', 'add')\n"
        "    return builder.build()\n"
    )
    seen = tmp_path / "seen"
    seen.touch()
    assert run("info", "slow:make").stderr == ""
    seen.unlink()
    reader, writer = os.openpty()
    command = [sys.executable, "-m", "opscope", "info", "slow:make"]
    settings = {**os.environ, "TERM": "xterm"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=writer, cwd=tmp_path, env=settings) as process:
        os.close(writer)
        output = b""
        while b"reading slow:make" not in output:
            output += os.read(reader, 1 << 16)  # raises OSError if the program ends without it
        seen.touch()
        printed, _ = process.communicate()
    os.close(reader)
    assert process.returncode == 0 and b"made" in printed


def test_an_unknown_suffix_is_answered_with_each_supported_one_once(run: Run) -> None:
    suffixes = run("export", "step.json", "-o", "x.docx").stderr.rstrip().partition("use one of ")[2].split(", ")
    assert ".json" in suffixes and len(suffixes) == len(set(suffixes))


@pytest.mark.slow
def test_a_directory_without_dumps_suggests_the_file_in_it(run: Run, tmp_path: Path) -> None:
    (tmp_path / "step.hlo").write_text(TWO_MODULES)
    (tmp_path / "notes.md").write_text("about it")
    assert "pass the file in it, step.hlo" in refused(run("info", tmp_path))
