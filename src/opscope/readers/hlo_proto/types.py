"""Types and layouts, as HLO text writes them: `f32[2,<=8]{1,0:T(8,128)S(5)}`."""

from __future__ import annotations

from collections.abc import Iterable

from opscope.protobuf.hlo import BUFFER, PRIMITIVE_TYPES, TUPLE
from opscope.protobuf.wire import Message

_NUMBERED = 5


def joined(values: Iterable[object], separator: str = ",") -> str:
    return separator.join(map(str, values))


def type_text(shape: Message, *, layout: bool = True) -> str:
    """A type. Tuples are nested no deeper than messages may be."""
    kind = shape.get("element_type", 0)
    inner = shape.get("tuple_shapes", ())
    if kind in (TUPLE, BUFFER):
        return f"{'b' if kind == BUFFER else ''}({_numbered([type_text(one, layout=layout) for one in inner])})"
    sizes = shape.get("dimensions", [])
    is_dynamic = shape.get("is_dynamic_dimension", [])
    texts = [_size(size, i < len(is_dynamic) and is_dynamic[i]) for i, size in enumerate(sizes)]
    text = f"{PRIMITIVE_TYPES.get(kind, f'type{kind}')}[{joined(texts)}]"
    if not layout or "layout" not in shape:
        return text
    order = layout_text(shape["layout"])
    return text if order == "{}" and not sizes else text + order


def _numbered(texts: list[str]) -> str:
    """The elements of a tuple, with every fifth one numbered as XLA does."""
    marks = (f"/*index={i}*/" if i and i % _NUMBERED == 0 else "" for i in range(len(texts)))
    return ", ".join(mark + text for mark, text in zip(marks, texts, strict=True))


def _size(size: int, is_dynamic: bool) -> str:
    return ("?" if size < 0 else f"<={size}") if is_dynamic else str(size)


def layout_text(layout: Message) -> str:
    """The order of dimensions in memory, then tiles, alignment, widths and the memory space, where they are not the usual ones."""
    parts = "".join(
        [
            "T" + "".join(f"({joined(_tile(tile))})" for tile in layout["tiles"]) if "tiles" in layout else "",
            _number("L", layout.get("tail_padding_alignment_in_elements", 1), usual=(0, 1)),
            _primitive("#", layout.get("index_primitive_type", 0)),
            _primitive("*", layout.get("pointer_primitive_type", 0)),
            _number("E", layout.get("element_size_in_bits", 0)),
            _number("S", layout.get("memory_space", 0)),
            "SC" + "".join(map(_split, layout["split_configs"])) if "split_configs" in layout else "",
            f"P({type_text(layout['physical_shape'])})" if "physical_shape" in layout else "",
            _number("M", layout.get("dynamic_shape_metadata_prefix_bytes", 0)),
        ]
    )
    return f"{{{joined(layout.get('minor_to_major', ()))}{':' if parts else ''}{parts}}}"


def _tile(tile: Message) -> list[str]:
    """The sizes of a tile; the smallest number there is stands for "as many as there are"."""
    return ["*" if size == -(1 << 63) else str(size) for size in tile.get("dimensions", ())]


def _split(split: Message) -> str:
    return f"({split.get('dimension', 0)}:{joined(split.get('split_indices', ()))})"


def _number(mark: str, value: int, usual: tuple[int, ...] = (0,)) -> str:
    return "" if value in usual else f"{mark}({value})"


def _primitive(mark: str, kind: int) -> str:
    return f"{mark}({PRIMITIVE_TYPES.get(kind, 'invalid')})" if kind else ""
