"""The files of the user's program that nodes come from. A program names them; only Python files are read, and only for those who ask."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from opscope.program import Frame, Program

SOURCES = "sources"
"""The attribute of a recording with the text of the files, by the names that frames have for them."""
_MOST_BYTES = 4_000_000


def read_source(file: str) -> str | None:
    """The text of a Python file of this machine; None for any other file, for one that is not there, and for a relative name."""
    path = Path(file)
    try:
        if not path.is_absolute() or not path.suffix == path.resolve().suffix == ".py":  # a link can lead to any file
            return None
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return None
        return path.read_text("utf-8", errors="replace")
    except (OSError, ValueError, RuntimeError):  # no permission, a name with a zero byte, or a link to itself
        return None


def recorded_texts(attrs: Mapping[str, Any]) -> dict[str, str]:
    """The files that a program or recording has with it. Attributes come from files, so what is not text under a name is left out."""
    texts = attrs.get(SOURCES)
    if not isinstance(texts, Mapping):
        return {}
    return {file: text for file, text in texts.items() if isinstance(file, str) and isinstance(text, str)}


def recorded_list(value: Any) -> Sequence[Any]:
    """An attribute of a recording that is a list; anything else, in a damaged file, is an empty one."""
    return value if isinstance(value, list | tuple) else ()


def frames_of(program: Program) -> Iterator[Frame]:
    for graph in program:
        for node in graph.nodes:
            yield from node.source


def source_texts(programs: Iterable[Program], known: Iterable[str] = ()) -> dict[str, str]:
    """The text of each file that nodes come from, except the `known` ones."""
    seen = set(known)
    texts: dict[str, str] = {}
    for program in programs:
        for frame in frames_of(program):
            if frame.file not in seen:
                seen.add(frame.file)
                text = read_source(frame.file)
                if text is not None:
                    texts[frame.file] = text
    return texts
