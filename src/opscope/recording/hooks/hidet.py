"""hidet's passes, recorded while it optimizes: an instrument for a live PassContext.

    with hidet.graph.PassContext() as ctx:
        ctx.instruments.append(rec.hidet())
        optimized = hidet.graph.optimize(graph)

hidet creates new operators instead of changing old ones. Which came from which is recorded where it happens: in `Operator.reforward`
(the same operator on new inputs), and in the rules that rewrite or resolve operators.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from opscope.program import Frame, NodeKey
from opscope.readers.hidet.flow import FlowNames, flow_graph_program
from opscope.recording.hooks.remarks import Remarks
from opscope.recording.hooks.subclasses import subclasses
from opscope.recording.model import Origin

if TYPE_CHECKING:
    from opscope.recording.recorder import Recorder


class _Event(NamedTuple):
    """Operators that replaced others: by a rule or, without a rule, by `reforward` of the same operator."""

    old: tuple[Any, ...]
    rule: str
    where: Frame | None


class HidetInstrument:
    """Has the methods of hidet's GraphPassInstrument, which hidet calls by name."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._remarks = Remarks(recorder)
        self._names = FlowNames()
        self._event_of: dict[int, tuple[Any, _Event]] = {}
        self._created: list[Any] | None = None
        self._started: list[tuple[str, float]] = []
        self._before: dict[int, NodeKey] = {}
        self._undo: list[Callable[[], None]] = []

    def before_all_passes(self, graph: Any) -> None:
        import hidet

        with self._remarks.safely("the start of hidet's passes"):
            self._recorder.set(producer="hidet", version=str(hidet.__version__), ids="objects")
            self._recorder.on_close(self._restore)
            self._watch_rules()
        self._snapshot(graph, "Origin", None)

    def before_pass(self, pass_name: str, graph: Any) -> None:
        self._recorder.started(pass_name, [outer for outer, _ in self._started])
        self._started.append((pass_name, time.perf_counter()))

    def after_pass(self, pass_name: str, graph: Any) -> None:
        _, started = self._started.pop()
        self._snapshot(graph, pass_name, time.perf_counter() - started)

    def after_all_passes(self, graph: Any) -> None:
        self._restore()

    def _snapshot(self, graph: Any, name: str, seconds: float | None) -> None:
        with self._remarks.safely(f"pass {name}"):
            program = flow_graph_program(graph, self._names)
            operators = dict(_operators(graph, "main", self._names))
            origins = list(self._origins(operators)) if self._before else []
            self._before = {id(op): key for key, op in operators.items()}
            pipeline = [outer for outer, _ in self._started]
            self._recorder.snapshot(program, name, pipeline=pipeline, seconds=seconds, provenance=origins)

    def _origins(self, now: dict[NodeKey, Any]) -> Iterator[Origin]:
        """Where each new operator came from, grouped by the rewrite that created it."""
        rewrites: dict[tuple[tuple[NodeKey, ...], str], tuple[list[NodeKey], Frame | None]] = {}
        for key, op in now.items():
            if id(op) in self._before:
                if self._before[id(op)] != key:
                    yield Origin((self._before[id(op)],), (key,), "identity")
                continue
            old, rule, where = self._ancestors(op)
            if old:
                rewrites.setdefault((old, rule), ([], where))[0].append(key)
        for (old, rule), (new, where) in rewrites.items():
            yield Origin(old, tuple(new), "rewrite", rule, where)

    def _ancestors(self, op: Any) -> tuple[tuple[NodeKey, ...], str, Frame | None]:
        """The operators of the snapshot before that an operator came from, and the first rule on the way."""
        ancestors: dict[NodeKey, None] = {}
        rule, where = "", None
        waiting, visited = [op], set()
        while waiting:
            this = waiting.pop()
            if id(this) in visited:
                continue
            visited.add(id(this))
            if id(this) in self._before:
                ancestors[self._before[id(this)]] = None
                continue
            _, event = self._event_of.get(id(this), (None, None))
            if event is not None:
                if event.rule and not rule:
                    rule, where = event.rule, event.where
                waiting += event.old
        return tuple(sorted(ancestors)), rule, where

    def _watch_rules(self) -> None:
        from hidet.graph.operator import Operator
        from hidet.graph.transforms.graph_patterns.base import SubgraphRewriteRule
        from hidet.graph.transforms.resolve_variant import ResolveRule

        self._replace(Operator, "reforward", self._wrap_reforward)
        self._replace(Operator, "__init__", self._wrap_creation)
        for rule in subclasses(SubgraphRewriteRule):
            if "target" in vars(rule):
                self._replace(rule, "target", self._wrap_target)
        for rule in subclasses(ResolveRule):
            if "resolve" in vars(rule):
                self._replace(rule, "resolve", self._wrap_resolve)

    def _replace(self, owner: Any, name: str, wrap: Callable[[Any], Any]) -> None:
        original = vars(owner)[name]
        setattr(owner, name, wrap(original))
        self._undo.append(lambda: setattr(owner, name, original))

    def _restore(self) -> None:
        while self._undo:
            self._undo.pop()()

    def _remember(self, operators: Iterable[Any], event: _Event) -> None:
        for op in operators:
            self._event_of.setdefault(id(op), (op, event))

    def _wrap_creation(self, original: Any) -> Any:
        def created(op: Any, *args: Any, **options: Any) -> None:
            original(op, *args, **options)
            if self._created is not None:
                self._created.append(op)

        return created

    def _wrap_reforward(self, original: Any) -> Any:
        def reforward(op: Any, *args: Any, **options: Any) -> Any:
            outputs = original(op, *args, **options)
            with self._remarks.safely("the origin of an operator"):
                self._remember({id(t.op): t.op for t in outputs if t.op is not None}.values(), _Event((op,), "", None))
            return outputs

        return reforward

    def _within_rule(self, original: Any, rule: Any, argument: Any, old: tuple[Any, ...]) -> Any:
        outer, self._created = self._created, []
        try:
            outputs = original(rule, argument)
            if outputs is not None:
                with self._remarks.safely("the origin of an operator"):
                    where = Frame(original.__code__.co_filename, original.__code__.co_firstlineno, original.__qualname__)
                    self._remember(self._created, _Event(old, getattr(rule, "name", "") or type(rule).__name__, where))
            return outputs
        finally:
            self._created = outer

    def _wrap_target(self, original: Any) -> Any:
        def target(rule: Any, matched: Any) -> Any:
            kind = _operator_class()
            old = tuple(each for each in matched.values() if isinstance(each, kind))
            return self._within_rule(original, rule, matched, old)

        return target

    def _wrap_resolve(self, original: Any) -> Any:
        def resolve(rule: Any, op: Any) -> Any:
            return self._within_rule(original, rule, op, (op,))

        return resolve


def _operator_class() -> Any:
    from hidet.graph.operator import Operator

    return Operator


def _operators(flow: Any, graph: str, names: FlowNames) -> Iterator[tuple[NodeKey, Any]]:
    """Every operator with its key, including those of fused graphs (hidet does not nest them further)."""
    for op in flow.nodes:
        id_ = names.existing(op)
        if id_ is not None:
            yield (graph, id_), op
            if op.attrs.get("fused_graph") is not None:
                yield from _operators(op.attrs["fused_graph"], f"{id_}.fused", names)
