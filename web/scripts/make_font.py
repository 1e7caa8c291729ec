"""Make the bundled font and its advance table from Inter (SIL Open Font License).

    npm pack inter-ui@4.1.1 && tar xzf inter-ui-4.1.1.tgz
    python web/scripts/make_font.py package          # needs fonttools and brotli

The result is Inter with tabular digits by default, only the characters that graphs use, no kerning and no ligatures, and the
small triangles that a tree of groups needs and two signs of derivative rules (⊙ and ᵀ), drawn here. It has a name of its own
("Opscope Sans"), because an installed Inter would have other widths. Everything that measures text (browser, V8, resvg, PDF) then
agrees to the last bit with `advances.ts`.
"""

from __future__ import annotations

import math
import shutil
import sys
from pathlib import Path

from fontTools.pens.transformPen import TransformPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

ROOT = Path(__file__).resolve().parents[2]
FONTS = ROOT / "src" / "opscope" / "render" / "fonts"
TABLE = ROOT / "web" / "src" / "core" / "text" / "advances.ts"
FAMILY = "Opscope Sans"
WEIGHTS = {"Regular": ("Inter-Regular", 400), "Bold": ("Inter-SemiBold", 600)}
RANGES = [
    (0x20, 0x7E), (0xA0, 0x17F), (0x2BC, 0x2BC), (0x370, 0x3FF), (0x2010, 0x2044), (0x2070, 0x209C), (0x20AC, 0x20AC),
    (0x1D40, 0x1D40), (0x2113, 0x2122), (0x2190, 0x21FF), (0x2200, 0x22FF), (0x25A0, 0x25FF), (0x2713, 0x2717),
]  # fmt: skip
TRIANGLES = {  # corners in units of 1/1000 em, on an em of advance 0.62
    0x25B8: ("triangleRight", [(130, 110), (130, 590), (510, 350)]),
    0x25BE: ("triangleDown", [(70, 540), (550, 540), (310, 160)]),
    0x25B4: ("triangleUp", [(70, 160), (310, 540), (550, 160)]),
    0x25C2: ("triangleLeft", [(490, 110), (110, 350), (490, 590)]),
}


RAISED = {0x1D40: ("T", 0.6, 0.34)}  # letters of the font itself: smaller, and that much of an em higher
CIRCLED_DOT = 0x2299


def make(source: Path, weight: int, style: str) -> TTFont:
    font = TTFont(source)
    font.flavor = None
    digits = {code: f"{font.getBestCmap()[code]}.tf" for code in range(0x30, 0x3A)}
    for table in font["cmap"].tables:
        table.cmap.update(digits)
    add_triangles(font)
    add_mathematics(font, weight)
    codes = [code for first, last in RANGES for code in range(first, last + 1)]
    options = Options(layout_features=[], hinting=False, notdef_outline=True)
    options.name_IDs = [0, 1, 2, 3, 4, 5, 6, 13, 14]
    options.drop_tables = ["GSUB", "GPOS", "GDEF", "STAT"]
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=codes)
    subsetter.subset(font)
    rename(font, style)
    font["OS/2"].usWeightClass = weight
    return font


def add_triangles(font: TTFont) -> None:
    em = font["head"].unitsPerEm
    glyphs, order = font["glyf"], font.getGlyphOrder()
    for code, (name, corners) in TRIANGLES.items():
        pen = TTGlyphPen(None)
        scaled = [(round(x * em / 1000), round(y * em / 1000)) for x, y in corners]
        pen.moveTo(scaled[0])
        pen.lineTo(scaled[1])
        pen.lineTo(scaled[2])
        pen.closePath()
        order.append(name)
        glyphs[name] = pen.glyph()
        font["hmtx"][name] = (round(0.62 * em), min(x for x, _ in scaled))
        for table in font["cmap"].tables:
            table.cmap[code] = name
    font.setGlyphOrder(order)


