"""Files and arguments that people pass by mistake, each with its own message."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from typing import Any

from opscope.errors import OpscopeError
from opscope.naming import suggest
from opscope.profile.node_table import is_csv
from opscope.profile.node_times import is_onnxruntime, is_tensorrt
from opscope.readers.source import Source

_WEIGHTS = (
    "contains weights but no graph; pass the model itself: `opscope view module:function`, or opscope.capture(model, *inputs) in Python"
)
_NOT_READ = {
    ".tflite": "is a TensorFlow Lite model, which opscope does not read; convert it to ONNX with `python -m tf2onnx.convert --tflite`",
    ".keras": 'is a Keras model, which opscope does not read; export it with model.export("model.onnx", format="onnx")',
    ".h5": 'is HDF5, which opscope does not read; export a Keras model with model.export("model.onnx", format="onnx")',
    ".pb": "is binary, but neither an HLO module nor a profile; convert TensorFlow to ONNX with tf2onnx",
    ".csv": "is a table, not a graph; pass the program, and a table with the columns node and ms (or another unit) with --profile",
    ".safetensors": _WEIGHTS,
    ".gguf": _WEIGHTS,
    ".npz": _WEIGHTS,
}
"""Formats that opscope does not read, by suffix, each with the nearest alternative."""

_PICTURES = {
    b"<?xml": "XML or SVG",
    b"<svg": "XML or SVG",
    b"\x89PNG": "a PNG file",
    b"\xff\xd8\xff": "a JPEG file",
    b"GIF8": "a GIF file",
    b"%PDF-": "a PDF file",
}
"""Pictures, by how they begin."""


def common_mistake(source: Source) -> str:
    """What is wrong with a source that no reader should even look at, or an empty string."""
    if source.is_directory:
        return f"is a directory without compiler dumps; pass {_files_of(source)}, or {_directories_of(source)}"
    head = source.head
    if not head.strip():
        return "is empty; write or download it again"
    if is_csv(head) or is_onnxruntime(head) or is_tensorrt(head):
        return "has values of nodes but no graph; pass the program that ran, and this file with --profile"
    if head[257:262] == b"ustar":
        return f"is an archive; unpack it with `tar xf {source.path.name}`, and pass what was in it"
    if head.startswith(b"version https://git-lfs.github.com/spec/"):
        return "is a Git LFS pointer, not the file itself; run `git lfs pull` first"
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:256].lower()
    if start.startswith(b"<!doctype html") and " · opscope</title>".encode() in head:
        return "is a page that opscope wrote; open it in a browser, or pass the file that it was made from"
    if start.startswith((b"<!doctype html", b"<html")):
        return "is an HTML page, probably saved instead of the file behind it; download the raw file"
    picture = next((kind for beginning, kind in _PICTURES.items() if head.startswith(beginning) or start.startswith(beginning)), "")
    return f"is {picture}, a picture rather than a graph; pass the file that the picture was made from" if picture else ""


def unsupported_format(source: Source) -> str:
    """What to do instead with a source that no reader accepts but whose suffix says what it is, or an empty string."""
    suffix = source.suffixes[-1] if source.suffixes else ""
    if suffix == ".py":
        return f"is Python code; name the callable to show: {_module_of(source)}:NAME"
    if source.suffixes[-2:] == [".xplane", ".pb"]:
        return "is not a profile of JAX, or is damaged from its beginning on; take or download it again"
    return _NOT_READ.get(suffix, "")


_READABLE = frozenset([".hlo", ".txt", ".pb", ".mlir", ".pt2", ".onnx", ".json", ".pickle", ".opscope"])
_MOST_NAMED = 3


def _module_of(source: Source) -> str:
    """The module name of a Python file, imported from the current directory."""
    path = source.path.with_suffix("")
    return path.name if path.is_absolute() else ".".join(path.parts)


def _files_of(source: Source) -> str:
    """The readable files of a directory, by name if there are only a few."""
    names = sorted(path.name for path in source.path.iterdir() if path.suffix in _READABLE and path.is_file())
    if not names or len(names) > _MOST_NAMED:
        return "one of its files"
    return f"the file in it, {names[0]}" if len(names) == 1 else f"one of its files ({', '.join(names)})"


def _directories_of(source: Source) -> str:
    """The directories in a directory, by name if there are only a few."""
    names = sorted(path.name for path in source.path.iterdir() if path.is_dir() and not path.name.startswith("."))
    return "the directory with the dumps" if not names or len(names) > _MOST_NAMED else f"a directory in it ({', '.join(names)})"


def refuse_arguments(what: str, inputs: tuple[Any, ...], options: Mapping[str, Any]) -> None:
    """Refuse what `capture` was given beside a graph that is complete."""
    if inputs or options:
        raise OpscopeError(f"{what} is captured as it is; leave out {', '.join(options) if options else 'the inputs'}")


def takes_stage(function: Any) -> bool:
    """Has a function a parameter `stage` of its own, as the parts of a pipeline do? Then what is not a stage is meant for it."""
    try:
        return callable(function) and "stage" in signature(function).parameters
    except (TypeError, ValueError):
        return False


def check_spelling(function: Callable[..., Any], name: str, keywords: Iterable[str], options: Sequence[str]) -> None:
    """Refuse a keyword that the captured function does not take and that looks like a misspelled option of `capture`."""
    try:
        parameters = signature(function).parameters
    except (TypeError, ValueError):
        return
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    for keyword in keywords:
        suggestion = "" if keyword in parameters or keyword in options else suggest(keyword, options, otherwise="")
        if suggestion:
            raise OpscopeError(f"neither capture nor {name} has an option {keyword!r}{suggestion}")
