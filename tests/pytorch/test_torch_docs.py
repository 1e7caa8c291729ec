"""The snippets of docs/pytorch.md run as written, in order; the examples write what they promise."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SNIPPETS = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/pytorch.md").read_text("utf-8"), re.M | re.S)


def test_snippets_run_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Documentation that does not run is worse than none."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "snippet"}
    for snippet in SNIPPETS:
        exec(compile(snippet, "docs/pytorch.md", "exec"), names)
    files = {path.name for path in tmp_path.iterdir()}
    assert files >= {"model.html", "model.pt2", "loss.svg", "loss.png", "joint.html", "layers.csv"}
    printed = capsys.readouterr().out
    assert "torch.export failed on Sampler" in printed
    assert "Forward/backward activations" in printed


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("critic", {"critic.html", "critic.svg", "critic_autograd.svg", "critic_joint.html", "critic_make_dot.svg"}),
        ("detach", {"detach.html", "detach.svg"}),
        ("gumbel", {"categorical.html", "categorical.svg", "gumbel.html", "gumbel.svg"}),
        ("summary", {"summary.csv", "encoder.html", "encoder.svg"}),
        ("gpt2", {"gpt2.html", "gpt2.svg"}),
    ],
)
def test_examples_write_their_files(name: str, files: set[str], tmp_path: Path) -> None:
    """Each example runs as a user would run it."""
    main = runpy.run_path(str(ROOT / "examples" / f"pytorch_{name}.py"))["main"]
    main(tmp_path)
    for file in files:
        assert (tmp_path / file).stat().st_size > 200, file
