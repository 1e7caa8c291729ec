"""Browser fixtures are the viewer's own; the models need the real ExecuTorch."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="ExecuTorch's programs need torch, which is not installed")
pytest.importorskip("executorch.exir", reason="these tests need the real ExecuTorch, which is not installed")

from browser.conftest import browser, open_address

__all__ = ["browser", "open_address"]
