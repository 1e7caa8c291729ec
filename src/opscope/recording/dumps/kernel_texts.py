"""The kernels in the code that Inductor generates: their text, and which of their pointers they read and write.

triton_poi_fused_add_0 = async_compile.triton('triton_poi_fused_add_0', '''…''', device_str='cuda')
cpp_fused_gelu_1 = async_compile.cpp_pybinding(['const float*', 'float*'], r'''…''')
"""

from __future__ import annotations

import ast
import re

_POINTERS = re.compile(r"\b(?P<role>in_out|in|out|ws)_ptr\d*\b")


def kernel_texts(module: ast.Module) -> dict[str, str]:
    """The text of each kernel, by its name."""
    texts = {}
    for statement in module.body:
        if not (isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call) and isinstance(statement.targets[0], ast.Name)):
            continue
        given = [arg.value for arg in statement.value.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        if given and "\n" in given[-1]:
            texts[statement.targets[0].id] = given[-1].strip("\n")
    return texts


def pointer_roles(name: str, text: str) -> list[str] | None:
    """Whether a kernel reads or writes each of its pointers: "in", "out", "in_out", or "ws" for a workspace. None if it does not say."""
    signature = re.search(rf"(?:def {re.escape(name)}|\bkernel)\(([^)]*)\)", text)
    mutated = re.search(r"'mutated_arg_names': \[([^\]]*)\]", text)
    updated = re.findall(r"'(\w+)'", mutated[1]) if mutated else []
    if signature is None:
        return None
    return ["in_out" if pointer[0] in updated else pointer["role"] for pointer in _POINTERS.finditer(signature[1])]
