"""`opscope cost`, run in this process."""

from __future__ import annotations

import json
from typing import Any

import pytest

from opscope.cli import main


def cost(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    assert main(["cost", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main(["cost", *map(str, arguments)]) == 2
    return capsys.readouterr().err.strip()
