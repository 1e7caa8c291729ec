"""The examples in the package: `demo:NAME` is a source wherever a file is one, so that there is something to open after `pip install`."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import NamedTuple

from opscope.errors import SourceError
from opscope.naming import suggest

PREFIX = "demo:"
_DIRECTORY = Path(__file__).resolve().with_name("examples")


class Example(NamedTuple):
    """A file in `examples/`. `examples/make_demos.py` of a checkout makes all of them."""

    file: str
    what: str

    @property
    def name(self) -> str:
        return self.file.partition(".")[0]

    @property
    def path(self) -> Path:
        return _DIRECTORY / self.file


EXAMPLES = (
    Example("train_step.hlo", "one training step of a transformer, as JAX hands it to XLA"),
    Example("passes.opscope", "what each pass of XLA does to such a step: a recording"),
    Example("detach.json", "the gradient of a PyTorch model, and the places where it stops"),
)
"""The first one is what `opscope demo` opens."""


def source_path(source: str | PathLike[str]) -> Path:
    """The file or directory that a source names: itself, or the example's file for `demo:NAME`. Whoever opens a source asks here."""
    name = fspath(source)
    if not name.startswith(PREFIX) or Path(name).exists():
        return Path(name)
    paths = {example.name: example.path for example in EXAMPLES}
    asked = name.removeprefix(PREFIX)
    if asked in paths:
        return paths[asked]
    if Path("demo.py").exists() or Path("demo").is_dir():
        return Path(name)  # `module:callable`, of a module that happens to have this name
    raise SourceError(f"no example named {asked!r}{suggest(asked, paths)}", name)
