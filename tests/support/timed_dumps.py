"""Dumps with the files that XLA's metadata (`recording/timed`) names; the programs in them do not matter."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

METADATA = Path(__file__).resolve().parents[1] / "recording" / "timed" / "module_3314.metadata.textproto"
_TEXT = "HloModule jit_loss\n\nENTRY main {{\n  ROOT p = f32[{}] parameter(0)\n}}\n"


def untimed_dump(directory: Path) -> Path:
    directory.mkdir()
    names = re.findall(r'dump_filenames: "(.+\.txt)"', METADATA.read_text())
    for number, name in enumerate(names, 1):
        (directory / name).write_text(_TEXT.format(number))
    return directory


def timed_dump(directory: Path) -> Path:
    """With the metadata, which has the seconds."""
    shutil.copy(METADATA, untimed_dump(directory))
    return directory
