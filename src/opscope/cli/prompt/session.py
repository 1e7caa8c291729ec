"""The prompt's state, and a method for each command.

A method's docstring is its help: first the usage, then what it does. Commands print text. Drawings go through `draw`, which the caller
provides: a file each, or one live page.
"""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opscope.cli.pass_history import step_lines
from opscope.cli.prompt.names import Names
from opscope.cli.table import table
from opscope.errors import OpscopeError
from opscope.program import Graph, Node, Program
from opscope.readers.hlo.attributes import names_computations
from opscope.readers.hlo.details import HloDetails
from opscope.render.draw.check_options import checked_graph
from opscope.view_options import ViewOptions
from opscope.whole_file import whole_file

if TYPE_CHECKING:
    from opscope.recording.history import Step

DEFAULT_WIDTH = 2
DEFAULT_PATHS = 100
EVERYTHING = 9
"""Deeper than groups and calls are nested in practice; a picture that would be too large says what it leaves collapsed."""
_FIELDS = ("name", "op_name", "op_type")
_BACKEND_CONFIG = "backend_config"
_NOT_WRITTEN = re.compile(
    r"(metadata|frontend_attributes|opscope)\..*|origin|original_value|parameter_number|value|"
    r"control-predecessors|custom_call_target|direction"
)
"""Attributes that say where an instruction comes from rather than what it computes, or that a drawing shows in another way."""

Draw = Callable[[Program, ViewOptions, str], str]
"""Draws, and returns the message to print: a path, or that the page shows the drawing."""

_LONGEST_LINE = 10_000