def add_mathematics(font: TTFont, weight: int) -> None:
    """What derivative rules need and Inter lacks: the transposed ᵀ, and ⊙ for products of elements."""
    em = font["head"].unitsPerEm
    shapes = font.getGlyphSet()
    for code, (letter, size, up) in RAISED.items():
        pen = TTGlyphPen(None)
        shapes[font.getBestCmap()[ord(letter)]].draw(TransformPen(pen, (size, 0, 0, size, 0, up * em)))
        _add_glyph(font, code, f"raised{letter}", pen, round(font["hmtx"][font.getBestCmap()[ord(letter)]][0] * size))
    pen = TTGlyphPen(None)
    middle, radius, line = (0.32 * em, 0.36 * em), 0.26 * em, (0.062 if weight < 500 else 0.085) * em
    _circle(pen, middle, radius, 1)
    _circle(pen, middle, radius - line, -1)
    _circle(pen, middle, 1.1 * line, 1)
    _add_glyph(font, CIRCLED_DOT, "circledDot", pen, round(0.64 * em))


def _circle(pen: TTGlyphPen, middle: tuple[float, float], radius: float, way: int) -> None:
    """Eight quadratic arcs; holes run the other way round."""
    corners = [way * k * math.pi / 8 for k in range(16)]
    reach = [radius / math.cos(math.pi / 8) if k % 2 else radius for k in range(16)]
    points = [(middle[0] + r * math.cos(a), middle[1] - r * math.sin(a)) for a, r in zip(corners, reach, strict=True)]
    pen.moveTo(points[0])
    for k in range(1, 16, 2):
        pen.qCurveTo(points[k], points[(k + 1) % 16])
    pen.closePath()


def _add_glyph(font: TTFont, code: int, name: str, pen: TTGlyphPen, advance: int) -> None:
    order = font.getGlyphOrder()
    order.append(name)
    glyph = pen.glyph()
    font["glyf"][name] = glyph
    glyph.recalcBounds(font["glyf"])
    font["hmtx"][name] = (advance, glyph.xMin)
    for table in font["cmap"].tables:
        table.cmap[code] = name
    font.setGlyphOrder(order)


def rename(font: TTFont, style: str) -> None:
    names = {1: FAMILY, 2: style, 3: f"{FAMILY} {style}", 4: f"{FAMILY} {style}", 6: f"{FAMILY.replace(' ', '')}-{style}"}
    for record in list(font["name"].names):
        if record.nameID in names:
            font["name"].setName(names[record.nameID], record.nameID, record.platformID, record.platEncID, record.langID)


def advances(font: TTFont) -> dict[int, int]:
    widths = font["hmtx"].metrics
    return {code: widths[name][0] for code, name in font.getBestCmap().items()}


def runs(codes: list[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for code in codes:
        if found and found[-1][1] == code - 1:
            found[-1] = (found[-1][0], code)
        else:
            found.append((code, code))
    return found


def write_table(fonts: dict[str, TTFont]) -> None:
    regular, bold = advances(fonts["Regular"]), advances(fonts["Bold"])
    codes = sorted(regular)
    assert codes == sorted(bold)
    spans = runs(codes)
    lines = [
        "// Made by web/scripts/make_font.py; do not edit. Advance widths of the bundled font.",
        f"export const FONT_FAMILY = {FAMILY!r};".replace("'", '"'),
        f"export const UNITS_PER_EM = {fonts['Regular']['head'].unitsPerEm};",
        "/** First and last code point of each span that the font covers. */",
        f"export const SPANS: readonly number[] = [{', '.join(f'{a}, {b}' for a, b in spans)}];",
        "/** Advances of all covered code points, in order. */",
        f"export const REGULAR: readonly number[] = [{', '.join(str(regular[c]) for c in codes)}];",
        f"export const BOLD: readonly number[] = [{', '.join(str(bold[c]) for c in codes)}];",
    ]
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    TABLE.write_text("\n".join(lines) + "\n")


def main() -> None:
    package = Path(sys.argv[1])
    FONTS.mkdir(parents=True, exist_ok=True)
    fonts = {style: make(package / "web" / f"{name}.woff2", weight, style) for style, (name, weight) in WEIGHTS.items()}
    for style, font in fonts.items():
        stem = FONTS / f"OpscopeSans-{style}"
        font.flavor = None
        font.save(stem.with_suffix(".ttf"))
        font.flavor = "woff2"
        font.save(stem.with_suffix(".woff2"))
        font.flavor = None
    shutil.copy(package / "LICENSE.txt", FONTS / "OFL.txt")
    write_table(fonts)
    for path in sorted(FONTS.iterdir()):
        print(f"{path.stat().st_size:8d}  {path.name}")


if __name__ == "__main__":
    main()
