"""Hooks into torch.compile. Every function of torch that is replaced is restored when the recording or the block ends.

These functions are private to torch, so each is looked up before it is replaced; if one is missing, the recording continues without it and
has a remark.
"""

from __future__ import annotations

import copy
import functools
import inspect
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from opscope.errors import OpscopeError
from opscope.program import Path
from opscope.recording.hooks.torch_compile.chain import WHOLE_GRAPH, Chain
from opscope.recording.hooks.torch_compile.dynamo_words import break_reason, break_remark
from opscope.recording.hooks.torch_compile.frames import break_reasons, compiled_function, place_of, seconds_of_tracing
from opscope.recording.hooks.torch_compile.graphs import BACKWARD, FORWARD
from opscope.recording.hooks.torch_compile.launches import record_launches
from opscope.recording.hooks.torch_compile.passes import PassWatcher
from opscope.recording.hooks.torch_compile.remarks import TorchRemarks

if TYPE_CHECKING:
    from opscope.recording.recorder import Recorder

_SINCE = (2, 6)


class Stage(NamedTuple):
    """What the compiler of this thread is working on, and thus where observed passes belong."""

    chain: Chain
    part: str
    pipeline: Path
    root: Any


class Hooks:
    """Replaces Inductor's entry points while it is installed."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.codegen = False
        self.remarks = TorchRemarks(recorder)
        self._local = threading.local()
        self._undo: list[Callable[[], None]] = []
        self._titles: set[str] = set()
        self._broken: set[str] = set()
        """The lines at which graphs ended."""
        self.breaks_before = len(break_reasons())
        """How many of Dynamo's reasons are remarks already, or from before the recording."""
        self.installed = False
        self.everything = False
        """Whether to record everything that torch.compile compiles, or only what `rec.torch` does."""

    @property
    def compiled(self) -> int:
        """How many graphs were compiled."""
        return len(self._titles)

    @property
    def stage(self) -> Stage | None:
        return getattr(self._local, "stage", None)

    def install(self) -> None:
        import torch
        from torch._inductor import compile_fx
        from torch._inductor.graph import GraphLowering

        self.installed = True
        for name, wrap in (
            ("compile_fx", self._compile_fx),
            ("_recursive_pre_grad_passes", self._pre_grad),
            ("_recursive_joint_graph_passes", self._joint),
            ("partition_fn", self._partition),
            ("_recursive_post_grad_passes", self._post_grad),
        ):
            self._replace(compile_fx, name, wrap)
        self._replace(GraphLowering, "codegen", self._codegen)
        PassWatcher(self).install()
        self._recorder.set(producer=f"torch.compile of PyTorch {torch.__version__}", ids="names")

    def remove(self) -> None:
        """Restore everything. A later compilation (of a backward) finds torch as it was."""
        self.installed = False
        while self._undo:
            self._undo.pop()()

    def _replace(self, owner: Any, name: str, wrap: Callable[[Any], Any]) -> None:
        if not hasattr(owner, name):
            self.remarks.missing(f"{owner.__name__}.{name}")
            return
        self.replace(owner, name, wrap)

    def replace(self, owner: Any, name: str, wrap: Callable[[Any], Any]) -> None:
        original = vars(owner)[name]
        setattr(owner, name, functools.wraps(original)(wrap(original)))
        self._undo.append(lambda: setattr(owner, name, original))

    @contextmanager
    def _at(self, chain: Chain, part: str, pipeline: Path, root: Any) -> Iterator[None]:
        outer = self.stage
        self._local.stage = Stage(chain, part, pipeline, root)
        try:
            yield
        finally:
            self._local.stage = outer

    @contextmanager
    def _compiling(self, chain: Chain, part: str) -> Iterator[None]:
        outer = getattr(self._local, "chain", None), getattr(self._local, "part", "")
        self._local.chain, self._local.part = chain, part
        try:
            yield
        finally:
            self._local.chain, self._local.part = outer

    @contextmanager
    def requested(self) -> Iterator[None]:
        """Mark what this thread compiles inside the block as requested with `rec.torch`."""
        self._local.requested = True
        try:
            with self.traced(time.time_ns()):
                yield
        finally:
            self._local.requested = False

    @contextmanager
    def traced(self, when: int) -> Iterator[None]:
        """Dynamo had its graph at that time (in nanoseconds), before the block; the first compilation imports Inductor then."""
        self._local.traced = when
        try:
            yield
        finally:
            self._local.traced = None

    @property
    def _is_recording(self) -> bool:
        return self.installed and (self.everything or getattr(self._local, "requested", False))

    @property
    def _chain(self) -> Chain | None:
        return getattr(self._local, "chain", None)

    def _compile_fx(self, original: Any) -> Any:
        def compile_fx(model: Any, example_inputs: Any, inner_compile: Any = None, **options: Any) -> Any:
            if not self._is_recording or self._chain is not None or not hasattr(model, "graph"):
                inner_option = {} if inner_compile is None else {"inner_compile": inner_compile}
                return original(model, example_inputs, **inner_option, **options)
            chain = Chain(self._recorder, self._title(model), model)
            with self.remarks.safely("Dynamo's graph"):
                seconds = seconds_of_tracing(getattr(self._local, "traced", None) or time.time_ns())
                chain.snapshot(model, "Dynamo graph", ("dynamo",), seconds=seconds)
            inner = self._lowering(chain, inner_compile) if self.codegen else self._passes_only(chain)
            chain.stage_ended()
            with self._compiling(chain, ""), without_caches(not self.codegen):
                return original(model, example_inputs, inner, **options)

        return compile_fx

    def _title(self, model: Any) -> str:
        """A title such as `MLP.forward 0/1`: the function, and Dynamo's compile id (frame / recompilation)."""
        number = str(getattr(model, "meta", {}).get("dynamo_compile_id") or "")
        title = " ".join(filter(None, (compiled_function(), number))) or "graph"
        unique, count = title, 2
        while unique in self._titles:
            unique, count = f"{title} #{count}", count + 1
        self._titles.add(unique)
        return unique

    def note_breaks(self) -> None:
        """Add a remark on each graph break since the last time: where it is, and why. Dynamo may give a branch two reasons; the first one
        says more."""
        reasons = break_reasons()
        for reason in reasons[self.breaks_before :]:
            with self.remarks.safely("the reason of a graph break"):
                place = place_of(reason)
                if place not in self._broken:
                    self.remarks.add(break_remark(place, break_reason(str(reason.reason))))
                self._broken |= {place} - {""}
        self.breaks_before = len(reasons)

    def _record_stage(self, module: Any, pipeline: Path, part: str, run: Callable[[], Any]) -> Any:
        """Run the passes of one stage, and record the changes before and after them that no observer sees."""
        chain, stage = self._chain, self.stage
        if not self.installed or chain is None or (stage is not None and is_part_of(module, stage.root)):
            return run()
        with self._at(chain, part, pipeline, module):
            with self.remarks.safely(pipeline[0]):
                chain.catch_up(module, pipeline, part)
            result = run()
            with self.remarks.safely(pipeline[0]):
                chain.catch_up(module if result is None else result, pipeline, part)
        chain.stage_ended()
        return result

    def _pre_grad(self, original: Any) -> Any:
        def pre_grad(module: Any, *args: Any, **options: Any) -> Any:
            return self._record_stage(module, ("pre-grad",), "", lambda: original(module, *args, **options))

        return pre_grad

    def _joint(self, original: Any) -> Any:
        def joint(module: Any, *args: Any, **options: Any) -> Any:
            chain, stage = self._chain, self.stage
            if chain is not None and self.installed and stage is None:
                differentiated = any(node.op == "placeholder" and node.name.startswith("tangents") for node in module.graph.nodes)
                with self.remarks.safely("AOTAutograd's graph"):
                    chain.aot(module, ("aot autograd",), "joint graph" if differentiated else "AOTAutograd graph", chain.since_stage())
            return self._record_stage(module, ("joint",), "", lambda: original(module, *args, **options))

        return joint

    def _partition(self, original: Any) -> Any:
        def partition(module: Any, joint_inputs: Any, **options: Any) -> Any:
            chain = self._chain
            if chain is None or not self.installed or options.get("partitioner_fn_override") is not None:
                return original(module, joint_inputs, **options)  # of a graph that is called by the recorded one
            forward, backward = original(module, joint_inputs, **options)
            with self.remarks.safely("the partition"):  # Inductor runs the joint passes first
                chain.partition(forward, backward, ("partition",), "forward and backward", chain.since_stage())
            return forward, backward

        return partition

    def _post_grad(self, original: Any) -> Any:
        def post_grad(module: Any, *args: Any, **options: Any) -> Any:
            part = getattr(self._local, "part", "")
            pipeline = ("post-grad", part) if part else ("post-grad",)
            return self._record_stage(module, pipeline, part, lambda: original(module, *args, **options))

        return post_grad

    def _codegen(self, original: Any) -> Any:
        def codegen(graph: Any, *args: Any, **options: Any) -> Any:
            chain = self._chain
            started = chain.clock() if chain is not None else 0.0
            generated = original(graph, *args, **options)
            if chain is not None and self.installed and self.codegen:
                seconds = chain.clock() - started
                with self.remarks.safely("the generated code"):
                    record_launches(chain, getattr(self._local, "part", ""), generated, seconds)
            return generated

        return codegen

    def _passes_only(self, chain: Chain) -> Any:
        """Replaces code generation: runs Inductor's passes on the graph, and returns the graph as it was before them.

        After the passes, a graph may contain operations that only Inductor's generated code can run.
        """

        def inner_compile(module: Any, example_inputs: Any, **options: Any) -> Any:
            from torch._functorch._aot_autograd.utils import make_boxed_func

            runnable = copy.deepcopy(module)
            if self.installed:
                with self.remarks.safely("post-grad passes"), self._compiling(chain, _half(chain, options)):
                    post_grad_passes(module, example_inputs, bool(options.get("is_inference")))
            return make_boxed_func(runnable.forward)

        return inner_compile

    def _lowering(self, chain: Chain, inner: Any = None) -> Any:
        """Inductor's own code generation, with the scheduler recorded before and after fusion."""
        from torch._inductor.compile_fx import compile_fx_inner

        from opscope.recording.hooks.torch_compile.scheduler import watching_scheduler

        compile_inner = inner or compile_fx_inner

        def inner_compile(module: Any, example_inputs: Any, **options: Any) -> Any:
            if not self.installed:
                return compile_inner(module, example_inputs, **options)
            part = _half(chain, options)
            with self._compiling(chain, part), without_caches(False), watching_scheduler(chain, part, self.remarks):
                return compile_inner(module, example_inputs, **options)

        return inner_compile


