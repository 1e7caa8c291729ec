"""A source as readers see it: a name, the first bytes for sniffing, and the contents once a reader is chosen."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from opscope.demo import source_path
from opscope.errors import SourceError
from opscope.limits import most_bytes, most_streamed, too_large
from opscope.naming import suggest_file

HEAD_BYTES = 1 << 16
GZIP_MAGIC, ZIP_MAGIC = b"\x1f\x8b", b"PK\x03\x04"


def first_bytes(path: Path, count: int = HEAD_BYTES) -> bytes:
    """How a file begins, as it is stored."""
    try:
        with path.open("rb") as stream:
            return stream.read(count)
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror or error}", str(path)) from None


class Source:
    """A file, a directory, standard input ("-"), a pipe or bytes in memory. Gzip is decompressed transparently.

    The directory that a profiler writes stands for the trace in it.
    """

    def __init__(self, path: str | Path, data: bytes | None = None) -> None:
        self.name = "<stdin>" if str(path) == "-" else str(path)
        self.path = source_path(path)
        self._data = self._read_once() if data is None else data
        if self._data is None and self.path.is_dir():
            from opscope.profile.xplane import trace_in

            self.path = trace_in(self.path) or self.path
        self.is_directory = self._data is None and self.path.is_dir()

    def _read_once(self) -> bytes | None:
        """The bytes of a stream that can be read only once: standard input, or a pipe such as the shell's `<(zcat step.hlo.gz)`."""
        if self.name == "<stdin>":
            if sys.stdin is None:
                raise SourceError("standard input is closed; pipe a source into it", self.name)
            return self._streamed(sys.stdin.buffer)
        if not self.path.exists():
            if self.path.is_symlink():
                raise SourceError("is a link that leads to no file", self.name)
            raise SourceError(f"no such file or directory{suggest_file(self.path)}", self.name)
        if self.path.is_char_device() or self.path.is_block_device():
            raise SourceError("is a device; expected a file, a directory or a pipe", self.name)
        if not self.path.is_fifo():
            return None
        with self.path.open("rb") as stream:
            return self._streamed(stream)

    def _streamed(self, stream: BinaryIO) -> bytes:
        content = stream.read(most_streamed() + 1)
        if len(content) > most_streamed():
            raise too_large("sends", most_streamed()).at(self.name)
        return content

    @property
    def suffixes(self) -> list[str]:
        """Lower-case suffixes without `.gz`: [".hlo", ".txt"]."""
        return [s.lower() for s in self.path.suffixes if s.lower() != ".gz"]

    def _open(self) -> io.BufferedIOBase:
        raw: io.BufferedIOBase
        try:
            raw = io.BytesIO(self._data) if self._data is not None else self.path.open("rb")
        except OSError as error:
            raise SourceError(f"cannot be opened: {error.strerror or error}", self.name) from None
        is_gzip = raw.read(2) == GZIP_MAGIC
        raw.seek(0)
        return gzip.GzipFile(fileobj=raw) if is_gzip else raw

    def stream(self) -> io.BufferedIOBase:
        """The decompressed contents, to be read once from beginning to end."""
        return self._open()

    def open(self) -> io.BufferedIOBase:
        """The decompressed contents as a stream in which one can seek quickly, for archives."""
        stream = self._open()
        if not isinstance(stream, gzip.GzipFile):
            return stream
        stream.close()
        return io.BytesIO(self._read())

    def _read(self, size: int = -1) -> bytes:
        with self._open() as stream:
            is_packed = isinstance(stream, gzip.GzipFile)
            most = most_bytes(self.size) if is_packed else -1
            try:
                content = stream.read(most + 1 if is_packed and size < 0 else size)
            except (EOFError, zlib.error, OSError) as error:
                raise SourceError(f"cannot be decompressed: {error}; the file may be truncated", self.name) from None
        if is_packed and len(content) > most:
            raise too_large("unpacks to", most).at(self.name)
        return content

    @property
    def size(self) -> int:
        """Bytes of the source as it is stored."""
        return os.path.getsize(self.path) if self._data is None else len(self._data)

    @cached_property
    def head(self) -> bytes:
        """The first 64 kB, for sniffing."""
        return b"" if self.is_directory else self._read(HEAD_BYTES)

    @cached_property
    def head_text(self) -> str:
        return self.head.decode("utf-8", "replace")

    def read_bytes(self) -> bytes:
        """The whole contents, decompressed. Not cached: a large file should be in memory only once."""
        return self._read()

    def read_text(self) -> str:
        """The whole contents as text. Invalid UTF-8 becomes replacement characters, not an error."""
        return self.read_bytes().decode("utf-8-sig", "replace")
