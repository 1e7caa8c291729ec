"""`opscope demo`."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem

from opscope.cli.table import table
from opscope.cli.view import command as view
from opscope.cli.view_options import serving_options, view_options
from opscope.demo import EXAMPLES, PREFIX
from opscope.terminal import say


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(each.name, help=each.what) for each in EXAMPLES if each.name.startswith(incomplete)]


@click.command()
@click.argument("name", metavar="[NAME]", default=EXAMPLES[0].name, shell_complete=_complete)
@click.option("--list", "listing", is_flag=True, help="List the examples instead.")
@serving_options
@view_options("html")
@click.pass_context
def command(ctx: click.Context, /, name: str, listing: bool, **options: Any) -> None:
    """Open an example that comes with opscope in the browser.

    Every command that takes a SOURCE also takes `demo:NAME`.

    \b
    opscope demo                                     one training step of a transformer
    opscope demo passes                              every pass of a compiler
    opscope demo --list                              list the examples
    opscope export demo:train_step -o step.svg       an example as a picture
    """
    if listing:
        say(*table([(PREFIX + each.name, each.what) for each in EXAMPLES]))
    else:
        ctx.invoke(view, sources=(PREFIX + name.removeprefix(PREFIX),), **options)
