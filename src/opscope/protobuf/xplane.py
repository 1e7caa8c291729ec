"""The messages of a profile: an excerpt of tsl/profiler/protobuf/xplane.proto, and a quick way through its millions of events."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from opscope.protobuf.wire import BYTES, Message, Schema, after_value, varint

XPLANE = Schema("""
message XSpace { repeated XPlane planes = 1; repeated string errors = 2; repeated string hostnames = 4; }
message XPlane {
  string name = 2;
  repeated bytes lines = 3;
  repeated EventMetadataEntry event_metadata = 4;
  repeated StatMetadataEntry stat_metadata = 5;
  repeated XStat stats = 6;
}
message EventMetadataEntry { int64 key = 1; XEventMetadata value = 2; }
message StatMetadataEntry { int64 key = 1; XStatMetadata value = 2; }
message XEventMetadata { string name = 2; string display_name = 4; repeated XStat stats = 5; }
message XStatMetadata { string name = 2; }
message XStat {
  int64 metadata_id = 1;
  double double_value = 2;
  uint64 uint64_value = 3;
  int64 int64_value = 4;
  string str_value = 5;
  bytes bytes_value = 6;
  uint64 ref_value = 7;
}
message XLine { string name = 2; int64 timestamp_ns = 3; string display_name = 11; }
""")

_EVENTS = 4 << 3 | BYTES
_METADATA, _OFFSET, _DURATION, _STATS = 1 << 3, 2 << 3, 3 << 3, 4 << 3 | BYTES
_MOST_NUMBERS = 100_000


_NUMBER = rb"([\x80-\xff]{0,9}[\x00-\x7f])"
_USUAL = re.compile(rb"\x22([\x00-\x7f]|[\x80-\xff][\x00-\x7f])\x08" + _NUMBER + rb"\x10" + _NUMBER + rb"\x18" + _NUMBER, re.DOTALL)
"""An event as profilers write it, up to its stats: size, metadata, offset, duration."""


def about_line(line: bytes) -> Message:
    """An XLine without its events."""
    rest = []
    pos, end = 0, len(line)
    while pos < end:
        begin = pos
        key = line[pos]
        if key == _EVENTS and pos + 1 < end and line[pos + 1] < 128:
            pos += 2 + line[pos + 1]
            continue
        key, pos = varint(line, pos, end)
        pos = after_value(line, pos, end, key)
        if key != _EVENTS:
            rest.append(line[begin:pos])
    return XPLANE.decode("XLine", b"".join(rest))


class RawEvent(NamedTuple):
    """An event of a line: which metadata it has, its place on the line and its length in picoseconds, and its stats, which are fields
    of their own one after another."""

    metadata: int
    offset: int
    duration: int
    stats: bytes


def line_events(line: bytes) -> Iterator[RawEvent]:
    """The events of an XLine, without dictionaries: a trace has millions of them."""
    pos, end = 0, len(line)
    match = _USUAL.match
    numbers: dict[bytes, int] = {}
    while pos < end:
        usual = match(line, pos)
        if usual is not None:
            size, metadata, offset, duration = usual.groups()
            stop = usual.end(1) + (size[0] if len(size) == 1 else size[0] & 127 | size[1] << 7)
            begin = usual.end()
            if begin <= stop <= end and (begin == stop or line[begin] == _STATS):
                number = numbers.get(duration)
                if number is None:
                    number = varint(duration, 0, len(duration))[0]
                    if len(numbers) < _MOST_NUMBERS:
                        numbers[duration] = number
                about = metadata[0] if len(metadata) == 1 else varint(metadata, 0, len(metadata))[0]
                yield RawEvent(about, varint(offset, 0, len(offset))[0], number, line[begin:stop])
                pos = stop
                continue
        key = line[pos]
        if key != _EVENTS:
            key, pos = varint(line, pos, end)
            pos = after_value(line, pos, end, key)
            continue
        stop = after_value(line, pos + 1, end, key)
        yield _unusual(line, varint(line, pos + 1, end)[1], stop)
        pos = stop


def _unusual(line: bytes, pos: int, stop: int) -> RawEvent:
    """An event whose fields are in another order."""
    metadata = offset = duration = 0
    stats: list[bytes] = []
    while pos < stop:
        key = line[pos]
        pos += 1
        if key == _METADATA:
            metadata, pos = varint(line, pos, stop)
        elif key == _OFFSET:
            offset, pos = varint(line, pos, stop)
        elif key == _DURATION:
            duration, pos = varint(line, pos, stop)
        else:
            begin = pos - 1
            key, pos = varint(line, begin, stop)
            pos = after_value(line, pos, stop, key)
            if key == _STATS:
                stats.append(line[begin:pos])
    return RawEvent(metadata, offset, duration, b"".join(stats))


def stat_bytes(stats: bytes) -> Iterator[bytes]:
    """The stats of an event one by one, each an XStat."""
    pos, end = 0, len(stats)
    while pos < end:
        key, pos = varint(stats, pos, end)
        stop = after_value(stats, pos, end, key)
        if key == _STATS:
            yield stats[varint(stats, pos, end)[1] : stop]
        pos = stop


def changing_stats(numbers: Collection[int]) -> re.Pattern[bytes]:
    """The beginning of an event's stats that none of these are, as long as they are numbers, which differ from event to event: the rest is
    often the same for all events of an instruction."""
    kept = b"".join([b"\\x%02x" % number for number in sorted(numbers) if number < 128])
    return re.compile(rb"(?:\x22[\x00-\x7f]\x08[^\x80-\xff" + kept + rb"][\x18\x20\x38][\x80-\xff]{0,9}[\x00-\x7f])*+", re.DOTALL)
