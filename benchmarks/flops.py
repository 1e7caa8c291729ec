"""FLOPs of compiled GPU modules against those before optimization, and FLOPs of PyTorch's models against torch's own counter.

    python benchmarks/flops.py [ARCHIVE ...] [--models 25] [--keep]

An archive has a module before and after XLA's passes (`before.hlo`, `after.hlo`); the default are those in ../shared/data/profiles. The
models are the first of `zoo/torch_zoo.py` that are installed, run and can be exported with sizes that are numbers. Each operator runs by
itself under torch's counter.
"""

from __future__ import annotations

import argparse
import copy
import sys
import tarfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from attribution import PROFILES
from results import HERE, Figure, keep

from opscope.analysis.cost import CostModel
from opscope.analysis.flop_rules import multiply_adds
from opscope.readers import read
from opscope.readers.source import Source
from opscope.readers.torch.export import program_of_exported
from opscope.readers.torch.exporting import exported_module
from opscope.readers.torch.run_times import graph_inputs


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


@contextmanager
def as_counted_operators() -> Iterator[None]:
    """Make torch run attention, recurrent layers and grouped products as the operators that its counter knows.

    Its registry has neither attention on the CPU (`_scaled_dot_product_flash_attention_for_cpu`), nor oneDNN's recurrent layers
    (`mkldnn_rnn_layer`), nor grouped products (`_grouped_mm`, transformers' `grouped_mm_fallback`), and so counts nothing for them.
    """
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel(SDPBackend.MATH), torch.backends.mkldnn.flags(enabled=False):
        yield


def counted(node: Any, function: Any, args: Any, kwargs: Any) -> tuple[Any, int]:
    """The result of an operator, and the FLOPs that torch's own counter finds in it."""
    from torch.utils.flop_counter import FlopCounterMode

    if "grouped_mm" in str(node.target):
        from transformers.integrations import moe

        function = moe._grouped_mm_fallback  # the same in plain operators: a product for each group
    with FlopCounterMode(display=False) as counter:
        result = function(*args, **kwargs)
    return result, int(counter.get_total_flops())


class Compared(NamedTuple):
    products: int
    """Operators that multiply matrices, by our count or by torch's."""
    different: list[str]


def compare(exported: Any, args: Any, kwargs: Any) -> Compared:
    """The FLOPs of each operator of an exported model: ours, and those that torch counts while it runs."""
    import torch

    program = program_of_exported(exported)
    graph, products, different = program.main, 0, []

    class Counting(torch.fx.Interpreter):
        def run_node(self, n: Any) -> Any:
            nonlocal products
            if n.op != "call_function" or n.name not in graph:
                return super().run_node(n)
            arguments = self.fetch_args_kwargs_from_env(n)
            result, theirs = counted(n, n.target, *arguments)
            ours = multiply_adds(graph, graph[n.name])
            ours = None if ours is None else 2 * ours
            if ours or theirs:
                products += 1
            if ours != theirs:
                different.append(f"{n.target}: {ours} instead of {theirs}")
            return result

    with torch.no_grad(), as_counted_operators():
        Counting(exported.graph_module).run(*graph_inputs(exported, args, kwargs), enable_io_processing=False)
    return Compared(products, different)


def model_figures(most: int) -> Iterator[Figure]:
    """The share of models in which each product has exactly as many FLOPs as torch counts for it."""
    sys.path.insert(0, str(HERE / "zoo"))
    from torch_zoo import entries

    warnings.filterwarnings("ignore")
    found: dict[str, Compared] = {}
    for entry in entries(quick=False):
        if len(found) == most:
            break
        try:
            model, args, kwargs = entry.make()
            model(*copy.deepcopy(args), **copy.deepcopy(kwargs))
        except Exception:
            continue  # it does not run, so it is not part of the zoo
        with exported_module(model, args, kwargs) as exported:
            if exported.program is None or exported.program.range_constraints:
                continue  # sizes that depend on data: our count is unknown, and says so
            compared = found[entry.name] = compare(exported.program, args, exported.kwargs)
        print(f"{entry.name:40} {compared.products:>6,} products, different: {compared.different[:4] or 'none'}", flush=True)
    products = sum(each.products for each in found.values())
    different = {name: each.different for name, each in found.items() if each.different}
    wrong = sum(map(len, different.values()))
    title, graph = "with the FLOPs that torch counts", "torch.nn, torchvision, timm, transformers"
    note = "; ".join(f"{name}: {', '.join(each[:3])}" for name, each in different.items())
    yield Figure(f"models {title}", 1 - len(different) / max(len(found), 1), "", graph, len(found), at_least=1, note=note)
    yield Figure(f"products {title}", 1 - wrong / max(products, 1), "", graph, products, at_least=1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("archives", nargs="*", type=Path, default=sorted(PROFILES.glob("h200_jax_*.tar.gz")))
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
