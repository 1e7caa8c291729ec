"""What another project's library reads, it reads in a process of its own; the parent says whose fault an end of it is."""

from __future__ import annotations

from pathlib import Path

import pytest

import opscope
from opscope.child import fate, read_apart
from opscope.cli import main
from opscope.errors import InternalError, SourceError, error_line
from opscope.readers import etdump
from opscope.readers.source import Source

FUNCTION = "module { func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> { return %a : tensor<2xf32> } }"


def reader(directory: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> str:
    """A module that a child can import, whose function `read` has this body."""
    lines = ["from opscope.child import answer_apart", "from opscope.errors import SourceError", "def read():", f"    {body}", ""]
    (directory / "a_reader.py").write_text("\n".join([*lines, "answer_apart(read, 0)"]))
    monkeypatch.syspath_prepend(str(directory))
    return "a_reader"


def test_an_answer_is_apart_from_what_libraries_print(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_apart(reader(tmp_path, monkeypatch, "print('?'); return b'the answer'"), 0) == b"the answer"


def test_an_error_of_the_file_is_the_same_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SourceError) as caught:
        read_apart(reader(tmp_path, monkeypatch, "raise SourceError('is odd', line=3, column=4)"), 0)
    assert str(caught.value) == "line 3, column 4: is odd"


def test_a_mistake_of_opscope_is_an_internal_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InternalError) as caught:
        read_apart(reader(tmp_path, monkeypatch, "return [][1]"), 0)
    line = error_line(caught.value)
    assert line.startswith("opscope: internal error at a_reader.py:4: IndexError: list index out of range. Please report it")
    assert "in read\n    return [][1]" in "".join(caught.value.__notes__)


@pytest.mark.parametrize(
    ("body", "words"),
    [("import os; os.abort()", "crashed"), ("return bytearray(3 << 30)", "took more than 2."), ("raise MemoryError", "took more than 2.")],
    ids=["crash", "memory", "bad_alloc"],
)
def test_a_crash_and_a_limit_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, words: str) -> None:
    from subprocess import CalledProcessError

    with pytest.raises(CalledProcessError) as caught:
        read_apart(reader(tmp_path, monkeypatch, body), 0)
    assert fate(caught.value, 0).startswith(words)


@pytest.mark.frameworks
def test_a_mistake_in_the_reader_of_mlir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("jaxlib")
    path = tmp_path / "a.mlir"
    path.write_text(FUNCTION)
    assert opscope.load(path).node_count == 1
    (tmp_path / "sitecustomize.py").write_text("import opscope.readers.result_paths as r\nr.results_attr = lambda *_: 1 / 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert main(["info", str(path)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("opscope: internal error at sitecustomize.py:2: ZeroDivisionError: division by zero.")
    assert error.count("\n") == 1
    monkeypatch.setenv("OPSCOPE_TRACEBACK", "1")
    assert main(["info", str(path)]) == 1
    assert "in program\n    self.builder.attrs.update(results_attr(" in capsys.readouterr().err, "the traceback in the child"


@pytest.mark.frameworks
def test_mlir_text_that_is_not_utf8_is_shown(tmp_path: Path) -> None:
    pytest.importorskip("jaxlib")
    path = tmp_path / "a.mlir"
    path.write_text(FUNCTION.replace("-> tensor<2xf32>", '-> (tensor<2xf32> {jax.result_info = "r\\FF"})'))
    assert opscope.load(path).attrs["results"] == ["r\\xff"]


@pytest.mark.frameworks
@pytest.mark.parametrize(("strings", "reason"), [(b"\xff", ".+"), (b"\x00" + (2**56).to_bytes(8, "little"), "SmallVector .+")])
def test_damaged_mlir_bytecode_is_what_jaxlib_says(tmp_path: Path, strings: bytes, reason: str) -> None:
    """Bytecode with an impossible number of strings: cut off, and larger than jaxlib's containers."""
    pytest.importorskip("jaxlib")
    sections = {0: strings, 1: b"\1", 2: b"", 3: b"\1\1", 4: b"", 5: b"\1", 6: b"\1", 8: b"\1"}
    path = tmp_path / "a.mlirbc"
    path.write_bytes(b"ML\xefR\5x\0" + b"".join(bytes([id, 2 * len(data) + 1]) + data for id, data in sections.items()))
    with pytest.raises(SourceError, match=rf"a\.mlirbc: is damaged MLIR bytecode: {reason}; write it again"):
        opscope.load(path)


@pytest.mark.frameworks
def test_an_operation_that_jaxlib_quotes_in_lines_is_one_line(tmp_path: Path) -> None:
    pytest.importorskip("jaxlib")
    body = "{ ^bb0(%b: tensor<i1>): stablehlo.return %b : tensor<i1> }"
    path = tmp_path / "a.mlir"
    path.write_text(f'func.func @f(%a: tensor<i1>) {{ "stablehlo.while"(%a) ({body}, {body}) : (tensor<i1>) -> tensor<i1> }}')
    with pytest.raises(SourceError, match="not valid MLIR: block with no terminator, has ") as caught:
        opscope.load(path)
    assert str(caught.value).endswith(": (tensor<i1>) -> tensor<i1>") and "\n" not in str(caught.value)


@pytest.mark.frameworks
@pytest.mark.parametrize("operation", ['"t.op"() {"a\\FF" = 1 : i32} : () -> ()', '"\\FF"() : () -> ()'], ids=["attribute", "operation"])
def test_mlir_with_a_name_that_is_not_utf8_is_refused(tmp_path: Path, operation: str) -> None:
    pytest.importorskip("jaxlib")
    path = tmp_path / "a.mlir"
    path.write_text(f"func.func @f() {{ {operation} return }}")
    with pytest.raises(SourceError, match="has a name that is not UTF-8"):
        opscope.load(path)


@pytest.mark.slow
@pytest.mark.frameworks
def test_a_mistake_in_the_reader_of_etdumps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("executorch")
    path = tmp_path / "run.etdp"
    path.write_bytes(b"\0\0\0\0ED00")
    with pytest.raises(SourceError, match="ExecuTorch's Inspector cannot read this ETDump: it is truncated or damaged"):
        etdump.timed_with([], Source(path))
    broken = "import executorch.devtools as d\nd.Inspector = lambda **_: type('Blocks', (), {'event_blocks': [None]})"
    (tmp_path / "sitecustomize.py").write_text(broken)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(InternalError, match=r"^etdump\.py:\d+: AttributeError: 'NoneType' object has no attribute 'events'"):
        etdump.timed_with([], Source(path))
