"""Styles that come with opscope: ordinary rules, which people can inspect, change and export in the viewer.

They refer to operations by name, so they are defined here and sent with each page.
"""

from __future__ import annotations

from typing import Any, NamedTuple

_Shade = tuple[str, str]
"""A colour for light pictures, and for dark ones."""
_Colours = tuple[_Shade, _Shade]
"""Fill and border."""

_PARTITIONS: tuple[_Colours, ...] = (
    (("#FDF3E1", "#2B2418"), ("#DDB36A", "#8A6A33")),
    (("#EDF2FD", "#1B2133"), ("#93ACE6", "#4A62A0")),
    (("#EAF6EC", "#18271D"), ("#83BF92", "#417A52")),
    (("#FBEDF4", "#2C1B25"), ("#D795B8", "#8A4A6B")),
    (("#E8F6F7", "#152729"), ("#79BEC4", "#3A7A80")),
    (("#F2EEFB", "#221D30"), ("#AE9BDC", "#63529B")),
    (("#F6F3E2", "#26241A"), ("#BFB265", "#77703A")),
)
"""Adjacent entries are far apart on the colour wheel."""
_DEQUANTIZE: _Colours = (("#E3F1EF", "#1A302D"), ("#5FA79C", "#3F8378"))
_QUANTIZE: _Colours = (("#D3EBE7", "#1F3F3A"), ("#2F8577", "#5BB3A5"))
_CLUSTER: _Colours = (("#FFFFFF", "#1E2527"), ("#5FA79C", "#4A8F84"))


class PredefinedStyle(NamedTuple):
    """A named list of rules."""

    title: str
    """The label of the viewer's button that applies it."""
    rules: list[dict[str, Any]]


def _rule(node_type: str, pattern: str, colours: _Colours) -> dict[str, Any]:
    names = ("node_bg_color", "node_border_color")
    return {
        "queries": [{"type": "node_type", "nodeType": node_type}, {"type": "regex", "queryRegex": pattern, "matchTypes": ["title"]}],
        "nodeType": node_type,
        "styles": {name: {"id": name, "value": light, "dark": dark} for name, (light, dark) in zip(names, colours, strict=True)},
        "version": "v2",
    }


def _partition(number: int) -> dict[str, Any]:
    """Partitions 0 to 6 have one colour each; after that the colours repeat."""
    numbers = "|".join(str(number + i * len(_PARTITIONS)) for i in range(40))
    return _rule("layer_nodes", rf"^partition (?:{numbers})\b", _PARTITIONS[number])


PREDEFINED_STYLES = {
    "clusters": PredefinedStyle(
        "Colour quantized clusters",
        [
            _rule("op_nodes", "call_delegate", _PARTITIONS[0]),  # after lowering, a partition is a call of its backend
            _rule("op_nodes", r"\bdequantize", _DEQUANTIZE),
            _rule("op_nodes", r"\bquantize_|\bquantize$|QuantizeLinear", _QUANTIZE),
            _rule("layer_nodes", r"^cluster\b", _CLUSTER),
            *(_partition(number) for number in range(len(_PARTITIONS))),
        ],
    )
}
