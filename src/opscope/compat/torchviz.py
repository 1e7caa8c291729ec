"""torchviz's `make_dot`: the same arguments and meaning, without the graphviz package or the `dot` program."""

from __future__ import annotations

import re
import webbrowser
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from opscope.compat.formats import DRAWN_AT_ONCE, check_format
from opscope.compat.torchviz_reader import TorchvizReader
from opscope.errors import OpscopeError
from opscope.program import Node, Program
from opscope.readers.torch.autograd import FUNCTION_ATTRS, Options, program_of_tensors
from opscope.readers.torch.saved import is_custom
from opscope.temporary import scratch_directory
from opscope.terminal import say
from opscope.whole_file import whole_file

_ENTITY = re.compile(r"&(?=#?\w+;)")
FILLS = {"leaf": "lightblue", "saved": "orange", "output": "darkolivegreen1", "base": "darkolivegreen3"}
"""Colours by kind of node; functions keep the default grey."""

_NODE_STYLE = {
    "align": "left", "fontname": "monospace", "fontsize": "10", "height": "0.2", "ranksep": "0.1",
    "shape": "box", "style": "filled",
}  # fmt: skip


def make_dot(
    var: Any, params: Mapping[str, Any] | None = None, show_attrs: bool = False, show_saved: bool = False, max_attr_chars: int = 50
) -> Dot:
    """The autograd graph behind a tensor, or behind all tensors in a tuple, list or dict.

    `params` names leaves; `show_attrs` lists the attributes that functions save; `show_saved` draws the tensors that they save.
    """
    options = Options(
        params=params,
        show_attrs=show_attrs,
        show_saved=show_saved,
        max_attr_chars=max_attr_chars,
        merge_saved=False,
        show_cuts=False,
        torchviz_attrs=show_attrs,
    )
    program = program_of_tensors(var, options, kind=TorchvizReader)
    if program is None:
        raise OpscopeError(f"make_dot takes a tensor, or a tuple, list or dict of tensors, not a {type(var).__name__}")
    return Dot(program)


def make_dot_from_trace(trace: Any) -> Dot:
    """Exists only so that it can be imported; torchviz removed it too."""
    raise NotImplementedError("torchviz removed make_dot_from_trace; use opscope.capture(module, *inputs) for the forward graph")


class Dot:
    """A drawn graph, with the part of `graphviz.Digraph`'s interface that torchviz's users rely on."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.format = "pdf"
        self.filename = "Digraph.gv"
        self.directory = ""
        self._body = _body(program)
        self.graph_attr: dict[str, str] = {"size": _size_text(len(self._body))}
        self.node_attr: dict[str, str] = dict(_NODE_STYLE)
        self.edge_attr: dict[str, str] = {}

    @property
    def source(self) -> str:
        """The graph in the DOT language."""
        lines = ["digraph {"]
        for word, attributes in (("graph", self.graph_attr), ("node", self.node_attr), ("edge", self.edge_attr)):
            if attributes:
                lines.append(f"\t{word} {_attributes(attributes)}")
        return "\n".join([*lines, *self._body, "}", ""])

    def __str__(self) -> str:
        return self.source

    def attr(self, kw: str | None = None, **attributes: str) -> None:
        """Set attributes of the graph, or of all nodes or edges, in the DOT text."""
        target = {None: self.graph_attr, "graph": self.graph_attr, "node": self.node_attr, "edge": self.edge_attr}.get(kw)
        if target is None:
            raise OpscopeError(f"attr takes 'graph', 'node' or 'edge', not {kw!r}")
        target.update(attributes)

    def save(self, filename: str | None = None, directory: str | None = None) -> str:
        """Write the DOT text and return its path."""
        path = self._path(filename, directory)
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as part:
            part.write_text(self.source, encoding="utf-8")
        return str(path)

    def render(
        self,
        filename: str | None = None,
        directory: str | None = None,
        view: bool = False,
        cleanup: bool = False,
        format: str | None = None,
        renderer: str | None = None,
        formatter: str | None = None,
        neato_no_op: bool | int | None = None,
        quiet: bool = False,
        quiet_view: bool = False,
        *,
        outfile: str | Path | None = None,
        engine: str | None = None,
        raise_if_result_exists: bool = False,
        overwrite_source: bool = False,
    ) -> str:
        """Write the DOT text and the picture, as `filename.format` or as `outfile`, and return the picture's path.

        `cleanup` leaves out the text. Arguments for the `dot` program (renderer, formatter, quiet …) are ignored."""
        if engine not in (None, "dot"):
            raise OpscopeError(f"engine={engine!r} is not supported: opscope has one layered layout, like dot; leave it out")
        if outfile is not None:
            picture = Path(directory or "") / outfile
            source = picture.with_suffix(".gv")
        else:
            source = self._path(filename, directory)
            picture = source.with_name(f"{source.name}.{format or self.format}")
        if raise_if_result_exists and picture.exists():
            raise OpscopeError(f"{picture} already exists; choose another name, or leave out raise_if_result_exists")
        picture.parent.mkdir(parents=True, exist_ok=True)
        if not cleanup and source != picture:
            with whole_file(source) as part:
                part.write_text(self.source, encoding="utf-8")
        self._draw(picture)
        if view or quiet_view:
            _open(picture.resolve(), quiet_view)
        return str(picture)

    def _draw(self, picture: Path) -> None:
        from opscope.render import save

        kind = check_format(picture)
        options: dict[str, Any] = {}
        if kind in DRAWN_AT_ONCE:
            options["wrap"] = False  # like dot, which draws one connected picture
        if kind in (*DRAWN_AT_ONCE, "html") and self.graph_attr.get("rankdir") in ("LR", "RL"):
            options["rankdir"] = "LR"
        if kind != "json":
            options["label"] = sorted({name for node in self.program.main for name in _attributes_of(node)})
        save(self.program, picture, overwrite=True, **options)

    def view(
        self,
        filename: str | None = None,
        directory: str | None = None,
        cleanup: bool = False,
        quiet: bool = False,
        quiet_view: bool = False,
    ) -> str:
        """Draw the picture and open it. Without a browser, one line says where it is; `quiet_view` leaves that out."""
        return self.render(filename, directory, view=True, cleanup=cleanup, quiet_view=quiet_view)

    def pipe(self, format: str | None = None, *, encoding: str | None = None, **ignored: Any) -> Any:
        """The picture itself, as bytes, or as text with an `encoding`."""
        with scratch_directory("opscope-picture-") as directory:
            picture = directory / f"picture.{format or self.format}"
            self._draw(picture)
            content = picture.read_bytes()
        return content.decode(encoding) if encoding else content

    def _repr_svg_(self) -> str:
        return str(self.pipe("svg", encoding="utf-8"))

    @property
    def filepath(self) -> str:
        """The path of the DOT text."""
        return str(Path(self.directory) / self.filename)

    def __iter__(self) -> Iterator[str]:
        yield from self.source.splitlines(keepends=True)

    def _path(self, filename: str | None, directory: str | None) -> Path:
        self.filename = filename or self.filename
        self.directory = directory if directory is not None else self.directory
        return Path(self.directory) / self.filename


def _size_text(rows: int) -> str:
    """torchviz's page size: 0.15 inches per node or edge, at least 12 inches."""
    inches = max(rows * 0.15, 12)
    return f"{inches:g},{inches:g}"


