"""Malformed HLO text: always one message with line and column that says what was expected, whatever the bytes."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opscope.errors import SourceError
from opscope.readers.hlo import parse_hlo, sniff
from opscope.readers.source import Source

SAMPLES = Path(__file__).resolve().parent.parent / "samples" / "hlo"
TEXTS = {path.name: path.read_text() for path in sorted(SAMPLES.glob("*.hlo"))}


def module(*lines: str) -> str:
    return "HloModule m\nENTRY e {\n  p = f32[2] parameter(0)\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        ("", 1, 0, "contains no HLO"),
        ("// only a comment\n", 1, 0, "contains no HLO"),
        ("HloModule m\n", 1, 1, "module 'm' has no computation"),
        ("HloModule = 3", 1, 11, "expected the module's name"),
        ("HloModule m, 3", 1, 14, "expected an attribute like dimensions={0}"),
        ("HloModule m\nENTRY e {\n  p = f32[] parameter(0)\n", 2, 1, "computation 'e' is never closed"),
        ("HloModule m\nENTRY e (p: f32[]) {\n}\n", 2, 20, "expected '->' and the result type"),
        ("HloModule m\nENTRY e (p: f32[] -> f32[] {\n}\n", 2, 9, "'(' is never closed"),
        ("HloModule m\nENTRY e\n", 3, 1, "expected '{' to open computation 'e', but the text ends"),
        ("HloModule m\n!\n", 2, 1, "expected HloModule, ENTRY or a computation's name, found '!'"),
        ("/* never closed\nENTRY e {}", 1, 1, "this comment is never closed"),
        (module("x = f32[2] add(p, q)"), 4, 3, "'x' uses 'q', which is not an instruction of computation 'e'"),
        (module("p = f32[2] negate(p)"), 4, 3, "duplicate name 'p'"),
        (module("x = f32[2] add(p"), 5, 1, "expected ',' or ')' after an operand"),
        (module("x = f32[2] add(p p)"), 4, 20, "expected ',' or ')' after an operand, found 'p'"),
        (module("x = f32[2] call(p), to_apply=f"), 4, 3, "'x' calls 'f', which is not a computation of the module"),
        (module("x = f32[2] get-tuple-element(p), index=1"), 4, 3, "uses element 1 of 'p', which has 1"),
        (module("x = f32[2] get-tuple-element(p)"), 4, 7, "get-tuple-element needs one operand and an index"),
        (module("x = f32[2 add(p, p)"), 4, 7, "expected"),
        (module("x = f32[2]{1,0 add(p, p)"), 4, 13, "'{' of a layout is never closed"),
        (module("x = f32[2] add(p, p), metadata={op_name="), 2, 1, "computation 'e' is never closed"),
        (module('x = f32[2] add(p, p), metadata={op_name="a}'), 4, 43, "this string is never closed"),
        (module("x = f32[2] add(p, p), window={size=(3]}"), 4, 40, "expected ')' to close '(', found ']'"),
        (module("x = f32[2] add(p, p) and more"), 4, 24, "expected an instruction"),
        (module("x = 3"), 4, 7, "expected an opcode like add, found '3'"),
        (module("x = f32[2] add"), 5, 1, "expected '(' and the operands"),
        (module("x = f32[2] negate(p), control-predecessors={y}"), 4, 3, "'x' uses 'y'"),
        ("a { x = f32[] parameter(0) }\na { x = f32[] parameter(0) }\n", 2, 1, "duplicate computation 'a'"),
        ("ENTRY a { x = f32[] parameter(0) }\nENTRY b { x = f32[] parameter(0) }\n", 2, 1, "a second ENTRY, after 'a'"),
        ("HloModule m\nFileNames\n1 model.py\n", 3, 3, 'expected a row of FileNames like 1 "model.py"'),
    ],
)
def test_what_is_wrong_and_where(text: str, line: int, column: int, says: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse_hlo(text)
    assert says in caught.value.message
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        module("x = f32[2] " + "negate(" * 20_000 + "p" + ")" * 20_000),
        module("x = f32[2] " + "negate(" * 50_000),
        module("x = " + "(" * 50_000 + "f32[2]" + ")" * 50_000 + " parameter(1)"),
        module("x = f32[2] add(p, p), a=" + "{[(" * 50_000),
        module("x = f32[2] map(p), to_apply=" + "{ ROOT x = f32[2] map(p), to_apply=" * 1_000),
        module("x = tuple(" + "tuple(" * 5_000 + ")" * 5_001),
        module("x = f32[2] add(" + "negate(p), " * 20_000 + "p)"),
        module("x = f32[" + "1," * 50_000 + "1] parameter(1)"),
        module("x = f32[" + "9" * 10_000 + "] parameter(1)"),
        module("x = f32[2] get-tuple-element(p), index=" + "9" * 10_000),
        "x " * 100_000,
        "e (" + ") -> " * 30_000 + "{\n",
        "\n" * 200_000 + "!",
        "/*" * 50_000,
        '"' * 100_001,
        "a = f32[] add(" + "b, " * 50_000 + "b)",
        "HloModule m, " + "a={}, " * 30_000,
        "StackFrames\n" + "".join(f"{i} {{parent_frame_id={i + 2}}}\n" for i in range(20_000)),
    ],
    ids=lambda text: f"{text[11:50]!r}…{len(text)}",
)
def test_no_depth_length_or_number_is_too_much(text: str) -> None:
    """Reading either works or raises SourceError. Recursion would raise another error, and quadratic work would not finish."""
    sniff(Source("big.hlo", text.encode()))
    try:
        programs = parse_hlo(text)
    except SourceError as error:
        assert error.message
    else:
        assert all(len(node.attrs) >= 0 and node.scope is not None for p in programs for graph in p for node in graph)


_TOKENS = re.compile(r"[\w.-]+|\s+|.", re.DOTALL)
_INSERTED = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    '"',
    "'",
    ",",
    "=",
    "%",
    "#0",
    "ROOT",
    "ENTRY",
    "HloModule",
    "/*",
    "*/",
    "//",
    "\n",
    "\\",
    "...",
]


def mutated(text: str, chance: random.Random) -> str:
    """The text with a few tokens deleted, duplicated, swapped or inserted, and sometimes truncated."""
    tokens = _TOKENS.findall(text)
    for _ in range(chance.randint(1, 4)):
        at, other = chance.randrange(len(tokens)), chance.randrange(len(tokens))
        match chance.randrange(5):
            case 0:
                tokens[at] = ""
            case 1:
                tokens[at] *= 2
            case 2:
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 3:
                tokens[at] += chance.choice(_INSERTED)
            case 4:
                tokens[at] = tokens[other]
    text = "".join(tokens)
    return text[: chance.randrange(len(text) + 1)] if chance.random() < 0.2 else text


def read_or_refuse(text: str) -> None:
    try:
        programs = parse_hlo(text)
    except SourceError as error:
        assert error.line >= 1
        assert "\n" not in error.message
        return
    for program in programs:
        for graph in program:
            for node in graph:
                assert isinstance(str(node), str)
                assert isinstance(node.scope, tuple)
                assert isinstance(node.source, tuple)


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_mutated_samples_are_read_or_refused(name: str) -> None:
    """Details are decoded too: a broken attribute must not go unnoticed until its node is inspected."""
    text = TEXTS[name][:6000]
    chance = random.Random(name)
    for _ in range(150):
        read_or_refuse(mutated(text, chance))


@pytest.mark.slow
@settings(max_examples=300)
@given(st.text(alphabet="".join(sorted(set("HloModule ENTRY ROOT %x=f32[2]{0}(),/*\n\"'#-<>.:add;\\"))), max_size=120))
def test_text_of_hlo_characters_is_read_or_refused(text: str) -> None:
    read_or_refuse(text)
    read_or_refuse(module(text))


@pytest.mark.slow
@settings(max_examples=200)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    source = Source("bytes.hlo", b" " + data)
    sniff(source)
    read_or_refuse(source.read_text())
