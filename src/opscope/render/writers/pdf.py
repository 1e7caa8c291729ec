"""PDF: one page as large as the picture, vector graphics only, with text that can be selected and searched.

The core writes the drawing commands; this file wraps them in a document. Fonts are embedded whole (40 kB each) and addressed by
Unicode code unit, so text needs no other encoding.
"""

from __future__ import annotations

import struct
import zlib
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from opscope.plugin import Progress
from opscope.program import Program
from opscope.render.draw.picture import draw
from opscope.render.writers.svg import FONTS, WEIGHTS
from opscope.view_options import ViewOptions

POINTS_PER_PIXEL = 0.75
LARGEST_PAGE = 14_400
"""In points. Larger pages use units of several points each."""


def pdf_bytes(program: Program, options: ViewOptions | None = None, progress: Progress | None = None) -> bytes:
    """The picture of a program as a one-page document."""
    chosen = options or ViewOptions()
    drawn = draw(program, chosen, "pdf", progress=progress)
    return document(drawn.text, drawn.width * chosen.scale, drawn.height * chosen.scale, chosen.scale, program.name)


def write(programs: list[Program], target: Path, options: ViewOptions, progress: Progress | None = None) -> None:
    target.write_bytes(pdf_bytes(programs[0], options, progress))


def document(content: str, width: float, height: float, scale: float, title: str) -> bytes:
    """A document with one page of that many pixels. In `content`, y points down."""
    unit = max(1, -(-int(max(width, height) * POINTS_PER_PIXEL) // LARGEST_PAGE))
    per_pixel = POINTS_PER_PIXEL / unit
    wide, high = width * per_pixel, height * per_pixel
    zoom = per_pixel * scale
    commands = f"{zoom:.6f} 0 0 {-zoom:.6f} 0 {high:.3f} cm 1 j\n{content}\n".encode("ascii")

    file = _Objects()
    catalog, pages, page, stream, info = (file.reserve() for _ in range(5))
    fonts = [_write_font(file, _font(style), weight) for style, weight in WEIGHTS.items()]
    file.put(catalog, f"<</Type/Catalog/Pages {pages} 0 R/ViewerPreferences<</DisplayDocTitle true>>>>")
    file.put(pages, f"<</Type/Pages/Kids[{page} 0 R]/Count 1>>")
    resources = "".join(f"/F{i} {font} 0 R" for i, font in enumerate(fonts, 1))
    user_unit = f"/UserUnit {unit}" if unit > 1 else ""
    file.put(
        page,
        f"<</Type/Page/Parent {pages} 0 R/MediaBox[0 0 {wide:.3f} {high:.3f}]{user_unit}"
        f"/Resources<</Font<<{resources}>>>>/Contents {stream} 0 R>>",
    )
    file.put_stream(stream, commands)
    file.put(info, f"<</Title<{_utf16(title)}>/Producer(opscope)>>")
    return file.finish(catalog, info)


class _Objects:
    """Numbered objects and, at the end, the table of their offsets."""

    def __init__(self) -> None:
        self.parts: list[bytes] = [b"%PDF-1.6\n%\xe2\xe3\xcf\xd3\n"]
        self.length = len(self.parts[0])
        self.offsets: list[int] = [0]

    def reserve(self) -> int:
        self.offsets.append(0)
        return len(self.offsets) - 1

    def _append(self, data: bytes) -> None:
        self.parts.append(data)
        self.length += len(data)

    def put(self, number: int, body: str | bytes) -> int:
        self.offsets[number] = self.length
        data = body.encode("ascii") if isinstance(body, str) else body
        self._append(b"%d 0 obj\n%b\nendobj\n" % (number, data))
        return number

    def put_stream(self, number: int, data: bytes, extra: str = "") -> int:
        packed = zlib.compress(data, 6)
        head = f"<</Length {len(packed)}/Filter/FlateDecode{extra}>>\nstream\n".encode("ascii")
        return self.put(number, head + packed + b"\nendstream")

    def finish(self, catalog: int, info: int) -> bytes:
        start = self.length
        rows = "".join(f"{offset:010d} 00000 n \n" for offset in self.offsets[1:])
        size = len(self.offsets)
        trailer = f"<</Size {size}/Root {catalog} 0 R/Info {info} 0 R>>"
        tail = f"xref\n0 {size}\n0000000000 65535 f \n{rows}trailer\n{trailer}\nstartxref\n{start}\n%%EOF\n"
        self._append(tail.encode("ascii"))
        return b"".join(self.parts)


class _Font(NamedTuple):
    name: str
    data: bytes
    glyph_of: dict[int, int]
    """The glyph number of each code unit."""
    advances: list[int]
    """The widths of the glyphs, in font units."""
    units: int
    ascent: int
    descent: int
    box: tuple[int, int, int, int]

    def thousandth(self, value: int) -> int:
        return round(value * 1000 / self.units)


@lru_cache(maxsize=2)
def _font(style: str) -> _Font:
    """What a PDF needs from a TrueType file."""
    data = (FONTS / f"OpscopeSans-{style}.ttf").read_bytes()
    count = struct.unpack_from(">H", data, 4)[0]
    tables = {}
    for i in range(count):
        tag, _, offset, _ = struct.unpack_from(">4sIII", data, 12 + 16 * i)
        tables[tag] = offset
    head, hhea, maxp = tables[b"head"], tables[b"hhea"], tables[b"maxp"]
    units = struct.unpack_from(">H", data, head + 18)[0]
    box = struct.unpack_from(">4h", data, head + 36)
    ascent, descent = struct.unpack_from(">2h", data, hhea + 4)
    measured = struct.unpack_from(">H", data, hhea + 34)[0]
    glyphs = struct.unpack_from(">H", data, maxp + 4)[0]
    advances = [struct.unpack_from(">H", data, tables[b"hmtx"] + 4 * min(i, measured - 1))[0] for i in range(glyphs)]
    return _Font(f"OpscopeSans-{style}", data, _character_map(data, tables[b"cmap"]), advances, units, ascent, descent, box)


def _character_map(data: bytes, cmap: int) -> dict[int, int]:
    """Glyphs of the basic plane, from the table's format 4 part."""
    count = struct.unpack_from(">H", data, cmap + 2)[0]
    for i in range(count):
        at = cmap + struct.unpack_from(">I", data, cmap + 4 + 8 * i + 4)[0]
        if struct.unpack_from(">H", data, at)[0] == 4:
            break
    else:
        raise ValueError("the bundled font has no format 4 character map")
    segments = struct.unpack_from(">H", data, at + 6)[0] // 2
    ends = at + 14
    starts, deltas, ranges = ends + 2 * segments + 2, ends + 4 * segments + 2, ends + 6 * segments + 2
    glyph_of = {}
    for s in range(segments):
        end, start = struct.unpack_from(">H", data, ends + 2 * s)[0], struct.unpack_from(">H", data, starts + 2 * s)[0]
        delta, offset = struct.unpack_from(">H", data, deltas + 2 * s)[0], struct.unpack_from(">H", data, ranges + 2 * s)[0]
        for code in range(start, min(end, 0xFFFE) + 1):
            glyph = code if not offset else struct.unpack_from(">H", data, ranges + 2 * s + offset + 2 * (code - start))[0]
            if not offset or glyph:
                glyph_of[code] = (glyph + delta) & 0xFFFF
    return glyph_of


def _write_font(file: _Objects, font: _Font, weight: int) -> int:
    outer, inner, descriptor, program, glyphs, unicode = (file.reserve() for _ in range(6))
    file.put_stream(program, font.data, f"/Length1 {len(font.data)}")
    box = " ".join(str(font.thousandth(v)) for v in font.box)
    file.put(
        descriptor,
        f"<</Type/FontDescriptor/FontName/{font.name}/Flags 4/FontBBox[{box}]/ItalicAngle 0/Ascent {font.thousandth(font.ascent)}"
        f"/Descent {font.thousandth(font.descent)}/CapHeight 728/StemV {weight // 5}/FontFile2 {program} 0 R>>",
    )
    table = bytearray(2 * 0x10000)
    for code, glyph in font.glyph_of.items():
        struct.pack_into(">H", table, 2 * code, glyph)
    file.put_stream(glyphs, bytes(table))
    widths = "".join(f"{code}[{font.thousandth(font.advances[glyph])}]" for code, glyph in sorted(font.glyph_of.items()))
    file.put(
        inner,
        f"<</Type/Font/Subtype/CIDFontType2/BaseFont/{font.name}/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>"
        f"/FontDescriptor {descriptor} 0 R/DW 1000/W[{widths}]/CIDToGIDMap {glyphs} 0 R>>",
    )
    file.put_stream(unicode, _TO_UNICODE)
    return file.put(
        outer,
        f"<</Type/Font/Subtype/Type0/BaseFont/{font.name}/Encoding/Identity-H/DescendantFonts[{inner} 0 R]/ToUnicode {unicode} 0 R>>",
    )


def _identity_ranges() -> str:
    """Code units map to themselves. A range may not cross a change of the first byte, and a block has at most a hundred ranges."""
    rows = [f"<{page:02x}00> <{page:02x}ff> <{page:02x}00>" for page in range(256) if not 0xD8 <= page <= 0xDF]
    blocks = [rows[i : i + 100] for i in range(0, len(rows), 100)]
    return "".join(f"{len(block)} beginbfrange\n" + "\n".join(block) + "\nendbfrange\n" for block in blocks)


_TO_UNICODE = (
    "/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n"
    "/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def\n/CMapName /Unicode def\n/CMapType 2 def\n"
    "1 begincodespacerange\n<0000> <ffff>\nendcodespacerange\n"
    f"{_identity_ranges()}endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n"
).encode("ascii")


def _utf16(text: str) -> str:
    return "feff" + text.encode("utf-16-be", errors="replace").hex()
