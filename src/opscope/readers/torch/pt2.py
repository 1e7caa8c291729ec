"""`.pt2` files, which are zip archives of JSON and weights: read with the standard library alone, and never unpickled.

torch.export.load needs torch, the model's custom operators and 2 ms per node; viewing a file needs none of these.
"""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from typing import Any

from opscope.errors import SourceError, blamed_on_source
from opscope.gc_pause import without_collecting
from opscope.json_text import parsed_json
from opscope.limits import Budget
from opscope.program import Program, ProgramBuilder
from opscope.readers.source import Source
from opscope.readers.torch.names import calls_of_text
from opscope.readers.torch.pt2_graph import effects, read_graphs, signature, stored_names

ENTRY = "main"
OLD_PROGRAM = "serialized_exported_program.json"
_DAMAGED = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, RuntimeError, UnicodeError, NotImplementedError,
)  # fmt: skip
"""What zipfile raises for archives that are damaged, encrypted or compressed in other ways."""
_BOUNDED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""zipfile stops unpacking these where it was told to. Of others it unpacks all that it has read, and a megabyte can contain gigabytes."""


def members(source: Source) -> list[str]:
    """Names in the archive, without its outer directory; empty if the archive cannot be read."""
    try:
        with _open(source) as archive:
            return [_inner(name) for name in archive.namelist()]
    except _DAMAGED:
        return []


def _open(source: Source) -> zipfile.ZipFile:
    return zipfile.ZipFile(source.open())


def _inner(name: str) -> str:
    """A name without the outer directory: newer archives put everything into one directory named after the file."""
    for directory in ("/models/", "/data/", "/extra/", "/archive_format", "/code/"):
        at = name.find(directory)
        if at >= 0:
            return name[at + 1 :]
    return name.partition("/")[2] or name


def is_program(name: str) -> bool:
    return name == OLD_PROGRAM or (name.startswith("models/") and name.endswith(".json"))


def read_archive(source: Source) -> list[Program]:
    """One Program per model in the archive."""
    try:
        with _open(source) as archive:
            by_name = {_inner(name): name for name in archive.namelist()}
            unpacked = _Unpacked(archive, source.size)
            weights = _tensor_table(unpacked, by_name)
            program_names = [name for name in by_name if is_program(name)]
            if not program_names:
                raise SourceError(_why_nothing(by_name))
            with without_collecting():
                return [_program(name, unpacked.json(by_name[name]), weights, source) for name in program_names]
    except _DAMAGED as error:
        raise SourceError(f"is a damaged archive ({error}); save it again") from None


def _why_nothing(names: dict[str, str]) -> str:
    if any("aotinductor" in name for name in names):
        return "is an AOTInductor package, which contains compiled code but no graph; pass the exported program it was compiled from"
    if any(name.startswith("code/") for name in names):
        return "is a TorchScript archive; save the model with torch.export.save(torch.export.export(model, args), 'model.pt2')"
    if any(name.endswith("data.pkl") for name in names):
        return "contains pickled weights but no graph; capture the model in Python: opscope.capture(model, *inputs)"
    return "is an archive without an exported program (no models/*.json); save one with torch.export.save"


class _Unpacked:
    """JSON files of an archive, as long as they are not too large together."""

    def __init__(self, archive: zipfile.ZipFile, size: int) -> None:
        self._archive = archive
        self._budget = Budget(size)

    def json(self, name: str) -> Any:
        member = self._archive.getinfo(name)
        if member.compress_type not in _BOUNDED:
            raise SourceError(f"has {name} in a compression that torch does not write; save it again")
        size = member.file_size
        self._budget.take(size)
        with self._archive.open(name) as entry:
            content = entry.read(size)  # without a size, zipfile unpacks everything first, whatever size the entry states
        return parsed_json(content, f"{name} in the archive is ")


def _tensor_table(unpacked: _Unpacked, by_name: dict[str, str]) -> dict[str, Any]:
    """Every saved tensor by its qualified name, from the archive's tables."""
    table: dict[str, Any] = {}
    for name, full_name in by_name.items():
        if name.startswith("data/") and name.endswith("_config.json"):
            listed = unpacked.json(full_name)
            config = listed.get("config") if isinstance(listed, dict) else None
            table.update({key: held for key, held in config.items() if isinstance(held, dict)} if isinstance(config, dict) else {})
    return table


def _program(name: str, content: Any, weights: dict[str, Any], source: Source) -> Program:
    version = content.get("schema_version") if isinstance(content, dict) else None
    schema = ".".join(map(str, version.values())) if isinstance(version, dict) else "unknown"
    help = "load it with torch.export.load and pass the object to opscope.capture"
    with blamed_on_source(f"{name} in the archive does not have the layout that torch.export writes (schema {schema})", help):
        module = content["graph_module"]
        graph = module["graph"]
        placeholders, same = signature(module["signature"], graph, weights)
        program = ProgramBuilder(_root_class(graph) or source.path.stem, ENTRY)
        ranges = {symbol: _range(bounds) for symbol, bounds in (content.get("range_constraints") or {}).items()}
        if ranges:
            program.attrs["range_constraints"] = ranges
        read_graphs(program, ENTRY, graph, placeholders, same, effects(module["signature"]), stored_names(module))
        return program.build()


def _range(bounds: dict[str, Any]) -> str:
    low, high = bounds.get("min_val"), bounds.get("max_val")
    return f"VR[{'-int_oo' if low is None else low}, {'int_oo' if high is None else high}]"


def _root_class(graph: Any) -> str:
    for node in graph["nodes"]:
        calls = calls_of_text(node["metadata"].get("nn_module_stack", ""))
        if calls and calls[0].path == "" and not calls[0].cls.rpartition(".")[2].startswith("GraphModule"):
            return calls[0].cls.rpartition(".")[2]
    return ""
