"""The options that say what of a program is shown, and how: the fields of ViewOptions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--graph", metavar="NAME", help="Show this graph instead of the entry."),
    click.option("--depth", type=click.IntRange(0), metavar="N", help="Open groups and called graphs down to this depth."),
    click.option("--flatten", is_flag=True, help="Draw no groups; fusions, calls and loops stay boxes (--depth opens them)."),
    click.option("--around", metavar="NODE", multiple=True, help="Show only this node and its neighbours; may be given again."),
    click.option("--hops", type=click.IntRange(0), default=2, show_default=True, metavar="K", help="How far --around reaches."),
    click.option("--paths", nargs=2, metavar="A B", help="Show only what lies on paths from node A to node B."),
    click.option("--group-by", metavar="NAME", help="Group by this instead of modules: op, direction, source line …"),
    click.option("--theme", type=click.Choice(["light", "dark"]), default="light", show_default=True, help="Light or dark colours."),
    click.option("--scale", type=click.FloatRange(0.05, 32), default=1.0, show_default=True, metavar="S", help="2: a PNG twice as wide."),
    click.option("--wrap/--no-wrap", default=None, help="Break a tall picture into columns. By default only beyond 4 : 1."),
    click.option("--direction", type=click.Choice(["TB", "LR"]), default="TB", show_default=True, help="Draw downwards or to the right."),
    click.option("--beside", is_flag=True, help="Forward and backward next to each other, layer beside layer."),
    click.option("--diff", type=click.Choice(["before", "after", "overlay"]), help="Of a pass (run.opscope@12): colour what it did."),
    click.option("--operands/--no-operands", default=None, help="Number operands at arrow heads. By default where there are few."),
    click.option("--names", is_flag=True, help="Title operations by their ids (dot.105) instead of by what they are."),
    click.option("--style", metavar="FILE", help="Colour by these rules (Model Explorer's format), or by `clusters`."),
    click.option("--node-data", metavar="FILE", multiple=True, help="Colour by values of nodes; may be given again."),
    click.option("--values", type=click.Choice(["edges", "boxes"]), default="edges", show_default=True, help="How values are drawn."),
)


def view_options(hidden: tuple[str, ...] = ()) -> Callable[[Command], Command]:
    """--graph, --depth, --flatten, --around … for a command that takes them as keywords. Those that it refuses are not in its help."""

    def decorate(command: Command) -> Command:
        for option in reversed(_OPTIONS):
            command = option(command)
        for parameter in command.__click_params__:  # type: ignore[attr-defined]
            if parameter.name in hidden:
                parameter.hidden = True
        return command

    return decorate
