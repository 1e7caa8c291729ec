"""Operations are known by name in Python's table only: a new format must not need a line of TypeScript."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from conftest import ROOT, Run

from opscope.ops.rows import COMMON
from opscope.ops.rows.dialects import DIALECTS

TYPESCRIPT = sorted(path for path in (ROOT / "web" / "src").rglob("*") if path.suffix in (".ts", ".tsx", ".json"))
ROWS = (*COMMON, *(row for dialect in DIALECTS for row in dialect.rows))
NAMES = {name.partition(".")[0].replace("_", "") for names, _ in ROWS for name in names.split()}

ALLOWED = {
    "categories and roles": "constant elementwise input matmul output parameter reduce result shape",
    "words of the viewer": "compare copy expand flatten kernel stack switch to view",
    "names of columns, and of what they contain": "all any identity name repeat sign size sum where",
    "how a metric is combined, a barycentre is chosen, a range is given": "max mean median min range",
    "a method of HTTP": "get",
    "elements, classes and attributes of pages": "div dot round select sub",
    "a key, a unit, a path command of SVG": "t",
    "what XLA adds to the name of a copied instruction": "clone",
}
"""Words that are also names of operations, and why they are there."""

_COMMENT = re.compile(r"/\*.*?\*/|(?<![:\"'`\\])//[^\n]*", re.S)
_TEXT = re.compile(r"\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`")
_REGEX = re.compile(r"(?<=[(,=:&|!?\s])/(?![/*\s])((?:[^/\\\n]|\\.)+)/[gimsuy]*")
_KEY = re.compile(r"^\s*(\w+): [\[{\"]", re.M)


def op_names(code: str) -> set[str]:
    """Names of operations among a program's texts, words of regular expressions, and keys of tables."""
    code = _COMMENT.sub(" ", code)
    words = [word for groups in _TEXT.findall(code) for word in groups]
    words += [word for pattern in _REGEX.findall(code) for word in re.findall(r"[A-Za-z][\w-]*", pattern)]
    words += _KEY.findall(code)
    return {word for word in words if word and re.sub("[-_]", "", word.lower()) in NAMES}


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ('if (op === "get-tuple-element") return;', {"get-tuple-element"}),
        ("const SIGNS = {\n  multiply: [1],\n};", {"multiply"}),
        ("return /(?:^|[._])scan$/.test(op);", {"scan"}),
        ('// "tuple" disappears\nconst words = "a tuple is drawn";', set()),
    ],
)
def test_names_are_found_where_code_goes_by_them(code: str, names: set[str]) -> None:
    assert op_names(code) == names


def test_typescript_knows_no_operation_by_its_name() -> None:
    allowed = {word for words in ALLOWED.values() for word in words.split()}
    used = {name.lower(): path.relative_to(ROOT) for path in TYPESCRIPT for name in op_names(path.read_text("utf-8"))}
    assert TYPESCRIPT and not {name: str(path) for name, path in used.items() if name not in allowed}
    assert allowed <= set(used), "a word that is not used any more need not be allowed"


TOY = """
from opscope.ops import Dialect, Facts
from opscope.program import Program, ProgramBuilder, TensorType
from opscope.readers import Reader, Verdict

ROWS = (
    ("repeat_until", Facts("control", control="while")),
    ("pack", Facts(forwards="tuple", unnumbered=True)),
    ("unpack", Facts(forwards="value")),
)
TOY = Reader("toy", "toy_reader", "a dialect that opscope has never heard of", (".toy",), dialects=(Dialect("toy", ROWS),))


def sniff(source):
    return Verdict(1.0, "begins with TOY") if source.head_text.startswith("TOY") else Verdict(0, "does not begin with TOY")


def read(source, progress=None):
    f32, s32, pred = TensorType("f32", (4,)), TensorType("s32"), TensorType("pred")
    builder = ProgramBuilder("toy", "main")
    condition = builder.graph("small_enough")
    condition.node("i", "toy.arg", outputs=[s32], role="parameter", attrs={"index": 0})
    condition.node("v", "toy.arg", outputs=[f32], role="parameter", attrs={"index": 1})
    condition.node("less", "toy.less", [("i", 0)], [pred])
    condition.outputs = [("less", 0)]
    body = builder.graph("one_round")
    body.node("i", "toy.arg", outputs=[s32], role="parameter", attrs={"index": 0})
    body.node("v", "toy.arg", outputs=[f32], role="parameter", attrs={"index": 1})
    body.node("one", "toy.const", outputs=[s32], role="constant", attrs={"value": "1"})
    body.node("next", "toy.add", [("i", 0), ("one", 0)], [s32])
    body.node("wave", "toy.sine", [("v", 0)], [f32])
    body.outputs = [("next", 0), ("wave", 0)]
    main = builder.graph("main")
    main.node("start", "toy.count", outputs=[s32])
    main.node("x", "toy.arg", outputs=[f32], role="input")
    main.node("both", "toy.pack", [("start", 0), ("x", 0)], [s32, f32])
    main.node("first", "toy.unpack", [("both", 0)], [s32])
    main.node("second", "toy.unpack", [("both", 1)], [f32])
    main.node("loop", "toy.repeat_until", [("first", 0), ("second", 0)], [s32, f32], calls=["small_enough", "one_round"])
    main.node("end", "toy.cosine", [("loop", 1)], [f32])
    main.outputs = [("end", 0)]
    return [builder.build()]
"""


def words_of(run: Run, directory: Path, reader: str) -> list[str]:
    """What is written in the picture of a toy program, with a package installed that reads it."""
    (directory / "toy_reader.py").write_text(reader, "utf-8")
    info = directory / "toy-1.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1\n", "utf-8")
    (info / "entry_points.txt").write_text("[opscope.readers]\ntoy = toy_reader:TOY\n", "utf-8")
    (directory / "loop.toy").write_text("TOY\n", "utf-8")
    environment = {"PYTHONPATH": os.pathsep.join([str(directory), os.environ.get("PYTHONPATH", str(ROOT / "src"))])}
    done = run("export", "loop.toy", "-o", "loop.svg", "--depth", "3", "--force", env=environment)
    assert done.returncode == 0, done.stderr
    return re.findall(r">([^<>\n]+)<", (directory / "loop.svg").read_text("utf-8"))


@pytest.mark.slow
def test_a_reader_from_outside_brings_all_that_the_picture_needs(run: Run, tmp_path: Path) -> None:
    words = words_of(run, tmp_path, TOY)
    assert not {"pack", "toy.pack", "unpack", "toy.unpack"} & {*words}, "plumbing disappears into edges"
    assert {"condition", "body"} <= {*words}, "a loop is drawn as one"
    assert {"repeat_until", "sine"} <= {*words}, "titles have no prefix"
    assert "+ 1" in words, "what is not said of a dialect's operation is what the name means elsewhere"
    without_rows = words_of(run, tmp_path, TOY.replace(', dialects=(Dialect("toy", ROWS),)', ""))
    assert {"toy.pack", "toy.unpack"} <= {*without_rows} and not {"condition", "body"} & {*without_rows}
