"""The table of dumps: directories and logs that compilers write, read as recordings.

A dump's module has `is_dump(directory, names) -> bool`, which looks at the names of the files in a directory, and
`read_dump(path, progress) -> Recording`. If programs can be read one by one, it also has `open_dump(directory) -> Recording | None`, which
reads each program on first use and returns None if this directory does not allow it. Rows are data, so that listing the formats imports
nothing. Other packages add rows through the entry-point group `opscope.dumps`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from opscope.errors import OpscopeError
from opscope.naming import suggest
from opscope.plugin import Plugin, outside_rows
from opscope.readers.source import first_bytes


@dataclass(frozen=True)
class Dump(Plugin):
    """A row of the table of dumps."""

    group = "opscope.dumps"
    file_sign: bytes = b""
    """A regular expression that matches in the first 64 kB of a dump that is a single file. Empty if dumps are always directories."""

    def takes_file(self, path: Path) -> bool:
        """Whether this file is a dump by itself."""
        return bool(self.file_sign) and path.is_file() and re.search(self.file_sign, first_bytes(path)) is not None


TORCH = Dump(
    "torch", "opscope.recording.dumps.torch_trace", "torch.compile logs (TORCH_TRACE)", (".log",),
    file_sign=rb'(?m)^[VDIWE]\d{4} [\d:.]+ \d+ \S+:\d+\] \{"',
)  # fmt: skip
BUILT_IN: tuple[Dump, ...] = (
    Dump("xla", "opscope.recording.dumps.xla", "XLA dumps (xla_dump_to)"),
    Dump("hidet", "opscope.recording.dumps.hidet", "hidet dumps (save_graph_instrument)"),
    Dump("aitemplate", "opscope.recording.dumps.aitemplate", "AITemplate dumps (LOGLEVEL=DEBUG)"),
    TORCH,
    Dump(
        "torch-debug",
        "opscope.recording.dumps.torch_debug",
        "torch.compile debug directories (TORCH_COMPILE_DEBUG)",
        file_sign=rb"(?m)^from torch\._inductor\.codegen\.memory_planning import _align as align\r?$",
    ),
    Dump("fx-texts", "opscope.recording.dumps.fx_texts", "fx graphs as text (depyf, VLLM_DEBUG_DUMP_PATH)"),
    Dump("snapshots", "opscope.recording.dumps.snapshots", "snapshots of opscope.record(directory=…)"),
)


def dumps() -> list[Dump]:
    """The built-in rows, then those of other packages."""
    return [*BUILT_IN, *outside_rows(Dump.group)]


def find_dump(path: Path, name: str | None = None) -> Dump | None:
    """The row that reads a file or directory: by `name`, or else by its contents. None if it is not a dump."""
    if name is not None:
        for row in dumps():
            if row.name == name:
                return row
        raise OpscopeError(f"no dump format named {name!r}{suggest(name, [row.name for row in dumps()])}")
    if path.is_dir():
        names = [each.name for each in path.iterdir()]
        return next((row for row in dumps() if row.load().is_dump(path, names)), None)
    return next((row for row in dumps() if row.takes_file(path)), None)
