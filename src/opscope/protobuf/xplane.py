"""The messages of a profile: an excerpt of tsl/profiler/protobuf/xplane.proto, and a quick way through its millions of events."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from opscope.protobuf.wire import BYTES, Schema, after_value, varint

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


class RawEvent(NamedTuple):
    """An event of a line: which metadata it has, its place on the line and its length in picoseconds, and where its stats are."""

    metadata: int
    offset: int
    duration: int
    stats: list[tuple[int, int]]


def line_events(line: bytes, wanted: Collection[int] = ()) -> Iterator[RawEvent]:
    """The events of an XLine, without dictionaries: a trace has millions of them. Stats are those whose metadata is wanted, which is
    written first, so that the others need no decoding."""
    pos, end = 0, len(line)
    while pos < end:
        key = line[pos]
        if key != _EVENTS:
            key, pos = varint(line, pos, end)
            pos = after_value(line, pos, end, key)
            continue
        stop = after_value(line, pos + 1, end, key)
        pos = varint(line, pos + 1, end)[1]
        metadata = offset = duration = 0
        stats: list[tuple[int, int]] = []
        while pos < stop:
            key = line[pos]
            pos += 1
            if key == _STATS:
                size = line[pos] if pos < stop else 128
                if size > 127:
                    size, pos = varint(line, pos, stop)
                else:
                    pos += 1
                if pos + size > stop:
                    after_value(line, pos - 1, stop, key)
                if size > 1 and line[pos] == _METADATA and (line[pos + 1] in wanted or line[pos + 1] > 127):
                    stats.append((pos, pos + size))
                pos += size
            elif key == _METADATA:
                metadata, pos = varint(line, pos, stop)
            elif key == _OFFSET:
                offset, pos = varint(line, pos, stop)
            elif key == _DURATION:
                duration, pos = varint(line, pos, stop)
            else:
                key, pos = varint(line, pos - 1, stop)
                pos = after_value(line, pos, stop, key)
        yield RawEvent(metadata, offset, duration, stats)
