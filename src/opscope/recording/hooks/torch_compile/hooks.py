"""Where torch.compile is listened to. Everything that is replaced in torch is put back when the recording or the block ends.

The functions below are torch's own and private: each is looked up before it is replaced, and where one is not there the recording
goes on without it and says so.
"""

from __future__ import annotations

import copy
import functools
import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from opscope.errors import OpscopeError
from opscope.program import Path
from opscope.recording.hooks.torch_compile.chain import WHOLE_GRAPH, Chain
from opscope.recording.hooks.torch_compile.graphs import BACKWARD, FORWARD
from opscope.recording.hooks.torch_compile.passes import PassWatcher
from opscope.recording.hooks.torch_compile.remarks import TorchRemarks

if TYPE_CHECKING:
    from opscope.recording.recorder import Recorder

_SINCE = (2, 6)


class Stage(NamedTuple):
    """What this thread's compiler is at: whose passes the observers tell about."""

    chain: Chain
    part: str
    pipeline: Path
    root: Any


class Hooks:
    """Stands in for Inductor's entry points while it is installed."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.codegen = False
        self.remarks = TorchRemarks(recorder)
        self._here = threading.local()
        self._undo: list[Callable[[], None]] = []
        self._titles: set[str] = set()
        self.installed = False
        self.everything = False
        """Whether all of torch.compile is recorded, or only what `rec.torch` compiles."""

    @property
    def compiled(self) -> int:
        """How many graphs came by."""
        return len(self._titles)

    @property
    def stage(self) -> Stage | None:
        return getattr(self._here, "stage", None)

    def install(self) -> None:
        import torch
        from torch._inductor import compile_fx

        self.installed = True
        for name, watched in (
            ("compile_fx", self._compile_fx),
            ("_recursive_pre_grad_passes", self._pre_grad),
            ("_recursive_joint_graph_passes", self._joint),
            ("partition_fn", self._partition),
            ("_recursive_post_grad_passes", self._post_grad),
        ):
            self._replace(compile_fx, name, watched)
        PassWatcher(self).install()
        self._recorder.set(producer=f"torch.compile of PyTorch {torch.__version__}", ids="names")

    def remove(self) -> None:
        """Put everything back. A compilation that is still to come (a backward) finds torch as it was."""
        self.installed = False
        while self._undo:
            self._undo.pop()()

    def _replace(self, owner: Any, name: str, watched: Callable[[Any], Any]) -> None:
        if not hasattr(owner, name):
            self.remarks.missing(f"{owner.__name__}.{name}")
            return
        self.replace(owner, name, watched)

    def replace(self, owner: Any, name: str, watched: Callable[[Any], Any]) -> None:
        original = vars(owner)[name]
        setattr(owner, name, functools.wraps(original)(watched(original)))
        self._undo.append(lambda: setattr(owner, name, original))

    @contextmanager
    def _at(self, chain: Chain, part: str, pipeline: Path, root: Any) -> Iterator[None]:
        outer = self.stage
        self._here.stage = Stage(chain, part, pipeline, root)
        try:
            yield
        finally:
            self._here.stage = outer

    @contextmanager
    def _compiling(self, chain: Chain, part: str) -> Iterator[None]:
        outer = getattr(self._here, "chain", None), getattr(self._here, "part", "")
        self._here.chain, self._here.part = chain, part
        try:
            yield
        finally:
            self._here.chain, self._here.part = outer

    @contextmanager
    def asked(self) -> Iterator[None]:
        """What this thread compiles inside the block was asked for with `rec.torch`."""
        self._here.asked = True
        try:
            yield
        finally:
            self._here.asked = False

    @property
    def _wanted(self) -> bool:
        return self.installed and (self.everything or getattr(self._here, "asked", False))

    @property
    def _chain(self) -> Chain | None:
        return getattr(self._here, "chain", None)

    def _compile_fx(self, original: Any) -> Any:
        def compile_fx(model: Any, example_inputs: Any, inner_compile: Any = None, **options: Any) -> Any:
            if not self._wanted or self._chain is not None or not hasattr(model, "graph"):
                given = {} if inner_compile is None else {"inner_compile": inner_compile}
                return original(model, example_inputs, **given, **options)
            chain = Chain(self._recorder, self._title(model), model)
            with self.remarks.safely("Dynamo's graph"):
                chain.snapshot(model, "graph of Dynamo", ("dynamo",))
            inner = self._lowering(chain, inner_compile) if self.codegen else self._passes_only(chain)
            with self._compiling(chain, ""), without_caches(not self.codegen):
                return original(model, example_inputs, inner, **options)

        return compile_fx

    def _title(self, model: Any) -> str:
        """`MLP.forward 0/1`: what is compiled, and Dynamo's compile id: frame / recompilation."""
        number = str(getattr(model, "meta", {}).get("dynamo_compile_id") or "")
        title = " ".join(filter(None, (_compiled_function(), number))) or "graph"
        unique, count = title, 2
        while unique in self._titles:
            unique, count = f"{title} #{count}", count + 1
        self._titles.add(unique)
        return unique

    def _followed(self, module: Any, pipeline: Path, part: str, run: Callable[[], Any]) -> Any:
        """Run the passes of one stage; what no observer saw before, between and after them is caught up with."""
        chain, stage = self._chain, self.stage
        if not self.installed or chain is None or (stage is not None and is_part_of(module, stage.root)):
            return run()
        with self._at(chain, part, pipeline, module):
            with self.remarks.safely(pipeline[0]):
                chain.catch_up(module, pipeline, part)
            result = run()
            with self.remarks.safely(pipeline[0]):
                chain.catch_up(module if result is None else result, pipeline, part)
        return result

    def _pre_grad(self, original: Any) -> Any:
        def pre_grad(module: Any, *args: Any, **options: Any) -> Any:
            return self._followed(module, ("pre-grad",), "", lambda: original(module, *args, **options))

        return pre_grad

    def _joint(self, original: Any) -> Any:
        def joint(module: Any, *args: Any, **options: Any) -> Any:
            chain, stage = self._chain, self.stage
            if chain is not None and self.installed and stage is None:
                differentiated = any(node.op == "placeholder" and node.name.startswith("tangents") for node in module.graph.nodes)
                with self.remarks.safely("AOTAutograd's graph"):
                    chain.aot(module, ("aot autograd",), "joint graph" if differentiated else "graph of AOTAutograd")
            return self._followed(module, ("joint",), "", lambda: original(module, *args, **options))

        return joint

    def _partition(self, original: Any) -> Any:
        def partition(module: Any, joint_inputs: Any, **options: Any) -> Any:
            chain = self._chain
            if chain is None or not self.installed or options.get("partitioner_fn_override") is not None:
                return original(module, joint_inputs, **options)  # of a graph that is called by the one that is followed
            forward, backward = original(module, joint_inputs, **options)
            with self.remarks.safely("the partition"):
                chain.partition(forward, backward, ("partition",), "forward and backward", None)
            return forward, backward

        return partition

    def _post_grad(self, original: Any) -> Any:
        def post_grad(module: Any, *args: Any, **options: Any) -> Any:
            part = getattr(self._here, "part", "")
            pipeline = ("post-grad", part) if part else ("post-grad",)
            return self._followed(module, pipeline, part, lambda: original(module, *args, **options))

        return post_grad

    def _passes_only(self, chain: Chain) -> Any:
        """Stands in for code generation: runs Inductor's passes on the graph, and gives back the graph as it was before them.

        After the passes a graph may hold what only Inductor's code generation can run.
        """

        def inner_compile(module: Any, example_inputs: Any, **options: Any) -> Any:
            from torch._functorch._aot_autograd.utils import make_boxed_func

            runnable = copy.deepcopy(module)
            if self.installed:
                with self.remarks.safely("post-grad passes"), self._compiling(chain, _half(chain, options)):
                    post_grad_passes(module, example_inputs, bool(options.get("is_inference")))
            return make_boxed_func(runnable.forward)

        return inner_compile

    def _lowering(self, chain: Chain, given: Any = None) -> Any:
        """Inductor's own code generation, with the scheduler watched before and after it fuses."""
        from torch._inductor.compile_fx import compile_fx_inner

        from opscope.recording.hooks.torch_compile.scheduler import watching_scheduler

        compile_inner = given or compile_fx_inner

        def inner_compile(module: Any, example_inputs: Any, **options: Any) -> Any:
            if not self.installed:
                return compile_inner(module, example_inputs, **options)
            part = _half(chain, options)
            with self._compiling(chain, part), without_caches(False), watching_scheduler(chain, part, self.remarks):
                return compile_inner(module, example_inputs, **options)

        return inner_compile


