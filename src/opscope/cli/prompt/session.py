"""One conversation about one program: state, and a method for each command.

A method's docstring is its help: first the form, then what it does. Commands print text; drawings go through `draw`, which the
host gives (a file each, or one live page).
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opscope.cli.prompt.names import Names
from opscope.cli.table import table
from opscope.errors import OpscopeError
from opscope.program import Graph, Node, Program
from opscope.render.draw.check_options import checked_graph
from opscope.view_options import ViewOptions

if TYPE_CHECKING:
    from opscope.recording.history import Step

DEFAULT_WIDTH = 2
DEFAULT_PATHS = 100
EVERYTHING = 9
"""Deeper than calls are nested in practice; a picture that would grow too big says what stays closed."""
_FIELDS = ("name", "op_name", "op_type")

Draw = Callable[[Program, ViewOptions, str], str]
"""Makes a picture and returns what to tell the person: a path, or that the page was updated."""


class Session:
    """Runs command lines. Nothing that a person types ends it but `quit`."""

    def __init__(
        self,
        program: Program,
        draw: Draw,
        say: Callable[[str], None],
        open_viewer: Callable[[], str],
        history: Callable[[str, str], Iterable[Step]] | None = None,
        folder: Path | None = None,
        most_listed: int | None = None,
    ) -> None:
        self.program = program
        self.names = Names(program)
        self.draw = draw
        self.say = say
        self.open_viewer = open_viewer
        self.history = history
        """What passes did to a node (its graph and id), where the program is one of a recording."""
        self.folder = folder
        """Where extracts go: the current folder if nothing else was asked for."""
        self.most_listed = most_listed
        """How many lines of a list a person reads; a script gets all."""
        self.last: ViewOptions | None = None
        self.shows = {"backend_config": False, "metadata": False, "show_fusion_subcomputations": True}
        self.running = True
        self.commands = [*(name.removeprefix("do_") for name in dir(self) if name.startswith("do_")), *self.shows]

    def run(self, line: str) -> None:
        """Do what a line says. Mistakes are told, not raised."""
        try:
            self._run(line.strip())
        except OpscopeError as error:
            self.say(f"{error}")

    def _run(self, line: str) -> None:
        if not line:
            self.say("Type an instruction or computation to draw it, `help` for the commands, `quit` to leave.")
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
        """<instruction> [width] [/ boundary…]  its neighbourhood, `width` steps far (2), not beyond the boundary instructions
        <computation>  all of it"""
        graph = self.names.graph(words[0])
        if graph is not None and len(words) == 1:
            self._draw(ViewOptions(graph=graph.name, names=True), graph.name)
            return
        if self.names.find(words[0]) is None:
            close = self.names.closest(words[0], self.commands)
            raise OpscopeError(f"{words[0]!r} is no command, instruction or computation{close or '; `help` lists the commands'}")
        home, node = self.names.node(words[0])
        rest = words[1:]
        boundary: list[str] = []
        if "/" in rest:
            at = rest.index("/")
            rest, boundary = rest[:at], rest[at + 1 :]
        width = _number(rest[0], "width") if rest else DEFAULT_WIDTH
        if len(rest) > 1:
            raise OpscopeError(f"{rest[1]!r} is too much; the form is: <instruction> [width] [/ boundary…]")
        stops = []
        for name in boundary:
            where, stop = self.names.node(name)
            if where.name != home.name:
                raise OpscopeError(f"boundary {name!r} stands in {where.name}, not in {home.name}")
            stops.append(stop.id)
        self._draw(self._part(graph=home.name, around=(node.id,), hops=width, stop_at=tuple(stops)), node.id)

    def do_allpaths(self, words: list[str]) -> None:
        """allpaths A B [limit]  what lies between two instructions, in either order (at most `limit` nodes, 100)"""
        if len(words) not in (2, 3):
            raise OpscopeError("the form is: allpaths A B [limit]")
        (home, first), (other, second) = self.names.node(words[0]), self.names.node(words[1])
        if home.name != other.name:
            raise OpscopeError(f"{first.id} stands in {home.name} and {second.id} in {other.name}; there is no path between them")
        limit = _number(words[2], "limit") if len(words) == 3 else DEFAULT_PATHS
        if not (_leads(home, first.id, second.id) or _leads(home, second.id, first.id)):
            raise OpscopeError(f"no path leads between {first.id} and {second.id}")
        self._draw(self._part(graph=home.name, paths=(first.id, second.id), limit=limit), f"{first.id} to {second.id}")

    def _part(self, **part: Any) -> ViewOptions:
        """A part of a graph, as the prompt draws it: with names to type next, and with what its fusions and loops contain."""
        return ViewOptions(**part, names=True, depth=EVERYTHING if self.shows["show_fusion_subcomputations"] else None)

    def _draw(self, options: ViewOptions, title: str) -> None:
        checked_graph(options, self.program)
        self.last = options
        self.say(self.draw(self.program, options, title))

    def do_open(self, words: list[str]) -> None:
        """open  the whole program in the viewer"""
        self.say(self.open_viewer())

    def do_save(self, words: list[str]) -> None:
        """save FILE  the last drawing as .svg .png .pdf .html .dot, or the program as .json .hlo"""
        from opscope.render import write

        if len(words) != 1:
            raise OpscopeError("the form is: save FILE")
        path = Path(words[0])
        drawing = self.last if path.suffix not in (".json", ".hlo") else None
        write([self.program], path, drawing or ViewOptions())
        self.say(f"wrote {path}")

    # Text

    def do_list(self, words: list[str]) -> None:
        """list computations  the program's graphs with their sizes
        list [name|op_name|op_type] PATTERN  instructions whose name (or JAX name, or operation) contains PATTERN"""
        if words == ["computations"]:
            rows = [("computation", "instructions", "called")]
            for graph in self._graphs():
                called = "entry" if graph.name == self.program.entry else f"{len(self.program.callers.get(graph.name, ()))}×"
                rows.append((graph.name, str(len(graph)), called))
            self.say(table(rows, "lrr"))
            return
        field, pattern = ("name", words[0]) if len(words) == 1 else (words[0], words[1]) if len(words) == 2 else ("", "")
        if field not in _FIELDS:
            raise OpscopeError("the form is: list computations, or list [name|op_name|op_type] PATTERN")
        needle = pattern.lower()
        found = ((graph, node) for graph, node in self._nodes() if needle in _field(node, field).lower())
        self._list(found, f"contains {pattern!r}")

    def search(self, pattern: str) -> None:
        """/REGEX  instructions whose name, operation, type or JAX name match"""
        try:
            matches = re.compile(pattern, re.IGNORECASE).search
        except re.error as error:
            raise OpscopeError(f"not a regular expression: {error}") from None
        found = (
            (graph, node)
            for graph, node in self._nodes()
            if matches(node.id) or matches(node.op) or matches(node.type_text) or matches(_jax_name(node))
        )
        self._list(found, f"matches /{pattern}/")

    def _graphs(self) -> list[Graph]:
        """The entry first, as everywhere at the prompt."""
        return [self.program.main, *(graph for graph in self.program if graph.name != self.program.entry)]

    def _nodes(self) -> Iterator[tuple[Graph, Node]]:
        for graph in self._graphs():
            for node in graph:
                yield graph, node

    def _list(self, found: Iterator[tuple[Graph, Node]], what: str) -> None:
        count = 0
        for count, (graph, node) in enumerate(found, 1):
            if self.most_listed is None or count <= self.most_listed:
                name = _jax_name(node)
                self.say(f"{node.id}: {node.type_text} = {node.op}  in {graph.name}" + (f"  {name}" if name else ""))
        if not count:
            self.say(f"nothing {what}")
        elif self.most_listed is not None and count > self.most_listed:
            self.say(f"… and {count - self.most_listed:,} more; give a narrower pattern")

    def do_info(self, words: list[str]) -> None:
        """info NAME  everything known of an instruction or a computation"""
        if len(words) != 1:
            raise OpscopeError("the form is: info NAME")
        graph = self.names.graph(words[0])
        rows = self._graph_facts(graph) if graph is not None else self._node_facts(*self.names.node(words[0]))
        self.say(table([row for row in rows if row[1]]))

    def _graph_facts(self, graph: Graph) -> list[tuple[str, str]]:
        called = [name for node in graph for name in node.calls]
        return [
            ("computation", graph.name),
            ("instructions", str(len(graph))),
            ("parameters", ", ".join(f"{node.id}: {node.type_text}" for node in graph.parameters)),
            ("root", ", ".join(name for name, _ in graph.outputs)),
            ("calls", ", ".join(dict.fromkeys(called))),
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
        """stacktrace NAME  where in the user's program an instruction comes from"""
        if len(words) != 1:
            raise OpscopeError("the form is: stacktrace NAME")
        _, node = self.names.node(words[0])
        name = _jax_name(node)
        if name:
            self.say(f"{node.id} is {name}")
        if not node.source:
            self.say("no source location was kept for it")
        for frame in node.source:
            self.say(f"  {frame.file}:{frame.line}" + (f" in {frame.function}" if frame.function else ""))

    def do_history(self, words: list[str]) -> None:
        """history NAME  which passes made and changed an instruction, and what it became (for a pass of a recording or a dump folder)"""
        if len(words) != 1:
            raise OpscopeError("the form is: history NAME")
        if self.history is None:
            raise OpscopeError("this program has no passes: start with a recording or a dump folder, as in `opscope repl dump_folder@12`")
        graph, node = self.names.node(words[0])
        rows = [(str(step.snapshot.index), step.snapshot.title, str(step)) for step in self.history(graph.name, node.id)]
        self.say(table([("#", "pass", "what it did"), *rows], "rll") if rows else f"no pass did anything to {node.id}")

    def do_extract(self, words: list[str]) -> None:
        """extract NAME [height]  the instruction with `height` levels of operands (all) as an HLO module of its own"""
        from opscope.render.writers.hlo import extract

        if len(words) not in (1, 2):
            raise OpscopeError("the form is: extract NAME [height]")
        graph, node = self.names.node(words[0])
        height = _number(words[1], "height") if len(words) == 2 else None
        text = extract(self.program, graph, node.id, height, metadata=self.shows["metadata"])
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
        path = _free_path(self.folder or Path(), f"{re.sub(r'[^A-Za-z0-9_.-]', '_', node.id)}-extracted", ".hlo")
        path.write_text(text, "utf-8")
        self.say(f"wrote {path} ({text.count(' = '):,} instructions)")

    def do_stats(self, words: list[str]) -> None:
        """stats  how many instructions of each kind"""
        counts = Counter(node.op for _, node in self._nodes())
        self.say(table([("operation", "count"), *((op, f"{n:,}") for op, n in counts.most_common(40))], "lr"))

    def do_diff(self, words: list[str]) -> None:
        """diff OTHER  what differs from another file"""
        from opscope.cli.diff import MOST_LINES, diff_text
        from opscope.loading import load_all, only_program
        from opscope.recording.diff import diff

        if len(words) != 1:
            raise OpscopeError("the form is: diff OTHER")
        self.say(diff_text(diff(self.program, only_program(words[0], load_all(words[0]))), MOST_LINES))

    def switch(self, name: str, words: list[str]) -> None:
        """backend_config [on|off]  show it in `info`
        metadata [on|off]  keep it in `extract`
        show_fusion_subcomputations [on|off]  draw what fusions contain"""
        if words and words[0] not in ("on", "off"):
            raise OpscopeError(f"the form is: {name} [on|off]")
        self.shows[name] = words[0] == "on" if words else not self.shows[name]
        self.say(f"{name} is {'on' if self.shows[name] else 'off'}")

    def do_help(self, words: list[str]) -> None:
        """help  this list"""
        drawing = [self.neighbourhood, self.do_allpaths, self.do_open, self.do_save]
        telling = [self.do_list, self.search, self.do_info, self.do_stacktrace, self.do_history]
        telling += [self.do_extract, self.do_diff, self.do_stats]
        rows = []
        for method in [*drawing, *telling, self.switch, self.do_help, self.do_quit]:
            for line in (method.__doc__ or "").splitlines():
                form, _, what = line.strip().partition("  ")
                rows.append((form, what.strip()))
        self.say(table(rows))

    def do_quit(self, words: list[str]) -> None:
        """quit  leave (also: exit, Ctrl+D)"""
        self.running = False

    do_exit = do_quit

    def complete(self, line: str, text: str) -> list[str]:
        """What Tab offers: commands at the start of a line, names everywhere, and the words that a command takes."""
        first = line.lstrip().startswith(text) and not line.strip()[len(text) :]
        words = self.commands if first else []
        if line.startswith("list "):
            words = ["computations", *_FIELDS]
        if not first and line.split(" ")[0] in self.shows:
            words = ["on", "off"]
        found = [word for word in words if word.startswith(text)]
        return found + self.names.starting_with(text) if text or not found else found


def _leads(graph: Graph, start: str, end: str) -> bool:
    """Does the data flow from one node to another?"""
    reached = {start}
    waiting = [start]
    while waiting and end not in reached:
        users = [user for user in graph.users.get(waiting.pop(), ()) if user not in reached]
        reached.update(users)
        waiting.extend(users)
    return end in reached


def _field(node: Node, field: str) -> str:
    """What `list` looks at. Frameworks that write no op_type are searched by the operation itself."""
    if field == "name":
        return node.id
    return _jax_name(node) if field == "op_name" else f"{node.attrs.get('metadata.op_type', '')} {node.op}"


def _jax_name(node: Node) -> str:
    return str(node.attrs.get("metadata.op_name") or node.attrs.get("op_name") or "")


def _number(text: str, what: str) -> int:
    if not text.isdecimal():
        raise OpscopeError(f"{what} is a number of steps, not {text!r}")
    return int(text)


def _free_path(folder: Path, stem: str, suffix: str) -> Path:
    """A file that does not exist yet."""
    path, n = folder / (stem + suffix), 1
    while path.exists():
        n += 1
        path = folder / f"{stem}-{n}{suffix}"
    return path
