"""Refuses to build a wheel without the viewer: such a wheel installs without a word and cannot draw anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_BUNDLES = ("core.js", "viewer.js", "NOTICE.txt")


class ViewerIsBuilt(BuildHookInterface[Any]):
    """Checks for the bundles and the notice that `web/build.mjs` writes. An editable install may come before them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        static = Path(self.root) / "src" / "opscope" / "static"
        missing = [name for name in _BUNDLES if not (static / name).is_file()]
        if missing:
            raise SystemExit(
                f"opscope's viewer is not built ({', '.join(missing)} missing in src/opscope/static). "
                "Run `make wheel` in a checkout, or install a released wheel with `pip install opscope`."
            )
