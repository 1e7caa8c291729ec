"""Which parts of a package run: every function, branch, loop and handler marks itself when it is entered.

`instrument("package")` makes the modules that are imported after it do so, at about a tenth of the time of running them. `sys.settrace`
takes several times as long, and a fuzzer lives from the number of its inputs.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any, TypeVar

_Function = TypeVar("_Function", ast.FunctionDef, ast.AsyncFunctionDef)
_MARKS = "_marks_of_blocks_that_ran"
"""The name of the marks in an instrumented module."""


class Blocks:
    """Marks, one for each block of statements that the instrumented modules contain."""

    def __init__(self) -> None:
        self.marks = bytearray()
        self._names: list[str] = []
        self._earlier: set[str] = set()

    def add(self, name: str) -> int:
        """Number a block; it is marked if an earlier run says so."""
        self._names.append(name)
        self.marks.append(name in self._earlier)
        return len(self._names) - 1

    @property
    def count(self) -> int:
        """How many blocks have run."""
        return self.marks.count(1)

    def __len__(self) -> int:
        return len(self._names)

    def ran(self) -> list[str]:
        """The names of the blocks that have run, in this run or an earlier one."""
        return sorted(self._earlier | {name for name, mark in zip(self._names, self.marks, strict=True) if mark})

    def resume(self, ran: Sequence[str]) -> None:
        """Mark what has run in an earlier run, whether its module is imported yet or not."""
        self._earlier.update(ran)
        for number, name in enumerate(self._names):
            self.marks[number] |= name in self._earlier


def instrument(package: str, blocks: Blocks) -> None:
    """Let the modules of a package mark their blocks. Those that are already imported stay as they are."""
    sys.meta_path.insert(0, _Finder(package, blocks))


class _Finder(MetaPathFinder):
    def __init__(self, package: str, blocks: Blocks) -> None:
        self._package = package
        self._blocks = blocks

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname.partition(".")[0] != self._package:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(fullname, spec.loader.path, self._blocks)
        return spec


class _Loader(SourceFileLoader):
    def __init__(self, fullname: str, path: str, blocks: Blocks) -> None:
        super().__init__(fullname, path)
        self._blocks = blocks

    def get_code(self, fullname: str) -> CodeType:
        """Always from the source: the cached code of the module has no marks."""
        tree = _Marker(fullname, self._blocks).visit(ast.parse(self.get_data(self.path), self.path))
        return compile(ast.fix_missing_locations(tree), self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        setattr(module, _MARKS, self._blocks.marks)
        super().exec_module(module)


class _Marker(ast.NodeTransformer):
    """Puts `marks[number] = 1` at the beginning of every block inside functions."""

    def __init__(self, module: str, blocks: Blocks) -> None:
        self._module = module
        self._blocks = blocks
        self._depth = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        return self._function(node)

    def _function(self, node: _Function) -> _Function:
        self._depth += 1
        self.generic_visit(node)
        self._depth -= 1
        node.body.insert(ast.get_docstring(node, clean=False) is not None, self._mark(node, "body"))
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if self._depth and isinstance(node, (ast.If, ast.For, ast.While, ast.Try, ast.ExceptHandler, ast.match_case)):
            for field in ("body", "orelse"):
                statements = getattr(node, field, None)
                if statements or (field == "orelse" and isinstance(node, ast.If)):  # an `if` that is false is a branch, too
                    setattr(node, field, [self._mark(node, field), *(statements or ())])
        return node

    def _mark(self, node: ast.AST, field: str) -> ast.stmt:
        at: Any = getattr(node, "pattern", node)  # a case has no place of its own
        number = self._blocks.add(f"{self._module}:{at.lineno}:{at.col_offset}:{field}")
        return ast.copy_location(ast.parse(f"{_MARKS}[{number}] = 1").body[0], at)