class Session:
    """Runs command lines. Only `quit` ends it; errors do not."""

    def __init__(
        self,
        program: Program,
        draw: Draw,
        say: Callable[..., None],
        complain: Callable[[str], None],
        open_viewer: Callable[[], str],
        history: Callable[[str | None, str], Iterable[Step]] | None = None,
        directory: Path | None = None,
        most_listed: int | None = None,
    ) -> None:
        self.program = program
        self.names = Names(program)
        self.draw = draw
        self.say = say
        """Prints lines."""
        self.complain = complain
        """Prints an error."""
        self.open_viewer = open_viewer
        self.history = history
        """The passes that changed a node, if the program is part of a recording: by graph and id, or only by an id of another pass."""
        self.directory = directory
        """Where extracts go; by default the current directory."""
        self.most_listed = most_listed
        """The longest list to print in a terminal; a script gets every line."""
        self.last: ViewOptions | None = None
        self.shows = {
            _BACKEND_CONFIG: False,
            "metadata": False,
            "show_fusion_subcomputations": True,
            "attributes": True,
            "layouts": False,
        }
        self.running = True
        self.failed = False
        """Whether a command has failed: a script reports that when it ends."""
        self.commands = [*(name.removeprefix("do_") for name in dir(self) if name.startswith("do_")), *self.shows]

    def run(self, line: str) -> None:
        """Run one line. Errors that the user can fix are printed, not raised."""
        try:
            self._run(line.strip())
        except OpscopeError as error:
            self.failed = True
            self.complain(str(error))

    def _run(self, line: str) -> None:
        if not line:
            self.say("Type an instruction or computation to draw it, `help` to list the commands, `quit` to leave.")
        elif len(line) > _LONGEST_LINE:
            raise OpscopeError(f"a line has at most {_LONGEST_LINE:,} characters, this one {len(line):,}; is it a script?")
        elif line.startswith("/"):
            self.search(line[1:])
        else:
            try:
                words = shlex.split(line, comments=False)
            except ValueError:
                words = line.split()
            word = words[0]
            method = getattr(self, f"do_{word}", None)
            if method is not None and self.names.graph(word) is None:
                method(words[1:])
            elif word in self.shows:
                self.switch(word, words[1:])
            else:
                self.neighbourhood(words)

    # Drawing

    def neighbourhood(self, words: list[str]) -> None:
        """<instruction> [width] [/ boundary…]  draw its neighbourhood, `width` hops wide (2), up to the boundary instructions
        <computation>  draw all of it"""
        graph = self.names.graph(words[0])
        if graph is not None and len(words) == 1:
            self._draw(self._options(graph=graph.name, all_nodes=True, depth=EVERYTHING, calls=False), graph.name)
            return
        if self.names.find(words[0]) is None:
            close = self.names.closest(words[0], self.commands)
            raise OpscopeError(f"{words[0]!r} is not a command, instruction or computation{close or '; `help` lists the commands'}")
        home, node = self.names.node(words[0])
        rest = words[1:]
        boundary: list[str] = []
        if "/" in rest:
            at = rest.index("/")
            rest, boundary = rest[:at], rest[at + 1 :]
        width = _number(rest[0], "width") if rest else DEFAULT_WIDTH
        if len(rest) > 1:
            raise OpscopeError(f"unexpected {rest[1]!r}; usage: <instruction> [width] [/ boundary…]")
        stops = []
        for name in boundary:
            where, stop = self.names.node(name)
            if where.name != home.name:
                raise OpscopeError(f"boundary {name!r} is in {where.name}; it must be in {home.name}, like {node.id}")
            stops.append(stop.id)
        self._draw(self._part(graph=home.name, around=(node.id,), hops=width, stop_at=tuple(stops)), node.id)

    def do_allpaths(self, words: list[str]) -> None:
        """allpaths A B [limit]  draw all paths between two instructions, in either order (at most `limit` nodes, 100)"""
        if len(words) not in (2, 3):
            raise OpscopeError("usage: allpaths A B [limit]")
        (home, first), (other, second) = self.names.node(words[0]), self.names.node(words[1])
        if home.name != other.name:
            raise OpscopeError(
                f"no path: {first.id} is in {home.name} and {second.id} in {other.name}; name two instructions of one computation"
            )
        limit = _number(words[2], "limit") if len(words) == 3 else DEFAULT_PATHS
        if not (_reaches(home, first.id, second.id) or _reaches(home, second.id, first.id)):
            raise OpscopeError(f"no path between {first.id} and {second.id}, in either direction")
        self._draw(self._part(graph=home.name, paths=(first.id, second.id), limit=limit), f"{first.id} to {second.id}")

    def _part(self, **part: Any) -> ViewOptions:
        """A part of a graph, as the prompt draws it: titled by the names to type next, with fusions and loops expanded."""
        depth = EVERYTHING if self.shows["show_fusion_subcomputations"] else None
        return self._options(**part, depth=depth)

    def _options(self, **options: Any) -> ViewOptions:
        """What every drawing has: titles that can be typed next, and on boxes what the switches ask for."""
        label = tuple(key for key in self._attributes if self.shows[key if key == _BACKEND_CONFIG else "attributes"])
        return ViewOptions(**options, names=True, label=label, layouts=self.shows["layouts"])

    @cached_property
    def _attributes(self) -> list[str]:
        """The attributes that say what HLO instructions compute, such as the dimensions of a reduction."""
        shared = {id(node.details): node.details for _, node in self._nodes() if isinstance(node.details, HloDetails)}
        keys = dict.fromkeys(key for details in shared.values() for key in details.attrs)
        return [key for key in keys if not names_computations(key) and not _NOT_WRITTEN.fullmatch(key)]

    def _draw(self, options: ViewOptions, title: str) -> None:
        checked_graph(options, self.program)
        self.last = options
        self.say(self.draw(self.program, options, title))

    def do_open(self, words: list[str]) -> None:
        """open  open the whole program in the viewer"""
        self.say(self.open_viewer())

    def do_save(self, words: list[str]) -> None:
        """save FILE [scale]  save the last drawing as .svg .png .pdf .html .dot .drawio (.png at a scale), or the program as .json .hlo"""
        from opscope.render import write

        if len(words) not in (1, 2):
            raise OpscopeError("usage: save FILE [scale]")
        path = Path(words[0])
        drawing = self.last if path.suffix not in (".json", ".hlo") else None
        options = drawing or ViewOptions()
        write([self.program], path, replace(options, scale=_scale(words[1])) if len(words) == 2 else options)
        self.say(f"wrote {path}")

    # Text

    def do_list(self, words: list[str]) -> None:
        """list computations  list the computations with their sizes
        list [name|op_name|op_type] PATTERN  list the instructions whose name (or JAX name, or operation) contains PATTERN"""
        if words == ["computations"]:
            rows = [("computation", "instructions", "called")]
            for graph in self._graphs():
                called = "entry" if graph.name == self.program.entry else f"{len(self.program.callers.get(graph.name, ()))}×"
                rows.append((graph.name, str(len(graph)), called))
            self.say(*table(rows, "lrr"))
            return
        field, pattern = ("name", words[0]) if len(words) == 1 else (words[0], words[1]) if len(words) == 2 else ("", "")
        if field not in _FIELDS:
            raise OpscopeError("usage: list computations, or list [name|op_name|op_type] PATTERN")
        needle = pattern.lower()
        matches = ((graph, node) for graph, node in self._nodes() if needle in _field(node, field).lower())
        self._list(matches, f"contains {pattern!r}")

    def search(self, pattern: str) -> None:
        """/REGEX  list the instructions whose name, operation, type or JAX name matches"""
        try:
            search = re.compile(pattern, re.IGNORECASE).search
        except re.error as error:
            raise OpscopeError(f"{pattern!r} is not a regular expression: {error}") from None
        matches = (
            (graph, node)
            for graph, node in self._nodes()
            if search(node.id) or search(node.op) or search(node.type_text) or search(_jax_name(node))
        )
        self._list(matches, f"matches /{pattern}/")

    def _graphs(self) -> list[Graph]:
        """All graphs, the entry first."""
        return [self.program.main, *(graph for graph in self.program if graph.name != self.program.entry)]

    def _nodes(self) -> Iterator[tuple[Graph, Node]]:
        for graph in self._graphs():
            for node in graph:
                yield graph, node

    def _list(self, matches: Iterator[tuple[Graph, Node]], condition: str) -> None:
        count = 0
        for count, (graph, node) in enumerate(matches, 1):
            if self.most_listed is None or count <= self.most_listed:
                name = _jax_name(node)
                self.say(f"{node.id}: {node.type_text} = {node.op}  in {graph.name}" + (f"  {name}" if name else ""))
        if not count:
            self.say(f"no instruction {condition}")
        elif self.most_listed is not None and count > self.most_listed:
            self.say(f"… and {count - self.most_listed:,} more; narrow the pattern to see them")

    def do_info(self, words: list[str]) -> None:
        """info NAME  print everything about an instruction or a computation"""
        if len(words) != 1:
            raise OpscopeError("usage: info NAME")
        graph = self.names.graph(words[0])
        rows = self._graph_facts(graph) if graph is not None else self._node_facts(*self.names.node(words[0]))
        self.say(*table([row for row in rows if row[1]]))

    def _graph_facts(self, graph: Graph) -> list[tuple[str, str]]:
        callees = [name for node in graph for name in node.calls]
        return [
            ("computation", graph.name),
            ("instructions", str(len(graph))),
            ("parameters", ", ".join(f"{node.id}: {node.type_text}" for node in graph.parameters)),
            ("root", ", ".join(name for name, _ in graph.outputs)),
            ("calls", ", ".join(dict.fromkeys(callees))),
            ("called by", ", ".join(f"{node} in {home}" for home, node in self.program.callers.get(graph.name, ()))),
            *((key, str(value)) for key, value in graph.attrs.items()),
        ]

    def _node_facts(self, graph: Graph, node: Node) -> list[tuple[str, str]]:
        hidden = {"calls"} | ({"backend_config"} if not self.shows["backend_config"] else set())
        layouts = ", ".join(t.layout for t in node.outputs if t.layout)
        return [
            ("instruction", node.id),
            ("in", graph.name),
            ("operation", node.op),
            ("type", node.type_text),
            ("layout", layouts),
            ("scope", " › ".join(node.scope)),
            ("operands", ", ".join(name if index <= 0 else f"{name}#{index}" for name, index in node.inputs)),
            ("used by", ", ".join(graph.users.get(node.id, ()))),
            ("calls", ", ".join(node.calls)),
            ("their roots", ", ".join(name for called in node.calls for name, _ in self.program[called].outputs)),
            ("after", ", ".join(node.control)),
            *((key, str(value)) for key, value in node.attrs.items() if key not in hidden),
            ("source", str(node.source[0]) if node.source else ""),
        ]

    def do_stacktrace(self, words: list[str]) -> None:
        """stacktrace NAME  print where in your program an instruction comes from"""
        if len(words) != 1:
            raise OpscopeError("usage: stacktrace NAME")
        _, node = self.names.node(words[0])
        name = _jax_name(node)
        if name:
            self.say(f"{node.id} is {name}")
        if not node.source:
            self.say("it has no source location; the compiler did not record one")
        for frame in node.source:
            self.say(f"  {frame.file}:{frame.line}" + (f" in {frame.function}" if frame.function else ""))

    def do_history(self, words: list[str]) -> None:
        """history NAME  print which passes created and changed an instruction of any pass, and what it became (in a recording or dump)"""
        if len(words) != 1:
            raise OpscopeError("usage: history NAME")
        if self.history is None:
            raise OpscopeError("this program has no passes; start from a recording or a dump directory, as in `opscope repl dump_dir@12`")
        match = self.names.find(words[0])
        graph, id = (match[0].name, match[1].id) if match else (None, words[0])
        self.say(*step_lines(self.history(graph, id), id))

    def do_extract(self, words: list[str]) -> None:
        """extract NAME [height]  write the instruction, or the computation, with `height` levels of operands (all) as an HLO module"""
        from opscope.render.writers.hlo import extract

        if len(words) not in (1, 2):
            raise OpscopeError("usage: extract NAME [height]")
        graph, node = self.names.node_or_root(words[0])
        height = _number(words[1], "height") if len(words) == 2 else None
        text = extract(self.program, graph, node.id, height, metadata=self.shows["metadata"])
        if self.directory is not None:
            self.directory.mkdir(parents=True, exist_ok=True)
        path = _free_path(self.directory or Path(), f"{re.sub(r'[^A-Za-z0-9_.-]', '_', node.id)}-extracted", ".hlo")
        with whole_file(path) as part:
            part.write_text(text, "utf-8", errors="backslashreplace")
        self.say(f"wrote {path} ({text.count(' = '):,} instructions)")

    def do_stats(self, words: list[str]) -> None:
        """stats  count the instructions of each operation"""
        counts = Counter(node.op for _, node in self._nodes())
        self.say(*table([("operation", "count"), *((op, f"{n:,}") for op, n in counts.most_common(40))], "lr"))

    def do_diff(self, words: list[str]) -> None:
        """diff OTHER  compare with another file"""
        from opscope.cli.diff import MOST_LINES, diff_lines
        from opscope.loading import load_all, only_program
        from opscope.recording.diff import diff

        if len(words) != 1:
            raise OpscopeError("usage: diff OTHER")
        self.say(*diff_lines(diff(self.program, only_program(words[0], load_all(words[0]))), MOST_LINES))

    def switch(self, name: str, words: list[str]) -> None:
        """backend_config [on|off]  include it in `info` and in drawings
        metadata [on|off]  include it in `extract`
        show_fusion_subcomputations [on|off]  expand fusions in drawings
        attributes [on|off]  write what an instruction computes (dimensions={1}) in drawings
        layouts [on|off]  write the layouts of tensors ({1,0}) in drawings"""
        if words and words[0] not in ("on", "off"):
            raise OpscopeError(f"usage: {name} [on|off]")
        self.shows[name] = words[0] == "on" if words else not self.shows[name]
        self.say(f"{name} is {'on' if self.shows[name] else 'off'}")

    def do_help(self, words: list[str]) -> None:
        """help  print this list"""
        drawing = [self.neighbourhood, self.do_allpaths, self.do_open, self.do_save]
        listing = [self.do_list, self.search, self.do_info, self.do_stacktrace, self.do_history]
        listing += [self.do_extract, self.do_diff, self.do_stats]
        rows = []
        for method in [*drawing, *listing, self.switch, self.do_help, self.do_quit]:
            for line in (method.__doc__ or "").splitlines():
                usage, _, effect = line.strip().partition("  ")
                rows.append((usage, effect.strip()))
        self.say(*table(rows))

    def do_quit(self, words: list[str]) -> None:
        """quit  leave (also: exit, Ctrl+D)"""
        self.running = False

    do_exit = do_quit

    def complete(self, line: str, text: str) -> list[str]:
        """The words that Tab offers: commands at the start of a line, a command's own arguments, and names everywhere."""
        first = line.lstrip().startswith(text) and not line.strip()[len(text) :]
        words = self.commands if first else []
        if line.startswith("list "):
            words = ["computations", *_FIELDS]
        if not first and line.split(" ")[0] in self.shows:
            words = ["on", "off"]
        matches = [word for word in words if word.startswith(text)]
        return matches + self.names.starting_with(text) if text or not matches else matches


