"""The view options: what to show of a program, and how. This is the only table of them.

Each field of `ViewOptions` is a row: its name, type and default define the Python keyword argument, and `Row(…)` adds the rest. The
table defines the options of `opscope view` and `opscope export`, the keyword arguments of `opscope.show` and `opscope.save`, what each
writer honours, the fields of the viewer's address, the types and defaults in TypeScript (`web/src/core/program/viewOptions.ts`) and the
table in `docs/cli.md`. `make options` rewrites the last two, and a test checks that they are current.

This module imports nothing heavy, because `opscope export --help` needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from os import PathLike
from types import NoneType
from typing import Annotated, Any, Literal, Self, TypeAlias, get_args, get_origin, get_type_hints

from opscope.errors import OpscopeError
from opscope.naming import refuse_unknown

Theme: TypeAlias = Literal["light", "dark"]
Background: TypeAlias = Literal["theme", "white", "transparent"]
ColourScale: TypeAlias = Literal["value", "rank", "share"]
Rankdir: TypeAlias = Literal["TB", "LR"]
Values: TypeAlias = Literal["edges", "boxes"]
Moment: TypeAlias = Literal["before", "after", "overlay"]
Style: TypeAlias = str | PathLike[str] | Sequence[Mapping[str, Any]]
NodeData: TypeAlias = str | PathLike[str] | Mapping[str, Any]

Kind: TypeAlias = Literal["flag", "switch", "integer", "number", "text", "texts", "pair", "choice", "file", "files"]
Goes: TypeAlias = Literal["spec", "request", "python"]

PIXELS = ("png", "jpg", "webp", "gif")
PICTURES = ("svg", *PIXELS, "pdf")
DRAWN = ("html", *PICTURES, "drawio")
GRAPHS = (*DRAWN, "dot")


@dataclass(frozen=True)
class Row:
    """What a view option has besides its name, type and default."""

    help: str
    """What it does, in one line, for `--help`."""
    more: str = ""
    """What the documentation adds."""
    metavar: str = ""
    url: str = ""
    """Its key in the viewer's address; empty if it is not part of the address."""
    goes: Goes = "spec"
    """`spec`: into the ViewSpec, which says what to show. `request`: next to it, saying how. `python`: nowhere, Python handles it."""
    writers: tuple[str, ...] = GRAPHS
    """The writers that honour it (names of `render.WRITERS`; `html` is the viewer everywhere). The others refuse it."""
    needs: str = ""
    """The option that it depends on."""
    least: float | None = None
    most: float | None = None
    bare: str | None = None
    """Its value if the flag has none."""
    # Read from the field:
    name: str = ""
    default: Any = None
    kind: Kind = "text"
    choices: tuple[str, ...] = ()

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def flags(self) -> tuple[str, ...]:
        """The flag, and its negation if it has one."""
        return (self.flag, f"--no-{self.flag[2:]}") if self.kind == "switch" else (self.flag,)

    @property
    def camel(self) -> str:
        """Its name in TypeScript."""
        first, *rest = self.name.split("_")
        return first + "".join(word.capitalize() for word in rest)


