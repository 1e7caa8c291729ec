"""From the names of two sources to their comparison: a recording of two snapshots."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from opscope.analysis.devices import Device, device_of
from opscope.analysis.roofline import with_estimates
from opscope.errors import OpscopeError, SourceError
from opscope.loading import load_timed, only_program, read_programs, several_modules
from opscope.naming import WHOLE_SOURCE, Part
from opscope.plugin import Progress
from opscope.recording.comparison import Side, compare
from opscope.recording.diff import COMPOSED
from opscope.recording.history import compose
from opscope.recording.model import EITHER, NOTHING_RECORDED, PLACES, Recording, Snapshot
from opscope.recording.sources import is_recording_source, open_passes, open_recording, split_at


def load_comparison(
    a: str,
    b: str,
    *,
    module: str | None = None,
    format: str | None = None,
    match_by_name: bool | None = None,
    profiles: Sequence[str] = (),
    device: str | None = None,
    part: Part = WHOLE_SOURCE,
    progress: Progress | None = None,
) -> Recording:
    """Two sources, or passes of one, as a recording of two snapshots. `b` can be just @13, a pass of the same recording as `a`. `profiles`
    are that of `a` and that of `b`; with them, or if both sources are profiles, nodes have the change of their times, and so have the times
    at best on a `device`.

    Snapshots of one compilation share names; across two compilations, equal names may be a coincidence. The origins that the compiler
    reported for a snapshot refer to the snapshot right before it. Over a range of passes, the links of all of them are composed.
    """
    if a.startswith("@") and not Path(a).exists():
        raise OpscopeError(f"A must name a recording, such as run.opscope{a}")
    second = _pass_of(a, b, format) if b.startswith("@") else b
    names = _told_apart(a, second)
    chosen_device = None if device is None else device_of(device)

    def read(i: int, source: str) -> _Read:
        read = _side(names[i], source, format, module, part, profiles[i] if profiles else None, progress)
        return read if chosen_device is None else read.estimated(chosen_device)

    old, new = read(0, a), read(1, second)
    if old.compilation is None or old.compilation != new.compilation:
        ids: str | None = EITHER if match_by_name is None else "names" if match_by_name else PLACES
        return compare(old.side, new.side, ids)
    if match_by_name is None and new.number > old.number + 1:
        return _composed(names, old, new, format, progress)
    ids = old.ids if match_by_name is None else "names" if match_by_name else "positions"
    origins = new.side.origins if new.number == old.number + 1 else ()
    return compare(old.side, new.side._replace(origins=origins), ids)


def _composed(names: tuple[str, str], old: _Read, new: _Read, format: str | None, progress: Progress | None) -> Recording:
    """Two snapshots of one compilation, by the links of all passes between them."""
    assert old.compilation is not None
    recording = open_recording(old.compilation[0], progress, format=format)
    before, after = recording[old.number], recording[new.number]
    origins = compose(recording, before, after, progress)
    return compare(old.side, new.side._replace(origins=origins), COMPOSED)


class _Read(NamedTuple):
    """One side of a comparison; if it is a pass of a recording, also which one, and what the recording says about ids."""

    side: Side
    compilation: tuple[str, str] | None = None
    """The recording, and the module within it."""
    number: int = 0
    ids: str | None = None

    def estimated(self, device: Device) -> _Read:
        return self._replace(side=self.side._replace(program=with_estimates(self.side.program, device)))


def _side(
    name: str, source: str, format: str | None, module: str | None, part: Part, profile: str | None, progress: Progress | None
) -> _Read:
    if profile is not None:
        timed = load_timed(source, module=module, format=format, profile=profile, part=part, progress=progress)
        return _Read(Side(name, only_program(source, [one.program for one in timed if one.times is not None])))
    base, which = split_at(source)
    if part.inside is not None or (not which and not is_recording_source(source, format)):
        return _Read(Side(name, only_program(source, read_programs(source, module, format, part, progress))))
    recording = open_passes(base, progress, format=format)
    snapshot = recording.snapshot(which, module) if which else _last_snapshot(source, recording, module)
    side = Side(name, snapshot.program, snapshot.origins)
    return _Read(side, (base, snapshot.module), snapshot.index, recording.attrs.get("ids"))


def _last_snapshot(source: str, recording: Recording, module: str | None) -> Snapshot:
    """The last snapshot of the only module, or of that one."""
    name = None if module is None else recording.module_named(module)
    last = {each.module: each for each in recording if name in (None, each.module)}
    if not last:
        raise SourceError(NOTHING_RECORDED, recording.name)
    if len(last) > 1:
        raise SourceError(several_modules(list(last)), source)
    return next(iter(last.values()))


def _pass_of(a: str, which: str, format: str | None) -> str:
    """The source for a B that is just a pass (@13): that pass of the recording that A names."""
    base, _ = split_at(a)
    if not is_recording_source(base, format):
        raise SourceError(f"is not a recording, so {which} names no pass in it", base)
    return base + which


def _told_apart(a: str, b: str) -> tuple[str, str]:
    """The last parts of both names, as many as it takes to tell them apart."""
    first, second = Path(a).parts, Path(b).parts
    most = max(len(first), len(second))
    parts = next((n for n in range(1, most) if first[-n:] != second[-n:]), most)
    return "/".join(first[-parts:]) or a, "/".join(second[-parts:]) or b