def _open(picture: Path, quiet: bool) -> None:
    if not webbrowser.open(picture.as_uri()) and not quiet:
        say(f"no browser to open it with (the variable BROWSER can name one); the picture is {picture}", err=True)


def _body(program: Program) -> list[str]:
    lines: list[str] = []
    for node in program.main:
        name = _quoted(node.id)
        attributes = {"label": _label(node)}
        fill = FILLS.get(node.attrs["kind"])
        if fill:
            attributes["fillcolor"] = fill
        lines.append(f"\t{name} {_attributes(attributes)}")
        lines += [f"\t{_quoted(source)} -> {name}" for source, _ in node.inputs]
        for function, _, what in (use.rpartition(".") for use in node.attrs.get("saved_as", ())):
            ends = (name, _quoted(function)) if is_custom(what) else (_quoted(function), name)
            lines.append(f"\t{ends[0]} -> {ends[1]} [dir=none]")
        is_function = node.attrs["kind"] == "function"
        bases = [source for source in node.control if not is_function and program.main[source].attrs["kind"] != "function"]
        lines += [f"\t{_quoted(base)} -> {name} [style=dotted]" for base in bases]
    return lines


def _attributes_of(node: Node) -> dict[str, str]:
    """What a function holds, as text; nothing for other nodes."""
    is_function = node.attrs.get("kind") == "function"
    return {key: str(value) for key, value in node.attrs.items() if key not in FUNCTION_ATTRS} if is_function else {}


def _label(node: Node) -> str:
    if node.attrs.get("kind") != "function":
        sizes = ", ".join(str(size) for size in node.outputs[0].shape)
        return f"{node.attrs.get('name', '')}\n ({sizes})"
    table = {key.removeprefix("ctx."): value for key, value in _attributes_of(node).items()}
    if not table:
        return node.op
    keys, values = max(map(len, table)), max(map(len, table.values()))
    rule = "-" * max(keys + values + 2, len(node.op))
    return "\n".join([node.op, rule, *(f"{key:<{keys}}: {value:>{values}}" for key, value in table.items())])


def _attributes(attributes: Mapping[str, str]) -> str:
    return f"[{' '.join(f'{key}={_quoted(value)}' for key, value in attributes.items())}]"


def _quoted(text: str) -> str:
    """A DOT string. Graphviz would read a backslash as an escape, and replace an HTML entity by its character."""
    escaped = _ENTITY.sub("&amp;", text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
