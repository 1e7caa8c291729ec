"""JPEG, for tools that take no PNG. It has no transparency."""

from __future__ import annotations

from opscope.render.writers.pillow import writer

write = writer("JPEG", opaque=True)
