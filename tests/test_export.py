"""Pictures without a browser: SVG, PNG and PDF from V8 inside this process, wherever that process is."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import re
import shutil
import struct
import subprocess
import sys
import zlib
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

import pytest
from conftest import Run
from hypothesis import given, settings
from programs import everything, programs

import opscope
from opscope.errors import OpscopeError
from opscope.program import Metric, Program, ProgramBuilder, TensorType
from opscope.render.draw import host
from opscope.render.draw.picture import draw
from opscope.render.writers.pdf import _font, pdf_bytes
from opscope.render.writers.png import png_bytes
from opscope.render.writers.svg import svg_text
from opscope.view_options import Background, ViewOptions

SVG = "{http://www.w3.org/2000/svg}"


def small(name: str = "small") -> Program:
    """Two layers of a few operations, not so alike that they would fold."""
    builder = ProgramBuilder(name)
    graph = builder.graph("main")
    wide = TensorType("f32", (8, 512))
    graph.node("x", "parameter", outputs=[wide], role="parameter")
    last = "x"
    for layer, ops in enumerate((("dot", "tanh", "add"), ("dot", "exp"))):
        for op in ops:
            node = f"{op}.{layer}"
            graph.node(node, op, [(last, 0)], [wide], scope=(f"layer_{layer}",))
            last = node
    graph.outputs.append((last, 0))
    return builder.build()


def chain(length: int) -> Program:
    builder = ProgramBuilder("chain")
    graph = builder.graph("main")
    for i in range(length):
        graph.node(f"n{i}", "tanh", [(f"n{i - 1}", 0)] if i else [], [TensorType("f32", (2,))])
    return builder.build()


def texts(svg: str) -> list[str]:
    """The texts of a picture, without tooltips."""
    shown = []
    for element in ElementTree.fromstring(svg).iter(f"{SVG}text"):
        tooltip = element.find(f"{SVG}title")
        shown.append((element.text if tooltip is None else tooltip.tail) or "")
    return shown


def png_size(data: bytes) -> tuple[int, int]:
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def test_svg_is_wellformed_and_shows_names_types_and_keys() -> None:
    svg = svg_text(small(), ViewOptions(depth=2))
    shown = texts(svg)
    assert {"dot", "tanh", "add", "layer_0", "layer_1", "f32[8, 512]"} <= set(shown)
    keys = [element.get("data-key") for element in ElementTree.fromstring(svg).iter() if element.get("data-key")]
    assert len(keys) == len(set(keys)) == 9
    assert "@font-face" in svg
    assert "@font-face" not in svg_text(small(), embed_font=False)


@pytest.mark.slow
@settings(max_examples=25)
@given(programs())
def test_any_program_becomes_wellformed_svg(program: Program) -> None:
    """Cycles, odd names, forward references: whatever the model can express can be drawn, and names never become markup."""
    for options in (ViewOptions(), ViewOptions(flatten=True, rankdir="LR"), ViewOptions(depth=9, wrap=True, theme="dark")):
        svg = draw(program, options, "svg").text
        assert ElementTree.fromstring(svg).tag == f"{SVG}svg"
        assert "NaN" not in svg


def test_a_chain_is_one_picture_until_it_is_really_long() -> None:
    """Graphviz draws 16 boxes below each other; so does opscope."""
    numbered = "Circled numbers continue across columns"
    short, long = draw(chain(16), ViewOptions(), "svg"), draw(chain(100), ViewOptions(), "svg")
    assert numbered not in short.text and short.height > 4 * short.width
    assert numbered in long.text and long.height < 4 * long.width


@pytest.mark.slow
def test_a_wrapped_picture_says_what_its_numbers_mean_and_covers_no_count() -> None:
    program = opscope.load("demo:train_step")
    assert isinstance(program, Program)
    legend = "resumes at the same number"
    assert legend not in draw(program, ViewOptions(wrap=False), "svg").text
    svg = draw(program, ViewOptions(wrap=True), "svg").text
    assert legend in svg
    texts = re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]+)</text>', svg)
    counts = [(float(x), float(y)) for x, y, text in texts if re.fullmatch(r"×\d+", text)]
    numbers = [(float(x), float(y)) for x, y, text in texts if re.fullmatch(r"\d+(, \d+)*", text)]
    assert counts and numbers
    assert not [(a, b) for a in counts for b in numbers if abs(a[0] - b[0]) < 12 and abs(a[1] - b[1]) < 10]


def test_svg_is_deterministic() -> None:
    assert svg_text(everything()) == svg_text(everything())


def test_save_goes_by_suffix(tmp_path: Path) -> None:
    for suffix, begins in ((".svg", b"<svg"), (".png", b"\x89PNG"), (".pdf", b"%PDF-1.6")):
        target = tmp_path / f"out{suffix}"
        opscope.save(small(), target)
        assert target.read_bytes().startswith(begins)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.pdf", "out.png", "out.svg"]


def test_png_scales_and_has_text_in_it() -> None:
    drawn = draw(small(), ViewOptions(depth=2), "svg")
    once, twice = (png_bytes(small(), ViewOptions(depth=2, scale=scale)) for scale in (1, 2))
    assert png_size(once) == (drawn.width, drawn.height)
    assert png_size(twice) == (2 * drawn.width, 2 * drawn.height)
    assert len(set(_grey_levels(once))) > 20, "text is drawn with soft edges; without a font there are none"


def _grey_levels(png: bytes) -> bytes:
    """The bytes of the decompressed image: rough, but enough to see whether there is more than a flat colour."""
    at, packed = 8, b""
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        if kind == b"IDAT":
            packed += png[at + 8 : at + 8 + length]
        at += 12 + length
    return zlib.decompress(packed)


@pytest.mark.slow
@pytest.mark.parametrize(("suffix", "format"), [("jpg", "JPEG"), ("JPEG", "JPEG"), ("webp", "WEBP"), ("gif", "GIF")])
def test_other_picture_formats_are_the_same_picture(tmp_path: Path, suffix: str, format: str) -> None:
    """Of the same size, with nearly the same colours as the PNG; a GIF has only 256."""
    image = pytest.importorskip("PIL.Image")
    opscope.save(small(), tmp_path / "p.png", scale=2)
    opscope.save(small(), tmp_path / f"p.{suffix}", scale=2)
    png, other = image.open(tmp_path / "p.png").convert("RGB"), image.open(tmp_path / f"p.{suffix}")
    assert other.format == format and other.size == png.size
    far = [abs(a - b) for a, b in zip(png.tobytes(), other.convert("RGB").tobytes(), strict=True)]
    assert sum(far) / len(far) < (4 if format == "GIF" else 2)
    opscope.save(small(), tmp_path / f"p.{suffix}")  # replaces its own kind of file
    opscope.save(small(), tmp_path / "clear.jpg", background="transparent")
    assert min(image.open(tmp_path / "clear.jpg").getpixel((0, 0))) > 250, "white where there is no background"


@pytest.mark.slow
def test_a_picture_that_a_format_cannot_hold_is_one_line(tmp_path: Path) -> None:
    pytest.importorskip("PIL.Image")
    with pytest.raises(OpscopeError, match=r"cannot be written as WEBP: .*; use a smaller scale"):
        opscope.save(chain(310), tmp_path / "p.webp", wrap=False)


@pytest.mark.slow
def test_a_missing_pillow_names_the_command_that_installs_it(run: Run, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['PIL'] = None\n")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    refused = run("export", "demo:detach", "-o", "p.jpg", env={"PYTHONPATH": path})
    assert refused.returncode == 2
    assert refused.stderr.strip().endswith("writing JPEG picture needs PIL: pip install 'opscope[images]'")


def test_boxes_grow_with_a_metric() -> None:
    """The largest number is twice as large, text included; the smallest, and boxes without one, are as usual."""
    program = small().with_metric(Metric("time", "s", "sum", "measured"), {"dot.0": 4e-3, "tanh.0": 1e-3, "exp.1": 2.5e-3})

    def sizes(options: ViewOptions) -> dict[str, tuple[float, float, float]]:
        drawn = ElementTree.fromstring(svg_text(program, options))
        groups = [group for group in drawn.iter(f"{SVG}g") if group.attrib.get("class", "").startswith("box")]
        bodies = {group.attrib["data-key"].rpartition(":")[2]: (group.find(f"{SVG}rect"), group.find(f"{SVG}text")) for group in groups}
        return {
            key: (float(rect.attrib["width"]), float(rect.attrib["height"]), float(text.attrib["font-size"]))
            for key, (rect, text) in bodies.items()
            if rect is not None and text is not None
        }

    usual, grown = sizes(ViewOptions(depth=9)), sizes(ViewOptions(depth=9, size_by="time"))
    factors = {key: [b / a for a, b in zip(usual[key], grown[key], strict=True)] for key in usual}
    assert factors["dot.0"] == pytest.approx([2, 2, 2], rel=0.02) and factors["exp.1"] == pytest.approx([1.5] * 3, rel=0.02)
    assert all(factors[key] == [1, 1, 1] for key in usual if key not in ("dot.0", "exp.1"))
    with pytest.raises(OpscopeError, match="no metric named 'times' to size boxes by; did you mean"):
        svg_text(program, ViewOptions(size_by="times"))


def test_png_that_would_be_too_large_says_which_scale_fits() -> None:
    with pytest.raises(OpscopeError, match=r"use a scale of \S+ or less"):
        png_bytes(chain(300), ViewOptions(scale=32, wrap=False))


def test_pdf_is_complete_and_its_text_can_be_found(tmp_path: Path) -> None:
    data = pdf_bytes(small(), ViewOptions(depth=2))
    start = int(re.findall(rb"startxref\n(\d+)", data)[0])
    assert data[start : start + 4] == b"xref"
    rows = re.findall(rb"(\d{10}) 00000 n ", data[start:])
    for number, row in enumerate(rows, 1):
        assert data[int(row) :].startswith(b"%d 0 obj" % number)
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext is not installed")
    path = tmp_path / "page.pdf"
    path.write_bytes(data)
    page_text = subprocess.run(["pdftotext", "-layout", path, "-"], capture_output=True, check=True).stdout.decode()
    for word in ("layer_0", "layer_1", "dot", "f32[8, 512]", "▾"):
        assert word in page_text


def test_pdf_of_a_very_long_picture_stays_within_the_page_limit() -> None:
    data = pdf_bytes(chain(600), ViewOptions(wrap=False))
    width, height = map(float, re.findall(rb"MediaBox\[0 0 (\S+) (\S+)\]", data)[0])
    assert 0 < width < height <= 14_400
    assert b"/UserUnit" in data


def test_advance_table_is_that_of_the_font_files() -> None:
    """The layout measures with this table; if it differed from the fonts, text would run out of its boxes."""
    source = (Path(__file__).parents[1] / "web" / "src" / "core" / "text" / "advances.ts").read_text()
    lists = re.findall(r"const (\w+): readonly number\[\] = \[([^\]]*)\]", source)
    numbers = {name: [int(n) for n in re.findall(r"\d+", body)] for name, body in lists}
    spans = zip(numbers["SPANS"][::2], numbers["SPANS"][1::2], strict=True)
    codes = [code for first, last in spans for code in range(first, last + 1)]
    for style, column in (("Regular", "REGULAR"), ("Bold", "BOLD")):
        font = _font(style)
        assert sorted(font.glyph_of) == codes
        assert [font.advances[font.glyph_of[code]] for code in codes] == numbers[column]
        assert font.units == int(re.findall(r"UNITS_PER_EM = (\d+)", source)[0])


@pytest.mark.slow
def test_threads_draw_at_the_same_time() -> None:
    expected = svg_text(small())
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: svg_text(small()), range(8))) == [expected] * 8


def test_inside_a_running_event_loop() -> None:
    """A notebook cell runs inside one."""

    async def cell() -> str:
        return svg_text(small())

    with ThreadPoolExecutor(1) as thread:  # a thread of its own: Playwright may have a loop running in this one
        assert thread.submit(asyncio.run, cell()).result() == svg_text(small())


def _sizes(name: str) -> int:
    return len(svg_text(small(name)))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_process_pool_after_this_process_has_drawn(method: str) -> None:
    """V8 does not survive a fork; a forked child must notice and still draw."""
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system cannot {method}")
    expected = _sizes("small")
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        assert list(pool.map(_sizes, ["small", "small"])) == [expected] * 2


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "expected"), [(8 << 30, 2), (1 << 40, 0)])
def test_a_limit_on_virtual_memory_is_one_line_or_no_obstacle(tmp_path: Path, limit: int, expected: int) -> None:
    """V8 reserves hundreds of gigabytes of addresses, and aborts the process where `ulimit -v` forbids it, as on many shared machines."""
    resource = pytest.importorskip("resource")
    command = [sys.executable, "-m", "opscope", "export", "demo:train_step", "-o", str(tmp_path / "step.svg")]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    )
    assert done.returncode == expected, done.stderr
    assert ("ulimit -v unlimited" in done.stderr and len(done.stderr.splitlines()) == 1) == (expected == 2)


def test_unknown_names_are_refused_with_the_closest() -> None:
    with pytest.raises(OpscopeError, match=r"no node named 'dot.00'.*'dot.0'"):
        svg_text(small(), ViewOptions(around=("dot.00",)))
    with pytest.raises(OpscopeError, match=r"no graph named 'mian'.*'main'"):
        svg_text(small(), ViewOptions(graph="mian"))


def test_an_error_of_the_core_is_one_line() -> None:
    with pytest.raises(OpscopeError, match="not an opscope program") as caught:
        host.run(b"nonsense, and more than a header of it", [("load", None)])
    assert "\n" not in str(caught.value)


def test_missing_bundle_says_how_to_build_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    host._bundle.cache_clear()
    monkeypatch.setattr(host, "_BUNDLE", tmp_path / "core.js")
    with pytest.raises(OpscopeError, match=r"node build\.mjs"):
        svg_text(small())
    host._bundle.cache_clear()


@pytest.mark.parametrize(("background", "pixel"), [("theme", (252, 252, 253, 255)), ("white", (255,) * 4), ("transparent", (0,) * 4)])
def test_a_picture_has_the_background_of_the_theme_white_or_none(background: Background, pixel: tuple[int, ...]) -> None:
    options = ViewOptions(background=background)
    png = png_bytes(small(), options)
    start = png.index(b"IDAT")
    (length,) = struct.unpack(">I", png[start - 4 : start])
    first_row = zlib.decompressobj().decompress(png[start + 4 : start + 4 + length], 5)
    assert tuple(first_row[1:]) == pixel
    paper = f"{' '.join(f'{channel / 255:.3g}' for channel in pixel[:3])} rg"
    assert (draw(small(), options, "pdf").text.splitlines()[0] == paper) == (background != "transparent")


def test_requested_nodes_have_a_strong_border() -> None:
    svg = svg_text(small(), ViewOptions(around=("tanh.0",), hops=1))
    groups = ElementTree.fromstring(svg).iter(f"{SVG}g")
    assert [group.get("data-key") for group in groups if group.find(f"{SVG}rect[@stroke-width='2.4']") is not None] == ["n:tanh.0"]


@pytest.mark.slow
def test_a_picture_that_does_not_fit_into_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the limit, V8 would abort the whole process, and a notebook with it."""
    monkeypatch.setattr(host, "MEMORY_LIMIT", 40_000_000)
    with pytest.raises(OpscopeError, match="does not fit in memory"):
        svg_text(chain(40_000), ViewOptions(flatten=True))
    monkeypatch.undo()
    assert svg_text(small())


