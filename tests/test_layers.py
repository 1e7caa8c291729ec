"""Layers import only downwards, and `import opscope` loads no framework: one careless line could break both."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parent.parent / "src" / "opscope"
LAYERS = (
    "terminal", "ellipsis", "errors", "gc_pause", "sequences", "plugin", "quantities", "limits", "json_text", "python_text", "temporary",
    "child", "display", "whole_file", "naming", "demo", "view_options",
    "program", "ops", "native", "protobuf", "profile", "readers", "analysis", "recording", "measuring", "loading", "comparing", "memory",
    "render", "serve", "compat", "cli",
)  # fmt: skip
"""From the ground up. A module may import from its own layer and from those before it."""
FRAMEWORKS = {
    "torch", "jax", "jaxlib", "flax", "numpy", "onnx", "hidet", "executorch", "torchao", "transformers", "aitemplate", "tensorflow",
    "penzai",
}  # fmt: skip
OUTSIDE_LAYERS = {"__init__", "__main__"}
"""The public API names everything, and imports it when it is asked for."""

MODULES = sorted(path for path in SRC.rglob("*.py") if path.relative_to(SRC).parts[0] != "static")


def layer_of(module: str) -> str:
    """`opscope.render.writers.dot` belongs to the layer `render`."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def module_name(path: Path) -> str:
    parts = path.relative_to(SRC.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(tree: ast.Module, top_level_only: bool) -> set[str]:
    """Modules that a file imports; at the top level, what runs at import and is not for type checkers only."""
    names: set[str] = set()
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names if node.module == "opscope")
        elif top_level_only and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        elif top_level_only and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            waiting.extend(node.orelse)
            continue
        waiting.extend(ast.iter_child_nodes(node))
    return names


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SRC)))
def test_a_module_imports_only_from_its_own_layer_and_those_below(path: Path) -> None:
    layer = layer_of(module_name(path))
    if layer in OUTSIDE_LAYERS:
        return
    assert layer in LAYERS, f"{layer} is not a layer; add it to LAYERS and to ARCHITECTURE.md"
    below = {*LAYERS[: LAYERS.index(layer) + 1]}
    ours = {name for name in imports(ast.parse(path.read_text("utf-8")), False) if name.startswith("opscope.")}
    upwards = sorted(name for name in ours if layer_of(name) not in below and layer_of(name) != "__version__")
    assert not upwards, f"{layer} stands below {', '.join(upwards)}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SRC)))
def test_frameworks_are_imported_only_where_they_are_needed(path: Path) -> None:
    packages = {name.partition(".")[0] for name in imports(ast.parse(path.read_text("utf-8")), True)}
    assert not packages & FRAMEWORKS


def test_importing_opscope_loads_nothing_heavy() -> None:
    code = (
        "import sys, opscope, opscope.loading, opscope.render, opscope.readers\n"
        "heavy = {'torch', 'jax', 'numpy', 'onnx', 'rich', 'click', 'starlette', 'uvicorn', 'py_mini_racer'} & set(sys.modules)\n"
        "sys.exit(repr(heavy) if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_reading_a_file_loads_only_the_reader_that_reads_it() -> None:
    """Every file is shown to every reader: what the others would parse with made each command a fifth slower."""
    code = (
        "import sys, opscope\n"
        "opscope.load('demo:detach')\n"
        "others = {'hlo.module', 'torch.live', 'torch.pt2', 'torch.autograd', 'profiles'}\n"
        "loaded = {f'opscope.readers.{name}' for name in others} | {'opscope.recording.match', 'opscope.analysis.gradients'}\n"
        "sys.exit(repr(loaded & set(sys.modules)) if loaded & set(sys.modules) else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_files_stay_small_enough_to_be_read() -> None:
    too_long = {str(path.relative_to(SRC)): lines for path in MODULES if (lines := path.read_text("utf-8").count("\n")) > 500}
    assert not too_long


DECLARED = {"click", "rich", "starlette", "uvicorn", "py_mini_racer", "resvg_py"}
"""Modules of the packages in pyproject's `dependencies`."""
OPTIONAL = {"IPython", "PIL"}
"""Used only in notebooks, where it is already loaded, and by writers that name the extra which installs it."""


def test_every_import_is_declared() -> None:
    """A module that happens to be in the developers' environment may be missing on the user's machine."""
    declared = DECLARED | OPTIONAL | FRAMEWORKS | set(sys.stdlib_module_names) | {"opscope"}
    undeclared = {
        (str(path.relative_to(SRC)), name)
        for path in MODULES
        for name in {module.partition(".")[0] for module in imports(ast.parse(path.read_text("utf-8")), False)} - declared
    }
    assert not undeclared
