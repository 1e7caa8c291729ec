"""opscope: see the graphs your model becomes, and what every compiler pass does to them."""

from __future__ import annotations

__version__ = "0.1.0"
