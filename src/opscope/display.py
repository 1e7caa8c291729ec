"""How notebooks show an object: the viewer in the output of its cell."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Displayed:
    """For classes that `opscope.show` accepts. The viewer belongs to an outer layer, so it is looked up by name on demand."""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """For Jupyter, VS Code and Colab."""
        bundle: dict[str, Any] = import_module("opscope.serve.notebook").mimebundle(self)
        return bundle

    def _mime_(self) -> tuple[str, str]:
        """For marimo, which would show several kinds as tabs: one is enough."""
        bundle = self._repr_mimebundle_()
        kind = "text/html" if "text/html" in bundle else "text/plain"
        return kind, bundle[kind]
