"""Records every named pass and every pattern rewrite, through Inductor's own observers."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from opscope.recording.hooks.subclasses import subclasses
from opscope.recording.hooks.torch_compile.rewrites import Rule, frame_of, nodes_created, nodes_replaced, replacements, rule_of_pattern

if TYPE_CHECKING:
    from opscope.recording.hooks.torch_compile.hooks import Hooks, Stage


class _Running:
    """A pass that is running."""

    def __init__(self, observer: Any, stage: Stage, outer: tuple[str, ...]) -> None:
        self.observer = observer
        self.stage = stage
        self.pipeline = (*stage.pipeline, *outer)
        self.listening = ExitStack()
        self.created = self.listening.enter_context(nodes_created(observer.gm))
        self.replaced = self.listening.enter_context(nodes_replaced(observer.gm))
        self.where: Any = None
        self.spent = stage.chain.spent
        stage.chain.started(observer.passname, self.pipeline)
        self.started = time.perf_counter()

    def end(self) -> None:
        seconds = time.perf_counter() - self.started - (self.stage.chain.spent - self.spent)
        self.listening.close()
        chain, part, name = self.stage.chain, self.stage.part, self.observer.passname
        rewrites = chain.rewrites(part)
        if rewrites is not None:
            replacements(self.created, self.replaced, rewrites, Rule(name, frame_of(self.where)))
        chain.snapshot(self.stage.root, name, self.pipeline, part, seconds)


class PassWatcher:
    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._running: list[_Running] = []

    def install(self) -> None:
        self._watch_passes()
        self._watch_patterns()

    def _watch_passes(self) -> None:
        try:
            from torch.fx.passes.graph_transform_observer import GraphTransformObserver
        except ImportError:
            self._hooks.remarks.missing("GraphTransformObserver", "only stages are recorded, not single passes")
            return
        for name, wrap in (("__enter__", self._entered), ("__exit__", self._left)):
            self._hooks.replace(GraphTransformObserver, name, wrap)
        for name in ("apply_gm_pass", "apply_graph_pass"):
            if hasattr(GraphTransformObserver, name):
                self._hooks.replace(GraphTransformObserver, name, self._applied)

    def _entered(self, original: Any) -> Any:
        def enter(observer: Any) -> Any:
            entered = original(observer)
            stage = self._stage_of(observer.gm)
            if stage is not None:
                with self._hooks.remarks.safely(f"pass {observer.passname}"):
                    outer = tuple([running.observer.passname for running in self._running if running.stage is stage])
                    self._running.append(_Running(observer, stage, outer))
            return entered

        return enter

    def _left(self, original: Any) -> Any:
        def leave(observer: Any, *error: Any) -> Any:
            result = original(observer, *error)
            if self._running and self._running[-1].observer is observer:
                running = self._running.pop()
                with self._hooks.remarks.safely(f"pass {observer.passname}"):
                    running.end()
            return result

        return leave

    def _applied(self, original: Any) -> Any:
        """Remember the function of a pass, for its source line."""

        def apply(observer: Any, function: Any) -> Any:
            def call(argument: Any) -> Any:
                if self._running and self._running[-1].observer is observer:
                    self._running[-1].where = function
                return function(argument)

            return original(observer, call)

        return apply

    def _watch_patterns(self) -> None:
        try:
            from torch._inductor.pattern_matcher import PatternEntry
        except ImportError:
            self._hooks.remarks.missing("PatternEntry", "rewrites are recorded without their patterns")
            return
        for entry in subclasses(PatternEntry):
            if "apply" in vars(entry):
                self._hooks.replace(entry, "apply", self._rewritten)

    def _rewritten(self, original: Any) -> Any:
        def apply(entry: Any, match: Any, graph: Any, node: Any) -> Any:
            stage = self._stage_of(graph.owning_module)
            rewrites = stage.chain.rewrites(stage.part) if stage is not None else None
            if rewrites is None:
                return original(entry, match, graph, node)
            matched = list(match.nodes)
            with nodes_created(graph.owning_module) as created:
                result = original(entry, match, graph, node)
            with self._hooks.remarks.safely("a rewrite"):
                erased = [old for old in matched if old._erased]
                if created or erased:  # a handler may decide to leave its match alone
                    rewrites.add(matched if created else erased, created, rule_of_pattern(entry))
            return result

        return apply

    def _stage_of(self, module: Any) -> Stage | None:
        """The current stage, if the graph module is the recorded one and not a pattern being traced."""
        from opscope.recording.hooks.torch_compile.hooks import is_part_of

        stage = self._hooks.stage
        if stage is None or module is None or not self._hooks.installed or not is_part_of(module, stage.root):
            return None
        return stage