def _half(chain: Chain, options: dict[str, Any]) -> str:
    """The part of a chain that Inductor is compiling."""
    return WHOLE_GRAPH if WHOLE_GRAPH in chain.parts else BACKWARD if options.get("is_backward") else FORWARD


def is_part_of(module: Any, root: Any) -> bool:
    return module is root or any(inner is module for inner in root.modules())


def post_grad_passes(module: Any, example_inputs: Any, is_inference: bool) -> None:
    """Run what Inductor runs on a graph before it lowers it."""
    import torch
    from torch._inductor import compile_fx
    from torch._inductor.virtualized import V

    reshape = getattr(compile_fx, "view_to_reshape", None)
    if reshape is not None:
        reshape(module)
    with torch.no_grad():
        fake_mode = compile_fx.fake_tensor_prop(module, example_inputs)
    with V.set_fake_mode(fake_mode):
        compile_fx._recursive_post_grad_passes(module, is_inference=is_inference)


@contextmanager
def without_caches(backward_too: bool) -> Iterator[None]:
    """Disable torch's caches, because a cached graph runs no passes. Torch's settings are per thread, so this wraps each compilation."""
    import torch._functorch.config as functorch
    import torch._inductor.config as inductor

    with ExitStack() as settings:
        settings.enter_context(inductor.patch(_supported(inductor, force_disable_caches=True)))
        functorch_options: dict[str, Any] = {"enable_autograd_cache": False}
        if backward_too:  # compile the backward now: it may never run
            functorch_options["force_non_lazy_backward_lowering"] = True
        settings.enter_context(functorch.patch(_supported(functorch, **functorch_options)))
        yield


