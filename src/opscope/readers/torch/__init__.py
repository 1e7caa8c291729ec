"""PyTorch: exported programs, `.pt2` files, graph modules, autograd and joint graphs. Torch is imported only for live objects."""

from __future__ import annotations

from opscope.program import Program
from opscope.readers import Progress, Verdict
from opscope.readers.source import Source
from opscope.readers.torch import pt2
from opscope.readers.torch.capture import capture

__all__ = ["capture", "read", "sniff"]


def sniff(source: Source) -> Verdict:
    """Recognizes archives with an exported program. Other torch archives are accepted too: reading them says what they are."""
    if source.is_directory or not pt2.is_archive(source):
        return Verdict(0, "not a zip archive")
    names = pt2.members(source)
    if any(pt2.is_program(name) for name in names):
        return Verdict(1, "an archive with an exported program")
    if source.suffixes[-1:] in ([".pt2"], [".pt"], [".pth"], [".ckpt"]):
        return Verdict(0.5, "a torch archive without an exported program")
    return Verdict(0, "an archive without an exported program")


def read(source: Source, progress: Progress | None = None) -> list[Program]:
    programs = pt2.read_archive(source)
    if progress is not None:
        progress(1.0)
    return programs