def test_progress_is_reported_in_order() -> None:
    fractions: list[float] = []
    svg_text(small(), progress=fractions.append)
    assert fractions == sorted(fractions)
    assert len(fractions) == 4


@pytest.mark.slow
def test_command_line(run, tmp_path: Path) -> None:
    opscope.save(small(), tmp_path / "p.json")
    assert run("export", "p.json", "-o", "p.svg", "--depth", "1").returncode == 0
    assert run("export", "p.json", "-o", "p.png", "--scale", "2", "--theme", "dark").returncode == 0
    assert run("export", "p.json", "-o", "p.pdf", "--flatten").returncode == 0
    assert (tmp_path / "p.svg").read_text().startswith("<svg")
    missing = run("export", "p.json", "-o", "q.svg", "--around", "dto.1", "--hops", "3")
    assert missing.returncode == 2
    assert "dot.1" in missing.stderr
    assert not (tmp_path / "q.svg").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("module", "package", "name"), [("py_mini_racer", "mini-racer", "x.svg"), ("resvg_py", "resvg-py", "x.png")])
def test_a_missing_dependency_is_named_as_in_pip(run: Run, tmp_path: Path, module: str, package: str, name: str) -> None:
    (tmp_path / f"{module}.py").write_text("raise ImportError")
    done = run("export", "demo:detach", "-o", name)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and f"pip install {package}" in done.stderr


@pytest.mark.slow
def test_repeated_layers_are_drawn_once_unless_asked_otherwise() -> None:
    program = opscope.load("demo:train_step")
    folded, unfolded = (draw(program, ViewOptions(depth=2, fold=fold), "svg") for fold in (True, False))
    assert folded.boxes < unfolded.boxes