def _supported(config: Any, **options: Any) -> dict[str, Any]:
    """The options that this version of torch has."""
    return {name: value for name, value in options.items() if hasattr(config, name)}


@contextmanager
def watching(recorder: Recorder, codegen: bool = False) -> Iterator[None]:
    """Record everything that torch.compile compiles inside the block.

    Without code generation, torch forgets these compilations afterwards, so that the next call compiles in full.
    """
    hooks = _hooks_of(recorder)
    before = hooks.codegen, hooks.everything, hooks.compiled
    hooks.codegen, hooks.everything = codegen, True
    try:
        yield
        hooks.note_breaks()
        if hooks.compiled == before[2]:
            hooks.remarks.add(
                "nothing was compiled in the block; call torch._dynamo.reset() first to compile again what was compiled earlier"
            )
    finally:
        if not codegen and hooks.compiled > before[2]:
            import torch._dynamo

            torch._dynamo.reset()
        hooks.codegen, hooks.everything = before[:2]


def listen(recorder: Recorder) -> None:
    """Record everything that torch.compile compiles while the recording is open. This imports nothing of torch."""
    wrapper = getattr(sys.modules.get("torch"), "_TorchCompileInductorWrapper", None)
    if wrapper is None:
        return
    original, blocks, breaks_before = wrapper.__call__, ExitStack(), len(break_reasons())

    def compiling(self: Any, *args: Any, **options: Any) -> Any:
        traced = time.time_ns()
        if recorder not in _OF_RECORDER:  # Dynamo notes why a graph ends before it has the graph compiled
            _hooks_of(recorder).breaks_before = min(breaks_before, len(break_reasons()))
        if not _OF_RECORDER[recorder].everything:
            blocks.enter_context(watching(recorder))
        with _OF_RECORDER[recorder].traced(traced):
            return original(self, *args, **options)

    def stop() -> None:
        wrapper.__call__ = original
        blocks.close()

    wrapper.__call__ = compiling
    recorder.on_close(stop)


