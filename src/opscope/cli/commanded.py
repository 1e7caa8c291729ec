"""`opscope passes -- COMMAND…`: runs a command so that its compilers write down their passes.

Only the environment of the command says so: what makes XLA dump is appended to its XLA_FLAGS, and PyTorch's log goes to a directory of its
own. Compiled programs that are cached would show no passes, so the caches of JAX and Inductor are off in it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from opscope.errors import OpscopeError
from opscope.terminal import say

_META = "opscope.cli.commanded"
_XLA = "--xla_dump_to={} --xla_dump_hlo_as_text --xla_dump_hlo_pass_re=.*"
_DUMPED_TO = re.compile(r"--xla_dump_to=(\S+)")
_UNCACHED = {"JAX_ENABLE_COMPILATION_CACHE": "false", "TORCHINDUCTOR_FX_GRAPH_CACHE": "0", "TORCHINDUCTOR_AUTOGRAD_CACHE": "0"}
_SIGNALLED = 128


class WithCommand(click.Command):
    """A command of which everything behind `--` is another command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta[_META] = args[at + 1 :]
            args = args[:at]
        return super().parse_args(ctx, args)


def commanded(ctx: click.Context) -> list[str] | None:
    """What is behind `--`, once."""
    command: list[str] | None = ctx.meta.pop(_META, None)
    return command


def run_and_show(command: Sequence[str], output: str | None, force: bool, show: Callable[[str], object]) -> int:
    """Run a command, show each recording that came of it, and keep it if asked to. Returns the command's exit code."""
    if not command:
        raise click.UsageError("-- needs a command, as in `opscope passes -- python train.py`.")
    with _directories() as environment:
        if output is not None:
            _check_free(Path(output), _dumps(environment), force)
        try:
            code = subprocess.run(command, env={**os.environ, **environment}).returncode
        except OSError as error:
            raise OpscopeError(f"cannot run {command[0]}: {error.strerror}") from None
        directories = [path for path in _dumps(environment) if path.is_dir() and any(path.iterdir())]
        if not directories and not code:
            raise OpscopeError(f"{command[0]} compiled nothing that XLA or torch.compile wrote down")
        for directory in directories:
            show(str(directory))
        if output is not None:
            _keep(directories, Path(output), force)
    return code if code >= 0 else _SIGNALLED - code


@contextmanager
def _directories() -> Iterator[dict[str, str]]:
    """The environment that makes compilers dump into directories of ours, or where the user already has them dump."""
    from opscope.temporary import temporary_directory

    home = temporary_directory("opscope-passes-")
    flags = os.environ.get("XLA_FLAGS", "")
    xla = flags if _DUMPED_TO.search(flags) else f"{flags} {_XLA.format(home / 'xla')}".strip()
    try:
        yield {**_UNCACHED, "XLA_FLAGS": xla, "TORCH_TRACE": os.environ.get("TORCH_TRACE") or str(home / "torch")}
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _dumps(environment: Mapping[str, str]) -> list[Path]:
    dumped_to = _DUMPED_TO.search(environment["XLA_FLAGS"])
    return [*([Path(dumped_to[1])] if dumped_to else []), Path(environment["TORCH_TRACE"])]


def _check_free(output: Path, directories: Sequence[Path], force: bool) -> None:
    """Refuse before the command runs, which may take hours, what could not be kept after it."""
    from opscope.recording.store.store import check_recordable

    for path in (output, *(_part(output, directory) for directory in directories)):
        check_recordable(path, force)


def _keep(directories: Sequence[Path], output: Path, force: bool) -> None:
    """One recording is FILE; of two, each has the name of its directory in it."""
    from opscope.recording.sources import open_recording
    from opscope.recording.store.store import check_recordable, save_recording
    from opscope.whole_file import whole_file

    for directory in directories:
        path = output if len(directories) == 1 else _part(output, directory)
        check_recordable(path, force)  # it may be there by now
        with whole_file(path) as part:
            save_recording(open_recording(directory), part)
        say(f"saved {path}", err=True)


def _part(output: Path, directory: Path) -> Path:
    return output.with_name(f"{output.stem}-{directory.name}{output.suffix}")
