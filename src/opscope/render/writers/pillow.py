"""The picture formats that Pillow encodes: the PNG, converted."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from opscope.errors import OpscopeError, error_line
from opscope.plugin import Progress
from opscope.program import Program
from opscope.render.writers.png import png_bytes
from opscope.view_options import ViewOptions

QUALITY = 92
"""Of JPEG and WebP: small text stays sharp."""


def writer(format: str, *, opaque: bool = False) -> Callable[[list[Program], Path, ViewOptions, Progress | None], None]:
    """The `write` of a writer module. A picture that must be `opaque` gets white where it has no background."""

    def write(programs: list[Program], target: Path, options: ViewOptions, progress: Progress | None = None) -> None:
        from PIL import Image

        png = BytesIO(png_bytes(programs[0], options, progress))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # it is our own picture
                picture = Image.open(png).convert("RGBA")
            if opaque:
                white = Image.new("RGBA", picture.size, "white")
                picture = Image.alpha_composite(white, picture).convert("RGB")
            picture.save(target, format, quality=QUALITY)
        except (OSError, ValueError, Image.DecompressionBombError) as error:
            help = "use a smaller scale, show less of the program, or write .png, .svg or .pdf"
            raise OpscopeError(f"the picture cannot be written as {format}: {error_line(error)}; {help}") from None

    return write
