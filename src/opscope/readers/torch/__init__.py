"""PyTorch: exported programs, `.pt2` files, graph modules, autograd and joint graphs. Torch is imported only for live objects."""

from __future__ import annotations

from typing import Any

from opscope.program import Program
from opscope.readers import Progress, Verdict
from opscope.readers.source import ZIP_MAGIC, Source


def sniff(source: Source) -> Verdict:
    """Recognizes archives with an exported program. Other torch archives are accepted too: reading them says what they are."""
    if source.is_directory or not source.head.startswith(ZIP_MAGIC):
        return Verdict(0, "not a zip archive")
    from opscope.readers.torch import pt2

    names = pt2.members(source)
    if any(pt2.is_program(name) for name in names):
        return Verdict(1, "an archive with an exported program")
    if source.suffixes[-1:] in ([".pt2"], [".pt"], [".pth"], [".ckpt"]):
        return Verdict(0.5, "a torch archive without an exported program")
    return Verdict(0, "an archive without an exported program")


def read(source: Source, progress: Progress | None = None) -> list[Program]:
    from opscope.readers.torch import pt2

    programs = pt2.read_archive(source)
    if progress is not None:
        progress(1.0)
    return programs


def capture(obj: Any, *args: Any, **options: Any) -> Program | None:
    """A live object as a Program (see `live.capture`)."""
    from opscope.readers.torch import live

    return live.capture(obj, *args, **options)
