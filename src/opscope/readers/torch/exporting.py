"""torch.export, and what else to try where it refuses a model."""

from __future__ import annotations

import inspect
import io
import logging
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stderr
from typing import Any, NamedTuple

from opscope.errors import OpscopeError
from opscope.readers.torch.caches import caches_registered
from opscope.readers.torch.reentrant import TRACED, other_form
from opscope.readers.torch.undisturbed import same_settings, same_state

_SENTENCE_END = re.compile(r"(?<=[\w)\]>'\"`])\.\s+(?=[A-Z(])")
WITHOUT_CACHE = "with use_cache=False"
_DATA_DEPENDENT = ("GuardOnDataDependentSymNode", "DataDependentOutputException", "UserError")


class Exported(NamedTuple):
    """What torch.export made of a module."""

    program: Any
    """The exported program; None if torch.export refuses the module in every way."""
    kwargs: dict[str, Any]
    """The keywords that it was exported with."""
    note: str = ""
    """How it was exported, if not as asked, and why."""
    refusal: str = ""
    """A paragraph that says why nothing was exported."""
    added: frozenset[str] = frozenset()
    """The keywords that it was exported with and that nobody passed: they are not inputs of the call that was asked about."""


class _Way(NamedTuple):
    """One way to call torch.export; `words` say what differs from what was asked."""

    kwargs: dict[str, Any]
    dynamic_shapes: Any
    strict: bool
    words: str = ""


@contextmanager
def exported_module(module: Any, args: Any, kwargs: Any, dynamic_shapes: Any = None, strict: bool = False) -> Iterator[Exported]:
    """The exported program, or why there is none. The program may be read only inside the context."""
    import torch

    reentrant: list[Any] = []

    def attempt(way: _Way) -> Any:
        try:
            # export leaves fake tensors behind in some models
            with _quietly(), same_settings(), same_state(module, args, kwargs), other_form() as found:
                program = torch.export.export(module, args, way.kwargs, dynamic_shapes=way.dynamic_shapes, strict=way.strict)
                reentrant[:] = found
                return program
        except Exception as error:  # export passes on whatever the model, Dynamo or a fake tensor raises
            return error

    asked = _Way(kwargs, dynamic_shapes, strict)
    with ExitStack() as registered:
        result = attempt(asked)
        if isinstance(result, Exception) and "DynamicCache" in str(result) and registered.enter_context(caches_registered()):
            result = attempt(asked)
        if not isinstance(result, Exception):
            yield Exported(result, kwargs, TRACED if reentrant else "")
            return
        reason = _reason(result)
        for way in _other_ways(module, asked, result):
            program = attempt(way)
            if not isinstance(program, Exception):
                note = f"Exported {way.words}, because torch.export refuses it otherwise ({reason})."
                note += f" {TRACED}." if reentrant else ""
                yield Exported(program, way.kwargs, note, added=frozenset(way.kwargs.keys() - kwargs.keys()))
                return
        yield Exported(None, kwargs, refusal=f"torch.export failed on {module_name(module)} ({type(result).__name__}): {reason}.")


def _other_ways(module: Any, asked: _Way, error: Exception) -> Iterator[_Way]:
    """What may work where the way that was asked for does not. Each keeps what the ones before it changed for good reason."""
    way = asked
    if "'NoneType' object" in str(error) and (mask := _mask(module, asked.kwargs)) is not None:
        way = _with(way, "attention_mask", mask, "with an attention_mask of ones")
        yield way
    if ("Cache" in str(error) or way is not asked) and takes(module, "use_cache") and "use_cache" not in asked.kwargs:
        way = _with(way, "use_cache", False, WITHOUT_CACHE if way is asked else "use_cache=False")
        yield way
    if asked.dynamic_shapes is not None:
        yield way._replace(dynamic_shapes=None, words=_and(way.words, "without dynamic_shapes, for the sizes of these inputs only"))
    if asked.strict:
        yield way._replace(strict=False, words=_and(way.words, "with strict=False"))
    elif type(error).__name__ not in _DATA_DEPENDENT:  # Dynamo follows the code itself, but it cannot read data either
        yield way._replace(strict=True, words=_and(way.words, "with strict=True"))


def _with(way: _Way, keyword: str, value: Any, words: str) -> _Way:
    shapes = {**way.dynamic_shapes, keyword: None} if isinstance(way.dynamic_shapes, Mapping) else way.dynamic_shapes
    return way._replace(kwargs={**way.kwargs, keyword: value}, dynamic_shapes=shapes, words=_and(way.words, words))


def _mask(module: Any, kwargs: Mapping[str, Any]) -> Any:
    """What models of transformers make themselves of token ids, except when they are exported (LongT5)."""
    import torch

    ids = kwargs.get("input_ids")
    return (
        torch.ones_like(ids)
        if isinstance(ids, torch.Tensor) and takes(module, "attention_mask") and "attention_mask" not in kwargs
        else None
    )


def _and(words: str, more: str) -> str:
    return f"{words} and {more}" if words else more


def takes(module: Any, keyword: str) -> bool:
    try:
        parameters = inspect.signature(module.forward).parameters
    except (TypeError, ValueError):
        return False
    return keyword in parameters or any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())


@contextmanager
def _quietly() -> Iterator[None]:
    """Silence torch.export, which logs pages about a failure before raising it. opscope reports the reason once."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _reason(error: BaseException) -> str:
    """Why torch.export failed: the first sentence of its error, which may run over pages."""
    words = str(error).strip() or type(error).__name__
    paragraphs = words.split("\n\n")
    paragraph = " ".join(" ".join(paragraphs[: 2 if paragraphs[0].endswith(":") else 1]).split())
    paragraph = _SENTENCE_END.split(paragraph, maxsplit=1)[0]
    if len(paragraph) > 400:
        paragraph = f"{paragraph[:400].rsplit(' ', 1)[0]} …"
    return paragraph.rstrip(".")


def module_name(module: Any) -> str:
    return str(getattr(module, "opscope_name", None) or getattr(module, "original_name", None) or type(module).__name__)


def refuse_lazy(module: Any) -> None:
    """Running a lazy module would make its parameters, which nothing can undo."""
    if any(type(parameter).__name__ == "UninitializedParameter" for parameter in module.parameters()):
        raise OpscopeError(f"{module_name(module)} has uninitialized parameters (lazy modules); run it once with real inputs first")
