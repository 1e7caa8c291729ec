"""GIF, with the 256 colours that suit the picture best."""

from __future__ import annotations

from opscope.render.writers.pillow import writer

write = writer("GIF")