def _reaches(graph: Graph, start: str, end: str) -> bool:
    """Whether data flows from `start` to `end`."""
    reached = {start}
    waiting = [start]
    while waiting and end not in reached:
        users = [user for user in graph.users.get(waiting.pop(), ()) if user not in reached]
        reached.update(users)
        waiting.extend(users)
    return end in reached


def _field(node: Node, field: str) -> str:
    """The text that `list` searches. Not every framework writes op_type, so the operation itself counts too."""
    if field == "name":
        return node.id
    return _jax_name(node) if field == "op_name" else f"{node.attrs.get('metadata.op_type', '')} {node.op}"


def _jax_name(node: Node) -> str:
    return str(node.attrs.get("metadata.op_name") or node.attrs.get("op_name") or "")


def _number(text: str, what: str) -> int:
    if not text.isdecimal():
        raise OpscopeError(f"{what} must be a whole number, not {text!r}")
    return int(text)


def _scale(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise OpscopeError(f"scale must be a number, such as 2 or 1.5, not {text!r}") from None


def _free_path(directory: Path, stem: str, suffix: str) -> Path:
    """A path where nothing exists yet, not even a link that leads to no file."""
    path, n = directory / (stem + suffix), 1
    while os.path.lexists(path):
        n += 1
        path = directory / f"{stem}-{n}{suffix}"
    return path