def _half(chain: Chain, options: dict[str, Any]) -> str:
    """Which part of a chain Inductor is told to compile."""
    return WHOLE_GRAPH if WHOLE_GRAPH in chain.parts else BACKWARD if options.get("is_backward") else FORWARD


def is_part_of(module: Any, root: Any) -> bool:
    return module is root or any(inner is module for inner in root.modules())


def _compiled_function() -> str:
    """The function that Dynamo is compiling: its code object stands in a frame above us."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "_compile" and frame.f_globals.get("__name__") == "torch._dynamo.convert_frame":
            code = frame.f_locals.get("code")
            return str(getattr(code, "co_qualname", getattr(code, "co_name", ""))).replace("<locals>.", "")
        frame = frame.f_back  # type: ignore[assignment]
    return ""


def post_grad_passes(module: Any, example_inputs: Any, is_inference: bool) -> None:
    """What Inductor does with a graph before it lowers it."""
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
    """A graph that comes out of a cache passes no pass. Settings of torch are per thread, so this goes around each compilation."""
    import torch._functorch.config as functorch
    import torch._inductor.config as inductor

    with ExitStack() as settings:
        settings.enter_context(inductor.patch(_known(inductor, force_disable_caches=True)))
        wanted: dict[str, Any] = {"enable_autograd_cache": False}
        if backward_too:  # now, and not when a backward first runs: it may never run
            wanted["force_non_lazy_backward_lowering"] = True
        settings.enter_context(functorch.patch(_known(functorch, **wanted)))
        yield


def _known(config: Any, **wanted: Any) -> dict[str, Any]:
    return {name: value for name, value in wanted.items() if hasattr(config, name)}


@contextmanager
def watching(recorder: Recorder, codegen: bool = False) -> Iterator[None]:
    """Record whatever torch.compile compiles inside the block.

    Without code generation what was compiled inside is forgotten by torch afterwards, so that the next call compiles it in full.
    """
    hooks = _hooks_of(recorder)
    before = hooks.codegen, hooks.everything, hooks.compiled
    hooks.codegen, hooks.everything = codegen, True
    try:
        yield
        if hooks.compiled == before[2]:
            hooks.remarks.add("nothing was compiled in the block: what was compiled before is not compiled again (torch._dynamo.reset())")
    finally:
        if not codegen and hooks.compiled > before[2]:
            import torch._dynamo

            torch._dynamo.reset()
        hooks.codegen, hooks.everything = before[:2]


def listen(recorder: Recorder) -> None:
    """Record what torch.compile compiles while the recording is open, without being asked. Nothing of torch is loaded for that."""
    wrapper = getattr(sys.modules.get("torch"), "_TorchCompileInductorWrapper", None)
    if wrapper is None:
        return
    original, opened = wrapper.__call__, ExitStack()

    def compiling(self: Any, *args: Any, **options: Any) -> Any:
        if recorder not in _OF_RECORDER or not _OF_RECORDER[recorder].everything:
            opened.enter_context(watching(recorder))
        return original(self, *args, **options)

    def stop() -> None:
        wrapper.__call__ = original
        opened.close()

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
    """Compile a module or function, run it on these arguments, and record what the compiler does. Returns what the run gave.

    The hooks stay until the recording ends: a backward that runs later is compiled then.
    """
    hooks = _hooks_of(recorder)
    before = hooks.compiled
    hooks.codegen = codegen
    result = _compiled(function, hooks, compile_options or {})(*args, **kwargs)
    if hooks.compiled == before:
        hooks.remarks.add("nothing was compiled: torch.compile ran the function as it is")
    return result


def _compiled(function: Any, hooks: Hooks, options: dict[str, Any]) -> Any:
    """The function, to be compiled by a backend of its own: what torch compiled for it before is neither taken nor touched."""
    import torch

    mode, settings = options.pop("mode", None), options.pop("options", None)
    patches = torch._TorchCompileInductorWrapper(mode, settings, options.get("dynamic")).config if mode or settings else None

    def inductor(module: Any, example_inputs: Any) -> Any:
        from torch._inductor import compile_fx

        with hooks.asked():
            return compile_fx.compile_fx(module, example_inputs, config_patches=patches)

    if "isolate_recompiles" in inspect.signature(torch.compile).parameters:
        options.setdefault("isolate_recompiles", True)
    return torch.compile(function, backend=inductor, **options)


_OF_RECORDER: WeakKeyDictionary[Recorder, Hooks] = WeakKeyDictionary()


def _hooks_of(recorder: Recorder) -> Hooks:
    """The hooks of a recording: installed when they are first needed, removed when it ends."""
    if recorder in _OF_RECORDER:
        return _OF_RECORDER[recorder]
    try:
        import torch
    except ImportError:
        raise OpscopeError("PyTorch is not installed here: pip install torch") from None
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < _SINCE:
        raise OpscopeError(f"recording torch.compile needs PyTorch {_SINCE[0]}.{_SINCE[1]} or later; this is {torch.__version__}")
    hooks = Hooks(recorder)
    recorder.on_close(hooks.remove)
    hooks.install()
    _OF_RECORDER[recorder] = hooks
    return hooks
