"""Takes views to look at after a change, which are not kept: `python docs/viewer/review.py DIRECTORY [NAME…] [NAME=SOURCE…]`.

Each in a small window, a usual one and on a large screen, light and dark; what has changes also as a person with deuteranopia sees it.
NAMEs choose from VIEWS; a SOURCE is opened as it comes. Needs what `make.py` needs, and PyTorch and transformers for the models.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, Page, sync_playwright

import opscope
from opscope.comparing import load_comparison

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(1, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from training_graph import training_graph

from docs.viewer.make import CHROMIUM, ROOT, SAMPLES, everything, idle, load, press, timeline

SIZES = ((900, 700), (1600, 1000), (3840, 2160))


def mlp() -> opscope.Program:
    import torch
    from torch import nn

    return opscope.capture(nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10)), torch.zeros(32, 784))


def resnet50() -> opscope.Program:
    import torch
    from transformers import ResNetConfig, ResNetForImageClassification

    return opscope.capture(ResNetForImageClassification(ResNetConfig()).eval(), torch.zeros(1, 3, 224, 224))


def gpt2() -> opscope.Program:
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    return opscope.capture(GPT2LMHeadModel(GPT2Config(use_cache=False)).eval(), torch.zeros(1, 128, dtype=torch.long))


def llama_step() -> opscope.Program:
    """Forward and backward of twelve layers."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=256, hidden_size=128, intermediate_size=256, num_hidden_layers=12, num_attention_heads=4, num_key_value_heads=2,
        use_cache=False,
    )  # fmt: skip
    ids, labels = torch.zeros(2, 64, dtype=torch.long), torch.ones(2, 64, dtype=torch.long)
    return opscope.capture(LlamaForCausalLM(config), input_ids=ids, labels=labels, stage="joint")


def mixtral() -> opscope.Program:
    import torch
    from transformers import MixtralConfig, MixtralForCausalLM

    config = MixtralConfig(
        vocab_size=256, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        num_local_experts=4, use_cache=False,
    )  # fmt: skip
    return opscope.capture(MixtralForCausalLM(config).eval(), torch.zeros(1, 32, dtype=torch.long))


def large() -> opscope.Program:
    return training_graph(46_000)


def as_it_comes(page: Page) -> None:
    """What somebody sees who has just opened the file."""


def overlay(page: Page) -> None:
    """What one pass added and removed, in one picture."""
    timeline(page)
    press(page, "Overlay")


def twice(page: Page) -> None:
    """A display option switched on and off again."""
    for _ in range(2):
        page.keyboard.press("v")
        idle(page)


def expanded(page: Page) -> None:
    """Every group, with repeats folded."""
    press(page, "Expand all")


def opened(module: str) -> Callable[[Page], None]:
    """A module found in the palette, and expanded if it is not yet."""

    def act(page: Page) -> None:
        page.keyboard.press("Control+k")
        page.get_by_role("combobox", name="Action, module or node").fill(module)
        page.keyboard.press("Enter")
        page.get_by_role("dialog").wait_for(state="detached")
        idle(page)
        expand = page.get_by_role("button", name="Expand", exact=True)
        if expand.count():
            expand.click()
            idle(page)

    return act


class View(NamedTuple):
    source: str | Path | Callable[[], opscope.Program]
    act: Callable[[Page], None] = as_it_comes
    compared_with: str = ""
    has_changes: bool = False
    """Whether colours say what was added and removed."""


VIEWS = {
    "mlp": View(mlp),
    "resnet50": View(resnet50),
    "resnet50_twice": View(resnet50, twice),
    "gpt2": View(gpt2),
    "gpt2_opened": View(gpt2, opened("h.0")),
    "llama_step": View(llama_step),
    "mixtral_opened": View(mixtral, opened("layers.0")),
    "large": View(large),
    "large_expanded": View(large, expanded),
    "large_everything": View(large, everything),
    "train_step": View("src/opscope/examples/train_step.hlo"),
    "train_step_expanded": View("src/opscope/examples/train_step.hlo", everything),
    "compiled": View(".bench/transformer24.hlo"),
    "compiled_expanded": View(".bench/transformer24.hlo", everything),
    "gradients": View("src/opscope/examples/detach.json"),
    "compared": View("tests/samples/hlo/step_lowered.hlo", compared_with="tests/samples/hlo/step_compiled.hlo", has_changes=True),
    "priority_fusion": View(SAMPLES / "xla_gpu_scan_passes.tar.gz", overlay, has_changes=True),
}


def chosen(words: list[str]) -> dict[str, View]:
    if not words:
        return VIEWS
    named = (word.partition("=") for word in words)
    return {name: View(Path(source).resolve()) if source else VIEWS[name] for name, _, source in named}


def program_of(view: View, directory: Path) -> opscope.Program | opscope.Recording:
    if callable(view.source):
        return view.source()
    if view.compared_with:
        return load_comparison(str(ROOT / view.source), str(ROOT / view.compared_with))
    return load(ROOT / view.source, directory)


def shots(browser: Browser, page_file: Path, view: View) -> Iterator[tuple[str, bytes]]:
    for width, height in SIZES:
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            page.goto(page_file.as_uri())
            idle(page)
            view.act(page)
            yield f"{width}-{scheme}", page.screenshot()
            if view.has_changes:
                page.context.new_cdp_session(page).send("Emulation.setEmulatedVisionDeficiency", {"type": "deuteranopia"})
                yield f"{width}-{scheme}-deuteranopia", page.screenshot()
            page.close()


def main(target: Path, words: list[str]) -> None:
    target.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as directory:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        for name, view in chosen(words).items():
            page_file = Path(directory, f"{name}.html")
            opscope.save(program_of(view, Path(directory)), page_file)
            for suffix, picture in shots(browser, page_file, view):
                (target / f"{name}-{suffix}.png").write_bytes(picture)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
