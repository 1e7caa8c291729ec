"""The one-file page as text: what it may do, what it contains, and how large it is."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from programs import everything

import opscope
from opscope.analysis.enrich import enrich
from opscope.errors import OpscopeError
from opscope.render.wire.program import encode_wire
from opscope.render.writers.html import document, json_for_script, viewer_script
from opscope.view_options import ViewOptions


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    try:
        viewer_script()
    except OpscopeError as error:
        pytest.skip(str(error))


def test_the_viewer_is_small() -> None:
    assert len(viewer_script().encode()) < 755_000


def test_the_policy_allows_this_script_and_no_request() -> None:
    text = "".join(document([everything()]))
    policy = unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1])  # type: ignore[index]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == rules["connect-src"] == "'none'"
    assert re.fullmatch(r"'sha256-[\w+/=]+'", rules["script-src"])
    assert "unsafe" not in policy and "http" not in policy
    assert "//cdn" not in text and "https://fonts" not in text


def test_the_page_contains_the_program() -> None:
    text = "".join(document([everything()]))
    packed = re.search(r'id="opscope-data-0">([^<]*)</script>', text)[1]  # type: ignore[index]
    assert gzip.decompress(b64decode(packed)) == encode_wire(enrich(everything()))


def test_the_page_is_ascii_whatever_names_there_are() -> None:
    """Or a browser keeps it at twice the size, megabytes of data included."""
    text = "".join(document([replace(everything(), name="modèle 🧠")]))
    assert text.isascii()
    assert unescape(re.search("<title>(.*)</title>", text)[1]) == "modèle 🧠 · opscope"  # type: ignore[index]


def test_the_same_program_becomes_the_same_page() -> None:
    assert "".join(document([everything()])) == "".join(document([everything()]))


def test_view_options_are_what_it_shows_first() -> None:
    options = ViewOptions(graph="main.7", depth=2, around=("add.3",), hops=1, group_by="partition", rankdir="LR", theme="dark")
    text = "".join(document([everything()], options))
    config = json.loads(re.search(r'id="opscope-config">([^<]*)</script>', text)[1])  # type: ignore[index]
    assert config["theme"] == "dark"
    assert config["initial"] == {
        "graph": "main.7",
        "depth": 2,
        "around": ["add.3"],
        "hops": 1,
        "groupBy": "partition",
        "rankdir": "LR",
    }


def test_save_by_suffix(tmp_path: Path) -> None:
    opscope.save([everything(), everything()], tmp_path / "two.html")
    assert (tmp_path / "two.html").read_text().count("opscope-data-") == 4
    with pytest.raises(OpscopeError, match=r"^scale does not apply to HTML files"):
        opscope.save(everything(), tmp_path / "one.html", scale=2)


@pytest.mark.parametrize("text", ["</script>", "<!--", "&amp;", "\u2028", "🧠"])
def test_json_in_a_script_is_never_markup(text: str) -> None:
    written = json_for_script({text: text})
    assert not re.search(r"[<>&\u2028]", written)
    assert json.loads(written) == {text: text}
