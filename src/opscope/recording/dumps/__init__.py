"""Dumps: what compilers write while they work, read as recordings. This file is the table of them.

A dump's module has `is_dump(directory, names) -> bool`, which looks at the names of the files in a directory, and
`read_dump(path, progress) -> Recording`. Where programs can be read one by one it also has `open_dump(directory) -> Recording | None`: each
program is read when it is asked for, and None means that this cannot be done. Rows are data, so that listing the formats imports nothing.
Other packages add rows through the entry-point group `opscope.dumps`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from opscope.errors import OpscopeError
from opscope.naming import suggest
from opscope.plugin import Plugin, outside_rows

_HEAD_BYTES = 1 << 16


@dataclass(frozen=True)
class Dump(Plugin):
    """A row of the table of dumps."""

    file_sign: bytes = b""
    """A regular expression that finds something in the first 64 kB of a file that is such a dump. Empty where only directories are."""

    def takes_file(self, path: Path) -> bool:
        """Whether a file is such a dump by itself."""
        if not self.file_sign or not path.is_file():
            return False
        with path.open("rb") as stream:
            return re.search(self.file_sign, stream.read(_HEAD_BYTES)) is not None


TORCH = Dump(
    "torch", "opscope.recording.dumps.torch_trace", "logs of torch.compile (TORCH_TRACE)", (".log",),
    file_sign=rb'(?m)^[VDIWE]\d{4} [\d:.]+ \d+ \S+:\d+\] \{"',
)  # fmt: skip
BUILT_IN: tuple[Dump, ...] = (
    Dump("xla", "opscope.recording.dumps.xla", "dumps of XLA (xla_dump_to)"),
    Dump("hidet", "opscope.recording.dumps.hidet", "dumps of hidet (save_graph_instrument)"),
    Dump("aitemplate", "opscope.recording.dumps.aitemplate", "dumps of AITemplate (DEBUG)"),
    TORCH,
)


def dumps() -> list[Dump]:
    """Built-in rows first, then those of other packages."""
    return [*BUILT_IN, *outside_rows("opscope.dumps")]


def find_dump(path: Path, name: str | None = None) -> Dump | None:
    """Whose dump a file or directory is: said by what is in it, where no name says it."""
    if name is not None:
        for row in dumps():
            if row.name == name:
                return row
        raise OpscopeError(f"no dumps named {name!r}{suggest(name, [row.name for row in dumps()])}")
    if path.is_dir():
        names = [each.name for each in path.iterdir()]
        return next((row for row in dumps() if row.load().is_dump(path, names)), None)
    return next((row for row in dumps() if row.takes_file(path)), None)
