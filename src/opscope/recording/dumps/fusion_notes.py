"""What XLA noted while it decided what to fuse: `module_0022.jit_step.priority_fusion_dump.txt`, one of the files of a dump for GPUs.

The file is a protocol buffer as text, a list of steps:

    fusion_steps {
      update_priority {
        producer_name: "add.4.0"
        consumer_names: "mul.2.0"
        us_fused: 1.0245
        us_unfused: 2.033
      }
    }

Estimates of a pair are noted again whenever something around it was fused; the last one counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from opscope.recording.dumps.own_files import own_files

NOTES_FILE = ".priority_fusion_dump.txt"
_FILE = re.compile(r"(?P<module>module_\d+\..+)" + re.escape(NOTES_FILE))
_FIELD = re.compile(r'    (\w+): (?:"([^"]*)"|(\S+))$')
_KIND = re.compile(r"  (fusion|producer_ineligible|update_priority) \{$")
_MOST_MICROSECONDS = 1e15
"""Thirty years: no kernel runs so long, and a damaged number can be anything."""


_TIMES = ("us_fused", "us_unfused")


class FusionNote(NamedTuple):
    """A decision of XLA about a producer: it was fused into a consumer, or not, or so many microseconds are expected of it."""

    kind: str
    """"fused", "not fused" or "estimate"."""
    module: str
    producer: str
    consumers: tuple[str, ...] = ()
    fusion: str = ""
    reason: str = ""
    us_fused: float | None = None
    us_unfused: float | None = None
    part: str = ""
    """The part of the module, if its parts were compiled one by one: each has nodes of its own, which may have the same names."""

    @property
    def home(self) -> tuple[str, str]:
        """Where its names are those of nodes."""
        return self.module, self.part

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes that it is about."""
        return self.producer, *self.consumers

    @property
    def becomes(self) -> bool:
        """Whether the only consumer became the fusion."""
        return self.kind == "fused" and len(self.consumers) == 1 and bool(self.fusion)

    def __str__(self) -> str:
        consumers = ", ".join(self.consumers[:4]) + (", …" if len(self.consumers) > 4 else "")
        where = f"in the {self.part}, " if self.part else ""
        if self.kind == "fused":
            return f"{where}{self.producer} was fused into {consumers}, as {self.fusion}"
        if self.kind == "not fused":
            return f"{where}{self.producer} was not fused{f' into {consumers}' if consumers else ''}: {self.reason}"
        return f"{self.producer} with {consumers}: {self.us_fused:.4g} µs fused, {self.us_unfused:.4g} µs unfused, by XLA's estimate"

    def to_json(self) -> dict[str, Any]:
        return self._asdict() | {"consumers": list(self.consumers)}

    @classmethod
    def of_json(cls, note: Any) -> FusionNote | None:
        """What `to_json` wrote; None if it is damaged."""
        if not isinstance(note, Mapping) or {*note, "part"} != {*cls._fields} or not isinstance(note["consumers"], list | tuple):
            return None
        texts = [note[name] for name in note if name not in ("consumers", *_TIMES)]
        times = [note[name] for name in _TIMES]
        known = float | int if note["kind"] == "estimate" else float | int | None
        if not all(isinstance(text, str) for text in texts) or not all(isinstance(time, known) for time in times):
            return None
        return cls(**{**note, "consumers": tuple(map(str, note["consumers"]))})


def fusion_notes(directory: Path) -> list[FusionNote]:
    """The notes of all modules of a dump, in the order of the decisions; of equal notes and of estimates of a producer, the last."""
    notes: dict[tuple[Any, ...], FusionNote] = {}
    for path in own_files(directory):
        match = _FILE.fullmatch(path.name)
        if match:
            with path.open(encoding="utf-8", errors="replace") as lines:
                for note in _notes(lines, match["module"]):
                    key = note[:3] if note.kind == "estimate" else note
                    notes.pop(key, None)
                    notes[key] = note
    return list(notes.values())


def _notes(lines: Iterable[str], module: str) -> Iterator[FusionNote]:
    kind, fields = "", dict[str, list[str]]()
    for line in lines:
        start, field = _KIND.match(line), _FIELD.match(line)
        if start:
            kind, fields = start[1], {}
        elif field and kind:
            fields.setdefault(field[1], []).append(field[2] if field[2] is not None else field[3])
        elif kind and line == "  }\n":
            yield _note(kind, module, fields)
            kind = ""


def _note(kind: str, module: str, fields: dict[str, list[str]]) -> FusionNote:
    def text(name: str) -> str:
        return fields.get(name, [""])[0]

    def number(name: str) -> float:
        try:
            value = float(text(name))
        except ValueError:
            return 0.0
        return value if 0 <= value < _MOST_MICROSECONDS else 0.0

    producer = text("producer_name")
    consumers = tuple(fields.get("consumer_names", fields.get("consumer_name", [])))
    if kind == "fusion":
        return FusionNote("fused", module, producer, consumers, fusion=text("fusion_name"))
    if kind == "producer_ineligible":
        return FusionNote("not fused", module, producer, consumers, reason=text("reason"))
    return FusionNote("estimate", module, producer, consumers, us_fused=number("us_fused"), us_unfused=number("us_unfused"))