def record_torch(
    recorder: Recorder,
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    codegen: bool = False,
    compile_options: dict[str, Any] | None = None,
) -> Any:
    """Compile a module or function, run it on these arguments, and record what the compiler does. Returns the result of the run.

    The hooks stay until the recording ends, because a backward may be compiled later.
    """
    hooks = _hooks_of(recorder)
    before = hooks.compiled
    hooks.codegen = codegen
    result = _compiled(function, hooks, compile_options or {})(*args, **kwargs)
    hooks.note_breaks()
    if hooks.compiled == before:
        hooks.remarks.add("nothing was compiled; torch.compile ran the function eagerly")
    return result


def _compiled(function: Any, hooks: Hooks, options: dict[str, Any]) -> Any:
    """The function with its own backend, so that earlier compilations of it are neither used nor changed."""
    import torch

    mode, settings = options.pop("mode", None), options.pop("options", None)
    patches = torch._TorchCompileInductorWrapper(mode, settings, options.get("dynamic")).config if mode or settings else None

    def inductor(module: Any, example_inputs: Any) -> Any:
        with hooks.requested():
            from torch._inductor import compile_fx

            return compile_fx.compile_fx(module, example_inputs, config_patches=patches)

    if "isolate_recompiles" in inspect.signature(torch.compile).parameters:
        options.setdefault("isolate_recompiles", True)
    return torch.compile(function, backend=inductor, **options)


_OF_RECORDER: WeakKeyDictionary[Recorder, Hooks] = WeakKeyDictionary()


def _hooks_of(recorder: Recorder) -> Hooks:
    """The hooks of a recording, installed on first use and removed when it ends."""
    if recorder in _OF_RECORDER:
        return _OF_RECORDER[recorder]
    try:
        import torch
    except ImportError:
        raise OpscopeError("PyTorch is not installed; run `pip install torch`") from None
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < _SINCE:
        raise OpscopeError(f"recording torch.compile needs PyTorch {_SINCE[0]}.{_SINCE[1]} or later; {torch.__version__} is installed")
    hooks = Hooks(recorder)
    recorder.on_close(hooks.remove)
    hooks.install()
    _OF_RECORDER[recorder] = hooks
    return hooks
