"""FLOPs of compiled GPU modules against those before optimization, and FLOPs of PyTorch's models against torch's own counter.

    python benchmarks/flops.py ../shared/data/profiles/h200_jax_*.tar.gz [--models 25] [--keep]

An archive has a module before and after XLA's passes (`before.hlo`, `after.hlo`). The models are those of `zoo/torch_zoo.py` that are
installed; a model that torch.export refuses is left out.
"""

from __future__ import annotations

import argparse
import copy
import sys
import tarfile
import warnings
from collections.abc import Iterator
from pathlib import Path

from results import HERE, Figure, keep

import opscope
from opscope.analysis.cost import CostModel
from opscope.errors import OpscopeError
from opscope.readers import capture_object, read
from opscope.readers.source import Source


def module_figures(archive: Path) -> Iterator[Figure]:
    """How the FLOPs of a module after XLA's passes compare with those before them: ours, and as XLA counts."""
    name = archive.name.removesuffix(".tar.gz")
    with tarfile.open(archive) as files:
        modules = {}
        for stage in ("before", "after"):
            (member,) = [one for one in files.getmembers() if one.name.endswith(f"{stage}.hlo")]
            text = files.extractfile(member)
            modules[stage] = read(Source(f"{stage}.hlo", b"" if text is None else text.read()))[0]
    for as_xla in (False, True):
        before, after = (CostModel(modules[stage], as_xla).total for stage in ("before", "after"))
        title = "FLOPs after / before optimization" + (", as XLA counts" if as_xla else "")
        least, most = (None, None) if as_xla else (0.98, 1.02)
        note = f"{after.unknown_flops} unknown" if after.unknown_flops else ""
        nodes = modules["after"].node_count
        yield Figure(title, after.flops / before.flops, "", name, nodes, at_least=least, at_most=most, note=note)


def model_figures(most: int) -> Iterator[Figure]:
    """The share of models whose products have exactly as many FLOPs as torch counts in a run."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    sys.path.insert(0, str(HERE / "zoo"))
    from torch_zoo import entries

    warnings.filterwarnings("ignore")
    equal, different = 0, []
    for entry in entries(quick=False):
        try:
            model, args, kwargs = entry.make()
            with torch.enable_grad(), FlopCounterMode(display=False) as counter:
                model(*copy.deepcopy(args), **copy.deepcopy(kwargs))
        except Exception:
            continue  # it does not run, so it is not part of the zoo
        try:
            program = capture_object(model, *args, **kwargs)
        except OpscopeError:
            continue
        ours = opscope.summary(program).totals["flops"]
        if ours == counter.get_total_flops():
            equal += 1
        else:
            different.append(f"{entry.name}: {ours:,} instead of {counter.get_total_flops():,}")
        print(f"{entry.name:40} {ours:>14,} {counter.get_total_flops():>14,}", flush=True)
        if equal + len(different) == most:
            break
    count = equal + len(different)
    yield Figure(
        "models with the FLOPs that torch counts", equal / max(count, 1), "", "torch.nn, transformers", count, note="; ".join(different)
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("archives", nargs="+", type=Path)
    parser.add_argument("--models", type=int, default=25)
    parser.add_argument("--keep", action="store_true")
    chosen = parser.parse_args()
    measured = [figure for path in chosen.archives for figure in module_figures(path)]
    measured += model_figures(chosen.models)
    for figure in measured:
        print(f"{figure.graph:34} {figure.name:45} {figure.value:.6g} {figure.target} {figure.note}")
    if chosen.keep:
        keep("flops", measured)


if __name__ == "__main__":
    main()
