"""What XLA's autotuner measured and chose: `xla_gpu_dump_autotune_logs_to` and `xla_gpu_dump_autotune_results_to`, beside a dump.

Both files are protocol buffers as text. The log has, for each fusion or library call, the configurations that were tried:

    instruction_profiles {
      hlo_fingerprint: "21a0…"
      config_profiles {
        config { backend: TRITON  backend_config { triton { block_m: 16 … } } }
        run_time { nanos: 33760 }
      }
      failed_configs { config { … }  kind: COMPILATION_FAILED  message: "…" }
      hlo_text: "%gemm_fusion_dot.66 = f32[8,4,128,128]{3,2,1,0} fusion(…), metadata={… deduplicated_name=\"gemm_fusion_dot.66\" …}"
    }

The results have the chosen one by fingerprint. A fusion that equals another one takes its configuration, and names it in its
`deduplicated_name`. The log does not name modules: the names of the autotuner's own texts do (`MODULE.autotuner_12.NODE.after.txt`), or
else the only module with such a node is meant.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from opscope.errors import in_source
from opscope.limits import Budget
from opscope.quantities import short_bytes, short_seconds
from opscope.recording.dumps.own_files import own_files
from opscope.recording.dumps.xla import find_steps

LOG_FILE = re.compile(r"autotun.*\.(textproto|pbtxt|txt)")
_OWN_TEXT = re.compile(r"(?P<module>module_\d+\..+?)\.autotuner_\d+\.(?P<node>.+)\.after\.txt")
_LINE = re.compile(r'\s*(?:(?P<open>\w+)\s*\{|(?P<close>\})|(?P<name>\w+):\s*(?:"(?P<text>(?:[^"\\]|\\.)*)"|(?P<word>\S+)))\s*$')
_STATEMENT = re.compile(r"\s*(?:ROOT )?%?(?P<node>\S+) = .*?\s(?P<op>[\w-]+)\(")
_LIKE = re.compile(r'deduplicated_name=\\?"(?P<name>[^"\\]+)')
_MOST_OPEN = 100
_NAME = 100
"""Bytes of a name. Of the nodes that are alike, one is tuned; a log that tunes all of them has the square of their number."""
_MOST_DIGITS = 18

Message = dict[str, list[Any]]


class Candidate(NamedTuple):
    """A configuration that the autotuner tried."""

    config: str
    seconds: float | None
    """None if it could not be measured."""
    scratch_bytes: int = 0
    failure: str = ""

    def __str__(self) -> str:
        return self.config + (f", with {short_bytes(self.scratch_bytes)} of scratch memory" if self.scratch_bytes else "")


class Autotuning(NamedTuple):
    """What was tried for a node, the fastest first, and what was chosen."""

    module: str
    node: str
    same: tuple[str, ...]
    """Equal nodes of the module, which take the same configuration."""
    chosen: str
    """The configuration; empty if the results were not dumped."""
    candidates: tuple[Candidate, ...]
    modules: int = 1
    """How many modules have a node of this name; the log does not say which one it is about."""

    @property
    def home(self) -> tuple[str, str]:
        """As of a `FusionNote`; autotuning is noted for whole modules."""
        return self.module, ""

    @property
    def names(self) -> tuple[str, ...]:
        return self.node, *self.same

    def __str__(self) -> str:
        measured = [each for each in self.candidates if each.seconds is not None]
        failed = len(self.candidates) - len(measured)
        parts = [f"{self.node} was autotuned: {self._choice(measured)}"]
        if len(measured) > 1:
            parts.append(f"{len(measured)} configurations took {_time(measured[0])} to {_time(measured[-1])}")
        if failed:
            parts.append(f"{failed} failed")
        if self.same:
            parts.append(f"{', '.join(self.same[:4])}{', …' if len(self.same) > 4 else ''} {'is' if len(self.same) == 1 else 'are'} equal")
        if self.modules > 1:
            parts.append(f"the log does not say in which of {self.modules} modules")
        return "; ".join(parts)

    def _choice(self, measured: list[Candidate]) -> str:
        if not self.chosen:
            return f"the fastest was {measured[0]}: {_time(measured[0])}" if measured else "the choice was not dumped"
        times = [each for each in measured if each.config == self.chosen]
        rank = f": {_time(times[0])}" if times else ", not measured"
        if times and times[0].seconds == measured[0].seconds:
            rank += ", the fastest" if len(measured) > 1 else ""
        elif times:
            rank += f", not the fastest, which was {measured[0]}: {_time(measured[0])}"
        return f"chosen {self.chosen}{rank}"

    def lines(self) -> list[str]:
        """The sentence, and a line for each configuration."""
        rows = [f"  {'*' if each.config == self.chosen else ' '} {_time(each):>9}  {each}" for each in self.candidates]
        return [str(self), *rows]

    def to_json(self) -> dict[str, Any]:
        return {"kind": "autotuned", **self._asdict(), "same": list(self.same), "candidates": [each._asdict() for each in self.candidates]}

    @classmethod
    def of_json(cls, note: Any) -> Autotuning | None:
        """What `to_json` wrote; None if it is damaged."""
        try:
            candidates = tuple(_checked(Candidate(**each)) for each in note["candidates"])
            same = tuple(map(str, note["same"]))
            module, node, chosen = (_as_text(note[name]) for name in ("module", "node", "chosen"))
            return cls(module, node, same, chosen, candidates, _as_number(note["modules"]))
        except (TypeError, KeyError):
            return None


def _checked(candidate: Candidate) -> Candidate:
    """The same, unless a value of it is of another type."""
    config, seconds, scratch_bytes, failure = candidate
    return Candidate(_as_text(config), None if seconds is None else _as_number(seconds), _as_number(scratch_bytes), _as_text(failure))


def _as_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _as_number(value: Any) -> Any:
    if not isinstance(value, float | int):
        raise TypeError(value)
    return value


def _time(candidate: Candidate) -> str:
    return "failed" if candidate.seconds is None else short_seconds(candidate.seconds)


def autotunings(directory: Path) -> list[Autotuning]:
    """What the autotuner logged in a dump, in the order of the log."""
    paths = own_files(directory)
    profiles: list[Message] = []
    chosen: dict[str, str] = {}
    for path in paths:
        if LOG_FILE.fullmatch(path.name):
            message = _message(path)
            profiles += _messages(message, "instruction_profiles")
            chosen |= dict(_choices(message))
    if not profiles:
        return []
    own: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        if match := _OWN_TEXT.fullmatch(path.name):
            own[match["node"]].append(match["module"])
    last = {step.module: step.path for step in find_steps(directory)[0]}
    texts = {module: _Text.of(_statements(path)) for module, path in last.items()}
    budget = Budget(sum(path.stat().st_size for path in paths))
    with in_source(str(directory)):
        return [note for profile in profiles for note in _autotunings(profile, chosen, own, texts, budget)]


class _Text(NamedTuple):
    """The fusions and library calls of a module."""

    ops: Mapping[str, str]
    alike: Mapping[str, list[str]]
    """Those that take the configuration of a node, by its name."""

    @classmethod
    def of(cls, nodes: Mapping[str, tuple[str, str]]) -> _Text:
        alike: dict[str, list[str]] = defaultdict(list)
        for name, (_, like) in nodes.items():
            alike[like].append(name)
        return cls({name: op for name, (op, _) in nodes.items()}, alike)


_NO_TEXT = _Text({}, {})


def _autotunings(
    profile: Message, chosen: Mapping[str, str], own: Mapping[str, list[str]], texts: Mapping[str, _Text], budget: Budget
) -> Iterator[Autotuning]:
    text = _text(profile, "hlo_text")
    statement, like = _STATEMENT.match(text), _LIKE.search(text)
    if statement is None:
        return
    node, op = statement["node"], statement["op"]
    modules = list(dict.fromkeys(own.get(node, ()))) or [name for name, nodes in texts.items() if nodes.ops.get(node) == op]
    choice = chosen.get(_text(profile, "hlo_fingerprint"), "")
    candidates = tuple(sorted(_candidates(profile), key=lambda each: (each.seconds is None, each.seconds or 0)))
    for module in modules:
        alike = texts.get(module, _NO_TEXT).alike.get(like["name"], []) if like else []
        budget.take(_NAME * len(alike))
        equal = tuple(name for name in alike if name != node)
        yield Autotuning(module, node, equal, choice, candidates, len(modules))


def _candidates(profile: Message) -> Iterator[Candidate]:
    for each in _messages(profile, "config_profiles"):
        (time,) = _messages(each, "run_time")[:1] or [Message()]
        seconds = _number(time, "seconds") + _number(time, "nanos") / 1e9
        yield Candidate(_config(each, "config"), seconds, int(_number(each, "scratch_bytes")))
    for each in _messages(profile, "failed_configs"):
        failure = _text(each, "message").split("\n", 1)[0]
        yield Candidate(_config(each, "config"), None, failure=failure[:200] or _text(each, "kind"))


def _choices(message: Message) -> Iterator[tuple[str, str]]:
    """The chosen configuration by fingerprint."""
    for entry in _messages(message, "entries"):
        for key in _messages(entry, "key"):
            for target in _messages(key, "target"):
                for value in _messages(entry, "value"):
                    yield _text(target, "hlo_fingerprint"), _config(value, "optimal_config")


def _config(message: Message, name: str) -> str:
    """A configuration in one line: its backend, and what is set: `TRITON block_m=64 block_n=32 num_warps=4`."""
    (config,) = _messages(message, name)[:1] or [Message()]
    words = [_text(config, "backend")]
    pending: list[tuple[str, Any]] = [("", each) for each in reversed(_messages(config, "backend_config"))]
    while pending:
        key, value = pending.pop()
        if isinstance(value, dict):
            pending += [(inner, each if isinstance(each[0], dict) else "×".join(each)) for inner, each in reversed(value.items())]
        elif isinstance(value, list):
            pending += [(key, each) for each in reversed(value)]
        else:
            words.append(f"{key}={value}")
    return " ".join(filter(None, words))


def _statements(path: Path) -> dict[str, tuple[str, str]]:
    """For each fusion and library call of a text: its operation, and the node whose configuration it takes."""
    from opscope.readers.source import Source

    nodes: dict[str, tuple[str, str]] = {}
    for line in Source(path).read_text().splitlines():
        if " fusion(" in line or " custom-call(" in line:
            statement, like = _STATEMENT.match(line), _LIKE.search(line)
            if statement:
                nodes[statement["node"]] = statement["op"], like["name"] if like else ""
    return nodes


def _message(path: Path) -> Message:
    """A protocol buffer as text, one field or bracket per line: for each field its values. What is not so is passed over."""
    top: Message = {}
    stack = [top]
    with path.open(encoding="utf-8", errors="replace") as lines:
        for match in filter(None, map(_LINE.match, lines)):
            if match["open"] and len(stack) < _MOST_OPEN:
                stack.append({})
                stack[-2].setdefault(match["open"], []).append(stack[-1])
            elif match["close"] and len(stack) > 1:
                stack.pop()
            elif match["name"]:
                stack[-1].setdefault(match["name"], []).append(match["word"] if match["text"] is None else match["text"])
    return top


def _messages(message: Message, name: str) -> list[Message]:
    return [each for each in message.get(name, ()) if isinstance(each, dict)]


def _text(message: Message, name: str) -> str:
    values: Iterable[Any] = message.get(name, ())
    return next((each for each in values if isinstance(each, str)), "")


def _number(message: Message, name: str) -> float:
    text = _text(message, name)
    return float(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else 0.0