@dataclass(frozen=True)
class ViewOptions:
    """What to show of a program, and how."""

    graph: Annotated[str | None, Row("Show this graph instead of the entry.", metavar="NAME", url="g", writers=(*GRAPHS, "hlo"))] = None
    depth: Annotated[int | None, Row("Expand groups and called graphs down to this depth.", metavar="N", url="d", least=0)] = None
    flatten: Annotated[bool, Row("Draw no groups; fusions, calls and loops stay boxes (--depth expands them).", url="flat")] = False
    all_nodes: Annotated[
        bool,
        Row(
            "Draw every node as a box: none is folded into its user or into an edge.",
            url="all",
            more="Otherwise small operands (a scalar, a bias and what broadcasts it) are text in their user, and nodes that only pass a "
            "value on (tuples, bitcasts) are part of an edge. With `--flatten`, the picture has as many boxes as the graph has nodes. "
            "`--paths` draws each node as a box, and so does `--around` with no more than 60.",
        ),
    ] = False
    frames: Annotated[
        bool,
        Row(
            "Draw a frame around every module, also around one of a single operation and around the whole graph.",
            url="frames",
            more="Otherwise a module of one operation is a box with the module's name, and the whole graph has no frame.",
        ),
    ] = False
    calls: Annotated[bool, Row("Expand called graphs (fusions, loops) within --depth.", url="calls")] = True
    around: Annotated[
        tuple[str, ...], Row("Show only this node and its neighbours; repeatable.", metavar="NODE", url="near", writers=(*GRAPHS, "hlo"))
    ] = ()
    hops: Annotated[
        int,
        Row(
            "How far --around reaches.",
            metavar="K",
            url="hops",
            needs="around",
            least=0,
            writers=(*GRAPHS, "hlo"),
            more="Nodes that only pass a value on (tuples, bitcasts) do not count as a hop. As in `interactive_graphviz`, the walk stops "
            "at constants and at nodes with more than 16 users, and does not cross into the other elements of a tuple.",
        ),
    ] = 2
    stop_at: Annotated[
        tuple[str, ...], Row("Do not go beyond this node with --around; repeatable.", metavar="NODE", url="stop", needs="around")
    ] = ()
    paths: Annotated[
        tuple[str, str] | None,
        Row("Show only the paths between nodes A and B; the order of the two does not matter.", metavar="A B", url="p"),
    ] = None
    limit: Annotated[
        int,
        Row(
            "With --paths, leave out the longest paths beyond this many nodes.",
            metavar="N",
            url="most",
            needs="paths",
            least=1,
        ),
    ] = 2000
    fold: Annotated[bool, Row("Draw repeated layers once.", url="fold", writers=DRAWN)] = True
    group_by: Annotated[
        str | None,
        Row(
            "Group by this instead of modules: op, direction, source line, …",
            metavar="NAME",
            url="by",
            writers=(*GRAPHS, "model-explorer"),
            more="Any grouping of the program works too.",
        ),
    ] = None
    colour_by: Annotated[
        str | None,
        Row(
            "Colour by a metric (flops, bytes, …), op, dtype, group or attr:NAME.",
            metavar="NAME",
            url="col",
            goes="request",
            writers=DRAWN,
            more="See [metrics](python.md#metric).",
        ),
    ] = None
    colour_scale: Annotated[
        ColourScale,
        Row(
            "How the numbers of --colour-by become colours: by value, rank or share of the whole.",
            url="heat",
            goes="request",
            needs="colour_by",
            writers=DRAWN,
            more="`value` goes in equal steps, or in equal ratios if numbers differ a lot; `rank` gives every colour to as many boxes; "
            "with `share`, twice as hot is twice as much.",
        ),
    ] = "value"
    size_by: Annotated[
        str | None,
        Row(
            "Enlarge boxes by a metric (time, flops, bytes, …), up to twice.",
            metavar="NAME",
            url="size",
            writers=DRAWN,
            more="The box with the largest number is twice as large as usual, text included, and the one with the smallest is as usual.",
        ),
    ] = None
    forward_backward: Annotated[
        bool,
        Row(
            "Draw forward and backward in two columns, aligned by layer.",
            url="beside",
            writers=DRAWN,
            more="Needs a program with both halves (a training step); others are drawn as usual.",
        ),
    ] = False
    rankdir: Annotated[Rankdir, Row("Draw top to bottom or left to right.", url="dir", goes="request")] = "TB"
    theme: Annotated[Theme | None, Row("Light or dark colours. By default light; the viewer follows the system.", goes="request")] = None
    background: Annotated[
        Background, Row("Background of a picture; white or transparent suits papers.", goes="request", writers=PICTURES)
    ] = "theme"
    scale: Annotated[
        float,
        Row("Scale factor of a PNG, JPEG, WebP, GIF or PDF.", metavar="S", goes="python", least=0.05, most=32, writers=(*PIXELS, "pdf")),
    ] = 1.0
    wrap: Annotated[
        bool | None, Row("Break a tall picture into columns. By default only a very tall one.", goes="request", writers=PICTURES)
    ] = None
    operands: Annotated[
        bool | None,
        Row(
            "Number the operands at arrowheads. By default if there are few.",
            url="nth",
            more="Operands whose order does not matter are never numbered.",
        ),
    ] = None
    names: Annotated[
        bool,
        Row(
            "Label operations with their ids (dot.105) instead of their names.",
            url="names",
            more="The name moves to the second line. The viewer's Names button (`m`) does the same.",
        ),
    ] = False
    label: Annotated[
        tuple[str, ...],
        Row(
            "Write this attribute or metric on boxes; repeatable.",
            metavar="NAME",
            url="label",
            more="Attributes are written on operations, metrics also on closed groups.",
        ),
    ] = ()
    layouts: Annotated[
        bool,
        Row(
            "Write the layout of a tensor after its type: f32[8, 16]{1,0}.",
            url="layouts",
            more="Compiled HLO has layouts; other sources have none. The prompt's `layouts on` does the same.",
        ),
    ] = False
    values: Annotated[Values, Row("Draw values as edges, or as boxes between operations.", url="values")] = "edges"
    source_files: Annotated[
        bool,
        Row(
            "Put the Python files that nodes come from into the page, for its Source panel.",
            more="A page has them only then, or if they were recorded (`opscope.record(…, sources=True)`): whoever gets the page can read "
            "them. `opscope view` shows the files of this machine without this option.",
            goes="python",
            writers=("html",),
        ),
    ] = False
    overlays: Annotated[bool, Row("Draw the edge overlays of the program's file.", url="over", writers=DRAWN)] = True
    diff: Annotated[
        Moment | None,
        Row(
            "Highlight what a pass changed (run.opscope@12); with two sources, how they differ.",
            url="show",
            goes="request",
            writers=DRAWN,
            bare="overlay",
            more="`overlay` also draws what was removed, and is meant by `--diff` alone.",
        ),
    ] = None
    style: Annotated[
        Style | None,
        Row(
            "Colour by these rules (Model Explorer's format), or by `clusters`.",
            metavar="FILE",
            goes="python",
            writers=DRAWN,
            more="See [style rules](executorch.md#style-rules).",
        ),
    ] = None
    node_data: Annotated[
        tuple[NodeData, ...],
        Row(
            "Colour nodes by the values in this file; repeatable in the viewer.",
            metavar="FILE",
            goes="python",
            writers=DRAWN,
            more="See [node data](executorch.md#node-data).",
        ),
    ] = ()

    def __new__(cls, *values: Any, **keywords: Any) -> Self:
        refuse_unknown("ViewOptions()", keywords, [row.name for row in ROWS])
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for row in ROWS:
            value = _checked(row, getattr(self, row.name), self.spelled(row.name))
            object.__setattr__(self, row.name, value)
        for row in self.given:
            if row.needs and not getattr(self, row.needs):
                needed = self.spelled(row.needs)
                raise OpscopeError(f"{self.spelled(row.name)} only applies with {needed}; add {needed}, or leave it out")
        if self.forward_backward and self.rankdir != "TB":
            direction = self.spelled("rankdir", self.rankdir)
            raise OpscopeError(f"{self.spelled('forward_backward')} draws top to bottom; leave out {direction}")

    def spelled(self, name: str, value: str | float | None = None) -> str:
        """An option in a message, with or without its value: as a keyword argument here, as a flag on the command line."""
        return name if value is None else f"{name}={value!r}"

    @classmethod
    def of(cls, function: str, keywords: Mapping[str, Any], *others: str) -> ViewOptions:
        """The options from the keyword arguments of a public function."""
        refuse_unknown(f"{function}()", keywords, [*(row.name for row in ROWS), *others])
        return cls(**keywords)

    @property
    def given(self) -> list[Row]:
        """The options that differ from their default."""
        return [row for row in ROWS if getattr(self, row.name) != row.default]

    @property
    def spec(self) -> dict[str, Any]:
        """The ViewSpec for the drawing core (`web/src/core/program/types.ts`). Options at their default are absent."""
        return self._named("spec")

    @property
    def request(self) -> dict[str, Any]:
        """What the drawing core gets besides the spec."""
        return self._named("request")

    def _named(self, goes: Goes) -> dict[str, Any]:
        """Options as JSON, by their TypeScript names."""
        chosen = {row.camel: getattr(self, row.name) for row in self.given if row.goes == goes}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in chosen.items()}

    def require(self, writer: str, what: str) -> None:
        """Refuse options that a writer would ignore. `what` is its name in the message: "html files", "the viewer"."""
        for row in self.given:
            if writer not in row.writers:
                *most, last = row.writers
                formats = f"{', '.join(most)} or {last}" if most else last
                raise OpscopeError(f"{self.spelled(row.name)} does not apply to {what}; leave it out, or write {formats}")


