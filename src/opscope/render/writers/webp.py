"""WebP, at most 16,383 pixels wide and high."""

from __future__ import annotations

from opscope.render.writers.pillow import writer

write = writer("WEBP")
