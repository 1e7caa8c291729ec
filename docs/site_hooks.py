"""What MkDocs needs to know about this repository: links out of docs/, and which names are public."""

from __future__ import annotations

import re
from typing import Any

import opscope

_OUTSIDE = re.compile(r"\]\((?:\.\./)+([^)]+)\)")


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links out of docs/ lead to the repository; the reference lists what `opscope.__all__` lists."""
    if not page.file.src_uri.count("/"):
        markdown = _OUTSIDE.sub(rf"]({config['repo_url']}/blob/main/\1)", markdown)
    return markdown.replace("<!-- public names -->", "\n\n".join(f"::: {opscope._HOMES[name]}.{name}" for name in opscope.__all__))
