"""Everything around computations: module headers, stack-frame tables, signatures, and several modules in one file."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Mapping
from functools import cached_property

from opscope.errors import SourceError
from opscope.gc_pause import without_collecting
from opscope.plugin import Progress
from opscope.program import Program, ProgramBuilder
from opscope.readers.hlo.attributes import Attribute, read_attributes
from opscope.readers.hlo.body import Body, Module
from opscope.readers.hlo.cut_text import CutText
from opscope.readers.hlo.details import JAX_MODULE, JITTED
from opscope.readers.hlo.frames import TABLES
from opscope.readers.hlo.instruction import at_statement
from opscope.readers.hlo.lexing import NAME, expected, fail, group_end, skip, unquote, without_comments
from opscope.readers.hlo.printed import PrintedLines
from opscope.readers.hlo.shapes import shape_end

_ENTRY = re.compile(r"ENTRY(?![\w.-])")
_TYPE = re.compile(r"\(|[a-z][a-z0-9]*\s*\[")
_SPECIAL = re.compile(rf"(?:HloModule|{'|'.join(TABLES)})(?![\w.-])")
_SEPARATOR = re.compile(r"^[ \t]*// ?-----[ \t]*$", re.MULTILINE)
_OPENING = re.compile(r"(ENTRY )?+%?+([A-Za-z_][A-Za-z0-9_.-]*+) (\{|\([^\n]*+)\n")
_NEXT = ("\n\n%", "\n\nENTRY ")
"""What follows a computation as XLA prints it: the next one."""
_PROGRESS_STEP = 1 << 20
_DEEPEST = 200
"""Nesting limit for computations inside attributes: XLA prints one level, people write one or two."""


def parse_hlo(text: str, progress: Progress | None = None) -> list[Program]:
    """The modules of an HLO text. Malformed text raises SourceError with line and column, and no other exception."""
    return [program for program, _ in parse_with_lines(text, progress)]


def parse_with_lines(text: str | CutText, progress: Progress | None = None) -> list[tuple[Program, Mapping[str, PrintedLines]]]:
    """The modules, each with the lines of its very large computations. Errors in a text that is cut have no meaning but that the whole
    text has to be read."""
    if isinstance(text, str) and "\r" in text:
        text = text.replace("\r\n", "\n")
    with without_collecting():
        reader = _Reader(text, progress)
        programs = reader.read()
        if reader.apart and not reader.apart.is_taken:
            raise SourceError("has its instructions at another place")
        return list(zip(programs, reader.printed, strict=True))


class _Reader:
    """Reads a text from start to end; its state is the current module."""

    def __init__(self, text: str | CutText, progress: Progress | None) -> None:
        self.apart = None if isinstance(text, str) else text
        self.text = text = text if isinstance(text, str) else text.rest
        self.progress = progress
        self.separators = deque(separator.start() for separator in _SEPARATOR.finditer(text)) if "-----" in text else deque[int]()
        self.programs: list[Program] = []
        self.printed: list[Mapping[str, PrintedLines]] = []
        """Of each program, the lines of its very large computations."""
        self.names: Counter[str] = Counter()
        self.begin("", 0)

    @cached_property
    def some_root(self) -> str:
        """The function that JAX compiled, taken from the first op_name that has one."""
        match = self.apart.search(JITTED) if self.apart else JITTED.search(self.text)
        return match[1] if match else ""

    def begin(self, name: str, pos: int) -> None:
        """Start a module."""
        self.name = name
        self.start = pos
        self.attrs: dict[str, str] = {}
        self.module = Module(self.text, name if JAX_MODULE.match(name) else self.some_root, self.apart)
        self.bodies: list[Body] = []
        self.entry: Body | None = None

    def read(self) -> list[Program]:
        text, pos, reported = self.text, 0, 0
        while True:
            pos = skip(text, pos)
            if self.separators and self.separators[0] < pos:
                while self.separators and self.separators[0] < pos:
                    self.separators.popleft()
                self.finish()
            if pos >= len(text):
                break
            special = _SPECIAL.match(text, pos)
            if special is None:
                pos = self.read_computation(pos)
            elif special[0] == "HloModule":
                self.finish()
                pos = self.read_header(pos, special.end())
            else:
                pos = self.module.context.frames.read(text, special.end(), special[0])
            if self.progress and pos - reported > _PROGRESS_STEP:
                reported = pos
                self.progress(pos / len(text))
        self.finish()
        if not self.programs:
            raise SourceError("contains no HLO; expected HloModule, a computation or an instruction", line=1)
        return self.programs

    def read_header(self, start: int, pos: int) -> int:
        """`HloModule name, key=value, …`"""
        pos = skip(self.text, pos)
        name = NAME.match(self.text, pos)
        if not name:
            raise expected(self.text, pos, "the module's name")
        self.begin(name[1] or name[2], start)
        pos = name.end() + self.text.startswith(":", name.end())
        attributes, pos = read_attributes(self.text, pos)
        self.attrs = _texts(self.text, attributes)
        return pos

    def read_computation(self, pos: int) -> int:
        """`[ENTRY] [%]name [(parameters) -> type] { … }[, key=value]*`, or instructions without a computation around them."""
        text, start = self.text, pos
        usual = _OPENING.match(text, pos)
        if usual and _is_signature(usual[3]):
            entry, name, signature = bool(usual[1]), usual[2], usual[3][:-1].rstrip()
            pos = usual.end()
        elif not self.name and not self.bodies and (at_statement(text, pos) or _TYPE.match(text, pos)):
            end = self.separators[0] if self.separators else len(text)
            return self.read_bodies(Body(self.module, "fragment", pos, is_closed=False, is_fragment=True), pos, end)
        else:
            entry, name, signature, pos = self.read_opening(pos)
        body = Body(self.module, name, start)
        if entry and self.entry:
            raise fail(text, start, f"a second ENTRY, after {self.entry.name!r}; expected HloModule or `// -----` between modules")
        if entry:
            self.entry = body
        if signature:
            body.attrs["signature"] = signature
        pos = self.read_bodies(body, pos, len(text))
        if text.startswith(_NEXT, pos):
            return pos
        attributes, pos = read_attributes(text, pos)
        if attributes:
            body.attrs.update(_texts(text, attributes))
        return pos

    def read_opening(self, pos: int) -> tuple[bool, str, str, int]:
        """A computation's first line, however it is written: (is it the entry, name, signature, the place after the brace)."""
        text = self.text
        entry = _ENTRY.match(text, pos)
        if entry:
            pos = skip(text, entry.end())
        name = NAME.match(text, pos)
        if not name:
            raise expected(text, pos, "HloModule, ENTRY or a computation's name")
        start = pos = skip(text, name.end())
        signature = ""
        if text.startswith("(", pos):
            pos = skip(text, group_end(text, pos))
            if not text.startswith("->", pos):
                raise expected(text, pos, "'->' and the result type")
            pos = shape_end(text, skip(text, pos + 2), in_signature=True)
            signature = text[start:pos]
            pos = skip(text, pos)
        if not text.startswith("{", pos):
            raise expected(text, pos, f"'{{' to open computation {name[1] or name[2]!r}")
        return bool(entry), name[1] or name[2], signature, pos + 1

    def read_bodies(self, body: Body, pos: int, end: int) -> int:
        """A computation, preceded (in XLA's order) by those written inside its attributes."""
        after = body.read(pos, end)
        if not body.inlined:
            self.bodies.append(body)
            return after
        read = [body]
        waiting = [(inner, 1) for inner in body.inlined]
        while waiting:
            (name, first, last), depth = waiting.pop()
            if depth > _DEEPEST:
                raise fail(self.text, first, f"computations inside attributes are nested more than {_DEEPEST} levels deep")
            inner = Body(self.module, name, first, is_closed=False)
            inner.read(first, last)
            read.append(inner)
            waiting.extend((deeper, depth + 1) for deeper in inner.inlined)
        self.bodies.extend(reversed(read))
        return after

    def finish(self) -> None:
        """Build the Program from everything read since the last one, and reset."""
        if not self.bodies:
            if self.name:
                raise fail(self.text, self.start, f"module {self.name!r} has no computation; expected ENTRY name {{ … }}")
            return
        entry = (self.entry or self.bodies[-1]).name
        builder = ProgramBuilder(self.fresh_name(self.name or (entry if self.bodies[-1].is_fragment else f"module_{entry}")), entry)
        builder.attrs.update(self.attrs)
        names = {body.name for body in self.bodies}
        for body in self.bodies:
            if body.name in builder:
                raise fail(self.text, body.start, f"duplicate computation {body.name!r}; each computation needs its own name")
            body.finish(builder.graph(body.name), names, drop_unknown=self.is_excerpt)
        program = builder.build()
        self.programs.append(program)
        self.printed.append({body.name: lines for body in self.bodies if (lines := body.printed(program[body.name]))})
        self.begin("", 0)

    def fresh_name(self, name: str) -> str:
        """A unique name among the modules of the file: the second `m` becomes `m.2`."""
        self.names[name] += 1
        return name if self.names[name] == 1 else f"{name}.{self.names[name]}"

    @property
    def is_excerpt(self) -> bool:
        """A single computation outside any module. What it calls may be elsewhere; such calls remain attributes only."""
        return not self.name and len({body.name.partition(":")[0] for body in self.bodies}) == 1


def _is_signature(text: str) -> bool:
    """Whether this is all there is between a computation's name and its first line: `{`, or `(x: f32[]) -> f32[] {`."""
    return text == "{" or (text.endswith(" {") and ") -> " in text and " = " not in text and "//" not in text)


def _texts(text: str, attributes: list[Attribute]) -> dict[str, str]:
    return {key: unquote(without_comments(text[start:end])) for key, start, end in attributes}
