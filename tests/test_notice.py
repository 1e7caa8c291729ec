"""The licences of bundled code go where the code goes: into the wheel and into every page."""

from __future__ import annotations

import json
from pathlib import Path

import opscope
from opscope.render.writers.html import viewer_script

ROOT = Path(__file__).resolve().parent.parent


def test_every_bundled_package_is_named_with_its_licence() -> None:
    notice = (ROOT / "src" / "opscope" / "static" / "NOTICE.txt").read_text("utf-8")
    locked = json.loads((ROOT / "web" / "package-lock.json").read_text("utf-8"))["packages"]
    bundled = [path.removeprefix("node_modules/") for path, package in locked.items() if path and not package.get("dev")]
    assert "preact" in bundled
    for name in bundled:
        assert f"\n{name} {locked[f'node_modules/{name}']['version']} (" in notice, "build the viewer again: node build.mjs"
    assert "Permission is hereby granted, free of charge" in notice


def test_a_page_contains_the_notice(tmp_path: Path) -> None:
    builder = opscope.ProgramBuilder("p")
    builder.graph("main").node("x", "op")
    page = tmp_path / "page.html"
    opscope.save(builder.build(), page)
    notice = (ROOT / "src" / "opscope" / "static" / "NOTICE.txt").read_text("utf-8")
    assert notice.replace("*/", "* /") in viewer_script() and "preact" in notice
    assert viewer_script() in page.read_text("utf-8")
