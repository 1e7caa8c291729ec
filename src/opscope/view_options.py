"""The view options: what of a program is shown, and how. This is the one table of them.

Each field of `ViewOptions` is a row: its name, type and default make the Python keyword argument, and `Row(…)` adds the rest. From
the table come the options of `opscope view` and `opscope export`, the keyword arguments of `opscope.show` and `opscope.save`, what each
writer honours, the fields of the viewer's address, the types and defaults in TypeScript (`web/src/core/program/viewOptions.ts`) and the
table in `docs/cli.md`. `make options` rewrites the last two, and a test holds them current.

This module imports nothing heavy, because `opscope export --help` needs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from types import NoneType
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

from opscope.errors import OpscopeError
from opscope.naming import suggest

Theme: TypeAlias = Literal["light", "dark"]
Background: TypeAlias = Literal["theme", "white", "transparent"]
Rankdir: TypeAlias = Literal["TB", "LR"]
Values: TypeAlias = Literal["edges", "boxes"]
Moment: TypeAlias = Literal["before", "after", "overlay"]
Style: TypeAlias = str | PathLike[str] | Sequence[Mapping[str, Any]]
NodeData: TypeAlias = str | PathLike[str] | Mapping[str, Any]

Kind: TypeAlias = Literal["flag", "switch", "integer", "number", "text", "texts", "pair", "choice", "file", "files"]
Goes: TypeAlias = Literal["spec", "request", "python"]

PICTURES = ("svg", "png", "pdf")
DRAWN = ("html", *PICTURES)
GRAPHS = (*DRAWN, "dot")


@dataclass(frozen=True)
class Row:
    """What a view option is beside its name, type and default."""

    help: str
    """What it does, in one line, for `--help`."""
    more: str = ""
    """What the documentation adds."""
    metavar: str = ""
    url: str = ""
    """Its key in the viewer's address; empty: it is not part of what is seen there."""
    goes: Goes = "spec"
    """`spec`: into the ViewSpec, which says what is seen. `request`: beside it, which says how. `python`: nowhere, Python does it."""
    writers: tuple[str, ...] = GRAPHS
    """Who honours it (names of `render.WRITERS`; `html` is the viewer everywhere). The others refuse it."""
    needs: str = ""
    """The option without which it means nothing."""
    least: float | None = None
    most: float | None = None
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
        """With the one that says no, where it has one."""
        return (self.flag, f"--no-{self.flag[2:]}") if self.kind == "switch" else (self.flag,)

    @property
    def camel(self) -> str:
        """Its name in TypeScript."""
        first, *rest = self.name.split("_")
        return first + "".join(word.capitalize() for word in rest)


