"""The examples in the package. `demo:NAME` works wherever a file does, so there is something to open right after `pip install`."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import NamedTuple

from opscope.errors import SourceError
from opscope.naming import suggest

PREFIX = "demo:"
_DIRECTORY = Path(__file__).resolve().with_name("examples")


class Example(NamedTuple):
    """A file in `examples/`. In a checkout, `examples/make_demos.py` and `examples/make_train_step.py` write them."""

    file: str
    what: str

    @property
    def name(self) -> str:
        return self.file.partition(".")[0]

    @property
    def path(self) -> Path:
        return _DIRECTORY / self.file


EXAMPLES = (
    Example("train_step.hlo", "one training step of a transformer, as JAX passes it to XLA"),
    Example("passes.opscope", "a recording of what each XLA pass does to such a step"),
    Example("detach.json", "the gradient of a PyTorch model, and where it stops"),
)
"""`opscope demo` opens the first one."""


def is_example(path: Path) -> bool:
    """Whether a file is part of the package: nothing is ever written there."""
    return path.resolve().parent == _DIRECTORY


def source_path(source: str | PathLike[str]) -> Path:
    """The path that a source names: itself, or the example's file for `demo:NAME`. All code that opens a source uses this."""
    name = fspath(source)
    if not name.startswith(PREFIX) or Path(name).exists():
        return Path(name)
    paths = {example.name: example.path for example in EXAMPLES}
    example_name = name.removeprefix(PREFIX)
    if example_name in paths:
        return paths[example_name]
    if Path("demo.py").exists() or Path("demo").is_dir():
        return Path(name)  # `module:callable`, for a module that happens to be named demo
    raise SourceError(f"no example named {example_name!r}{suggest(example_name, paths)}", name)