def _are_texts(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(item, str) for item in value)


_EXPECTED: dict[Kind, tuple[str, Callable[[Any], bool]]] = {
    "flag": ("True or False", lambda value: isinstance(value, bool)),
    "switch": ("True or False", lambda value: isinstance(value, bool)),
    "integer": ("a whole number", lambda value: isinstance(value, Integral) and not isinstance(value, bool)),
    "number": ("a number", lambda value: isinstance(value, Real) and not isinstance(value, bool)),
    "text": ("text", lambda value: isinstance(value, str)),
    "texts": ("a name or a list of names", _are_texts),
    "pair": ("two names", lambda value: _are_texts(value) and len(value) == 2),
}
"""What a value of each kind must be: in words for an error, and as a check."""


def _checked(row: Row, value: Any, option: str) -> Any:
    """The value of an option in the field's type: a single text becomes a list of one. Invalid values are refused."""
    if row.kind in ("texts", "files") and not isinstance(value, (tuple, list)):
        value = (value,)
    if row.kind in ("texts", "files", "pair") and isinstance(value, list):
        value = tuple(value)
    if value == row.default:
        return value
    if row.kind in _EXPECTED and not _EXPECTED[row.kind][1](value):
        raise OpscopeError(f"{option} must be {_EXPECTED[row.kind][0]}, not {value!r}")
    if row.kind == "choice" and value not in row.choices:
        raise OpscopeError(f"{option} must be one of {', '.join(row.choices)}, not {value!r}")
    if row.kind in ("integer", "number"):
        least, most = row.least, row.most
        if (least is not None and not value >= least) or (most is not None and not value <= most):  # NaN is neither
            bounds = f"{least:g} to {most:g}" if most is not None else f"{least:g} or more"
            raise OpscopeError(f"{option} must be {bounds}, not {value!r}")
    return value


def _kind(hint: Any, default: Any) -> tuple[Kind, tuple[str, ...]]:
    if hint == tuple[str, ...]:
        return "texts", ()
    if get_origin(hint) is tuple:
        return "files", ()
    alternatives = [arg for arg in get_args(hint) if arg is not NoneType] if NoneType in get_args(hint) else [hint]
    kinds: dict[Any, Kind] = {int: "integer", float: "number", str: "text", tuple[str, str]: "pair"}
    if len(alternatives) > 1:
        return "file", ()
    if alternatives[0] is bool:
        return ("flag" if default is False else "switch"), ()
    if get_origin(alternatives[0]) is Literal:
        return "choice", get_args(alternatives[0])
    return kinds[alternatives[0]], ()


def _rows() -> tuple[Row, ...]:
    rows = []
    for name, hint in get_type_hints(ViewOptions, include_extras=True).items():
        type, row = get_args(hint)
        default = getattr(ViewOptions, name)
        kind, choices = _kind(type, default)
        rows.append(replace(row, name=name, default=default, kind=kind, choices=choices))
    return tuple(rows)


ROWS: tuple[Row, ...] = _rows()
