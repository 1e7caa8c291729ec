"""What is in a picture of torchviz, or of its drop-in: read from DOT text, and from SVG."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import NamedTuple
from xml.etree import ElementTree

SVG = "{http://www.w3.org/2000/svg}"
FILLS = {"#F1F1F4": "function", "#E8EEFC": "leaf", "#FBF0E3": "saved", "#E1F5C4": "output", "#A9D17A": "base"}
TORCHVIZ_FILLS = {"": "function", "lightblue": "leaf", "orange": "saved", "darkolivegreen1": "output", "darkolivegreen3": "base"}


class Box(NamedTuple):
    """What a box says. Outputs and bases have no name in torchviz."""

    kind: str
    name: str
    shape: str
    table: tuple[tuple[str, str], ...] = ()


class Picture(NamedTuple):
    boxes: Counter[Box]
    edges: Counter[tuple[str, str]]
    """By the names and shapes at both ends."""
    styles: Counter[tuple[str, str, str]] = Counter()
    """The same with the style of the line, in DOT text."""


def picture(boxes: dict[str, Box], edges: list[tuple[str, str]], styles: list[str] | None = None) -> Picture:
    """Graphviz keeps the last statement about a node, and draws one that only edges mention with its id."""
    ends = {key: f"{box.kind} {box.name} {box.shape}" for key, box in boxes.items()}
    pairs = [(ends[a], ends[b]) for a, b in edges]
    return Picture(
        Counter(boxes.values()), Counter(pairs), Counter((*pair, style) for pair, style in zip(pairs, styles or (), strict=False))
    )


def in_dot(source: str) -> Picture:
    """The picture that DOT text describes, of torchviz or of ours."""
    boxes: dict[str, Box] = {}
    edges = []
    styles = []
    for statement in re.findall(r'\t(?:"(?:[^"\\]|\\.)*"|[^"\n])*', source.replace("\\n", "\n")):
        words = statement.strip()
        edge = re.match(r'("[^"]+"|\d+) -> ("[^"]+"|\d+)', words)
        node = re.match(r'("[^"]+"|\d+) \[label=(?:"((?:[^"\\]|\\.)*)"|(\w+))(?: fillcolor="?(\w+))?', words)
        if edge:
            edges.append((edge[1], edge[2]))
            styles.append(words[edge.end() :].strip())
        elif node:
            boxes[node[1]] = labelled(node[2] or node[3], TORCHVIZ_FILLS[node[4] or ""])
    return picture(boxes, edges, styles)


def labelled(label: str, kind: str) -> Box:
    first, _, rest = label.partition("\n")
    if kind != "function":
        return Box(kind, "" if kind in ("output", "base") else first, rest.strip())
    rows = [line.partition(": ") for line in rest.split("\n")[1:]]
    return Box(kind, first, "", tuple((name.strip(), re.sub(r"\d{19,20}", signed, value.strip())) for name, _, value in rows))


def signed(number: re.Match[str]) -> str:
    """torchviz prints -1 as an unsigned number."""
    return str(int(number[0]) - 2**64)


def in_svg(text: str) -> Picture:
    """The picture that an SVG shows: texts, tables and fills of its boxes, and the ends of its lines."""
    root = ElementTree.fromstring(text)
    boxes: dict[str, Box] = {}
    edges = []
    for group in root.iter(f"{SVG}g"):
        part = group.attrib.get("class", "").partition(" ")[0]
        if part == "box":
            boxes[group.attrib["data-key"]] = drawn(group)
        elif part == "edge":
            edges.append((group.attrib["data-from"], group.attrib["data-to"]))
    return picture(boxes, edges)


def drawn(group: ElementTree.Element) -> Box:
    body = group.find(f"{SVG}rect")
    assert body is not None
    kind = FILLS[body.attrib["fill"]]
    texts = [(run.text or "", run.attrib.get("text-anchor", "start")) for run in group.iter(f"{SVG}text")]
    table = [(name, value) for (name, _), (value, anchor) in pairwise(texts) if anchor == "end"]
    title, *others = [text for text, anchor in texts if text not in {cell for row in table for cell in row} and anchor != "end"]
    if kind == "function":
        return Box(kind, title, "", tuple(table))
    shape = re.search(r"\[(.*)\]", others[0])
    is_nameless = kind in ("output", "base") or re.fullmatch(r"leaf(_\d+)?", title) or title.startswith("saved[")  # in torchviz
    return Box(kind, "" if is_nameless else title, f"({shape[1] if shape else ''})")