@dataclass(frozen=True)
class ViewOptions:
    """What of a program is shown, and how. The defaults are what a person sees who asks for nothing."""

    graph: Annotated[str | None, Row("Show this graph instead of the entry.", metavar="NAME", url="g", writers=(*GRAPHS, "hlo"))] = None
    depth: Annotated[int | None, Row("Open groups and called graphs down to this depth.", metavar="N", url="d", least=0)] = None
    flatten: Annotated[bool, Row("Draw no groups; fusions, calls and loops stay boxes (--depth opens them).", url="flat")] = False
    calls: Annotated[bool, Row("Open called graphs (fusions, loops) where --depth reaches them.", url="calls")] = True
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
            more="A hop is an arrow of the picture: what is not drawn (tuples, bitcasts) is not a hop. As in `interactive_graphviz`, it "
            "does not go on through constants, through what more than 16 nodes use, or to the other elements of a tuple.",
        ),
    ] = 2
    stop_at: Annotated[
        tuple[str, ...], Row("Do not look beyond this node with --around; repeatable.", metavar="NODE", url="stop", needs="around")
    ] = ()
    paths: Annotated[
        tuple[str, str] | None,
        Row("Show only the paths between nodes A and B; the order of the two does not matter.", metavar="A B", url="p"),
    ] = None
    limit: Annotated[
        int,
        Row(
            "With --paths, leave out the longest paths when there are more nodes than this.",
            metavar="N",
            url="most",
            needs="paths",
            least=1,
        ),
    ] = 2000
    group_by: Annotated[
        str | None,
        Row(
            "Group by this instead of modules: op, direction, source line, …",
            metavar="NAME",
            url="by",
            writers=(*GRAPHS, "model-explorer"),
            more="Any grouping that the program brings can be named too.",
        ),
    ] = None
    colour_by: Annotated[
        str | None,
        Row(
            "Colour by a metric (flops, bytes, …), op, dtype, group or attr:NAME.",
            metavar="NAME",
            goes="python",
            writers=DRAWN,
            more="See [metrics](python.md#metric).",
        ),
    ] = None
    forward_backward: Annotated[
        bool,
        Row(
            "Draw forward and backward in two columns, layer beside layer.",
            url="beside",
            writers=DRAWN,
            more="Needs a program that has both halves (a train step); others are drawn as usual.",
        ),
    ] = False
    rankdir: Annotated[Rankdir, Row("Draw top to bottom or left to right.", url="dir", goes="request")] = "TB"
    theme: Annotated[Theme | None, Row("Light or dark colours. By default light; the viewer follows the system.", goes="request")] = None
    background: Annotated[
        Background, Row("What a picture is painted on: papers want white or nothing.", goes="request", writers=PICTURES)
    ] = "theme"
    scale: Annotated[
        float, Row("Size of a PNG or PDF: 2 doubles it.", metavar="S", goes="python", least=0.05, most=32, writers=("png", "pdf"))
    ] = 1.0
    wrap: Annotated[
        bool | None, Row("Break a tall picture into columns. By default only beyond 4 : 1.", goes="request", writers=PICTURES)
    ] = None
    operands: Annotated[
        bool | None,
        Row(
            "Number the operands at arrow heads. By default where there are few.",
            url="nth",
            writers=DRAWN,
            more="Operands whose order does not matter are never numbered.",
        ),
    ] = None
    names: Annotated[
        bool,
        Row(
            "Title operations by their ids (dot.105) instead of by what they are.",
            url="names",
            more="What they are moves to the second line. The viewer's Names button (`m`) does the same.",
        ),
    ] = False
    values: Annotated[Values, Row("Draw values as edges, or as boxes between operations.", url="values")] = "edges"
    diff: Annotated[
        Moment | None,
        Row(
            "Of a pass (run.opscope@12): colour what it did.",
            url="show",
            goes="request",
            writers=DRAWN,
            more="`overlay` also draws what it removed.",
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
            "Colour by values of nodes; repeatable in the viewer.",
            metavar="FILE",
            goes="python",
            writers=DRAWN,
            more="See [node data](executorch.md#node-data).",
        ),
    ] = ()

    def __post_init__(self) -> None:
        for row in ROWS:
            value = _checked(row, getattr(self, row.name))
            object.__setattr__(self, row.name, value)
        for row in self.given:
            if row.needs and not getattr(self, row.needs):
                raise OpscopeError(f"{row.flag} says more about --{row.needs}; give --{row.needs} too")
        if self.forward_backward and self.rankdir != "TB":
            raise OpscopeError(f"--forward-backward draws top to bottom; leave out --rankdir {self.rankdir}")

    @classmethod
    def of(cls, function: str, keywords: Mapping[str, Any]) -> ViewOptions:
        """The options that a public function was given as keyword arguments."""
        names = [row.name for row in ROWS]
        for name in keywords:
            if name not in names:
                raise TypeError(f"{function}() has no option {name!r}{suggest(name, names)}")
        return cls(**keywords)

    @property
    def given(self) -> list[Row]:
        """The options that differ from their default."""
        return [row for row in ROWS if getattr(self, row.name) != row.default]

    @property
    def spec(self) -> dict[str, Any]:
        """The ViewSpec for the drawing core (`web/src/core/program/types.ts`). Options that were not given are absent."""
        return self._named("spec")

    @property
    def request(self) -> dict[str, Any]:
        """What the drawing core is told beside the spec."""
        return self._named("request")

    def _named(self, goes: Goes) -> dict[str, Any]:
        """Options by their TypeScript names, as JSON has them."""
        chosen = {row.camel: getattr(self, row.name) for row in self.given if row.goes == goes}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in chosen.items()}

    def require(self, writer: str, what: str) -> None:
        """Refuse what a writer would ignore. `what` is how a person calls it: "html files", "the viewer"."""
        for row in self.given:
            if writer not in row.writers:
                raise OpscopeError(f"{row.flag} cannot be honoured in {what}; leave it out, or write {' or '.join(row.writers)}")


def _checked(row: Row, value: Any) -> Any:
    """The value as the field's type has it: one text is as good as a list of one. What cannot be honoured is refused."""
    if row.kind in ("texts", "files") and not isinstance(value, (tuple, list)):
        return (value,)
    if row.kind in ("texts", "files", "pair") and isinstance(value, list):
        return tuple(value)
    if value == row.default:
        return value
    if row.kind == "choice" and value not in row.choices:
        raise OpscopeError(f"{row.flag} is one of {', '.join(row.choices)}, not {value!r}")
    if row.kind in ("integer", "number"):
        least, most = row.least, row.most
        if (least is not None and value < least) or (most is not None and value > most):
            raise OpscopeError(f"{row.flag} is {f'{least:g} to {most:g}' if most is not None else f'{least:g} or more'}, not {value!r}")
    return value


def _kind(hint: Any, default: Any) -> tuple[Kind, tuple[str, ...]]:
    if hint == tuple[str, ...]:
        return "texts", ()
    if get_origin(hint) is tuple:
        return "files", ()
    alternatives = [each for each in get_args(hint) if each is not NoneType] if NoneType in get_args(hint) else [hint]
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
