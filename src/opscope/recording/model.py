"""The parts of a recording: snapshots of a program, one per pass, and the origins of their nodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from opscope.display import Displayed
from opscope.errors import OpscopeError
from opscope.naming import find_module, suggest
from opscope.program import EMPTY, Frame, NodeKey, Path, Program

if TYPE_CHECKING:
    from opscope.recording.diff import Diff
    from opscope.recording.history import Step

_CACHED_DIFFS = 4
_NUMBER = re.compile(r"-?[0-9]{1,18}")
_MOST_NAMED = 16

EITHER, PLACES = "either", "places"
"""What equal ids mean in two separate compilations: perhaps the same node, which is tried; or nothing, so that places in the user's
program decide."""
MEANINGS_OF_IDS = ("names", "objects", "positions", EITHER, PLACES)
"""What equal ids of two snapshots can mean; the first three in snapshots of one compilation (see `match`)."""
COMPARES = "compares"
"""The attribute of a recording that compares two programs, which have no compiler pass between them."""
NOTHING_RECORDED = (
    "nothing was recorded: no compiler ran while the recording was open. Code that runs eagerly, or was compiled earlier, has no passes; "
    "compile it inside with rec.torch(model, *inputs), call torch._dynamo.reset() first to make torch.compile compile again, or record "
    "passes of your own with rec.snapshot(graph, name)"
)


def no_node(id: str) -> str:
    return f"no pass has a node {id!r}; `opscope passes SOURCE --find TEXT` searches all of them"


TAKES_PLACE = "takes the place of"
"""The rule of an origin that was followed through several passes, if the new node is not the old one but in its place."""


class Origin(NamedTuple):
    """Nodes of the snapshot before (`old`) that became nodes of this one (`new`), as reported by the compiler.

    `evidence` is "rewrite" if a rule replaced nodes, "identity" if the same object has another id now.
    """

    old: tuple[NodeKey, ...]
    new: tuple[NodeKey, ...]
    evidence: str = "rewrite"
    rule: str = ""
    where: Frame | None = None


@dataclass(frozen=True)
class Snapshot:
    """The program after one pass. The Program itself is read on first use."""

    index: int
    """The number that people call it by. In a part of a recording (one pass, one module) it is that of the whole recording."""
    name: str
    pipeline: Path = ()
    module: str = ""
    """What is being compiled. A recording can contain several modules, functions or graphs, each with its own passes."""
    seconds: float | None = None
    nodes: int = 0
    content: int = 0
    """Equal numbers mean equal programs, so a pass that changed nothing needs no comparison."""
    attrs: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    _program: Callable[[int], Program] | None = field(default=None, repr=False, compare=False)
    _origins: Callable[[int], tuple[Origin, ...]] | None = field(default=None, repr=False, compare=False)

    @property
    def program(self) -> Program:
        if self._program is None:
            raise OpscopeError(f"snapshot {self.index} ({self.name}) has no program")
        return self._program(self.content)

    @property
    def origins(self) -> tuple[Origin, ...]:
        """Which nodes came from which nodes of the snapshot before, as far as it was recorded."""
        return self._origins(self.index) if self._origins else ()

    @property
    def title(self) -> str:
        return " / ".join((*self.pipeline, self.name))


class Recording(Displayed, Sequence[Snapshot]):
    """Snapshots in order, from a file, a directory of dumps or a live compiler."""

    def __init__(self, name: str, snapshots: Sequence[Snapshot], attrs: Mapping[str, Any] = EMPTY, file: FilePath | None = None) -> None:
        self.name = name
        self.file = file
        """The file that it was read from, if there is one."""
        self.comparisons = file
        """The file that has the comparisons of its passes; a part of a recording can have those of the whole."""
        self.compared: dict[int, Any] = {}
        """Without such a file, the comparisons of the passes that were compared, by number."""
        self.snapshots = tuple(snapshots)
        self.attrs = attrs
        self._diffs: dict[int, Diff] = {}
        self._positions = {snapshot.index: position for position, snapshot in enumerate(self.snapshots)}

    @overload
    def __getitem__(self, index: int) -> Snapshot: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Snapshot, ...]: ...
    def __getitem__(self, index: int | slice) -> Snapshot | tuple[Snapshot, ...]:
        return self.snapshots[index]

    def __len__(self) -> int:
        return len(self.snapshots)

    def __iter__(self) -> Iterator[Snapshot]:
        return iter(self.snapshots)

    def __repr__(self) -> str:
        return f"<Recording {self.name}: {len(self)} snapshots of {', '.join(self.modules) or 'nothing'}>"

    @property
    def modules(self) -> list[str]:
        """The names of the modules, in order of appearance."""
        return list(dict.fromkeys(snapshot.module for snapshot in self.snapshots))

    @property
    def skipped(self) -> list[str]:
        """The parts of the source that are not in the recording, each with its reason."""
        return list(self.attrs.get("skipped", ()))

    @property
    def compares(self) -> bool:
        """Whether it compares two programs (see `comparison`)."""
        return bool(self.attrs.get(COMPARES))

    def module_named(self, name: str) -> str:
        """The module with that name, or the only one whose name ends with it."""
        try:
            return self.modules[find_module(name, self.modules)]
        except OpscopeError as error:
            raise OpscopeError(f"{self.name}: {error}") from None

    def snapshot(self, which: int | str, module: str | None = None) -> Snapshot:
        """A snapshot by its number (negative from the end), or by the name of a pass that ran once (in `module`, if given)."""
        full_name = None if module is None else self.module_named(module)
        if isinstance(which, str) and not _NUMBER.fullmatch(which):
            named = [s for s in self.snapshots if which in (s.name, s.title) and full_name in (None, s.module)]
            if len(named) == 1:
                return named[0]
            raise OpscopeError(f"{self.name}: {self._several(which, named) if named else f'no pass {which!r}{self._closest(which)}'}")
        number = int(which)
        if number not in self._positions and not -len(self) <= number < 0:
            numbers = f", from {self.snapshots[0].index} to {self.snapshots[-1].index}" if self.snapshots else ""
            raise OpscopeError(f"{self.name}: no pass {number}; there are {len(self)}{numbers}")
        snapshot = self.snapshots[number if number < 0 else self._positions[number]]
        if full_name not in (None, snapshot.module):
            raise OpscopeError(f"{self.name}: pass {number} belongs to module {snapshot.module!r}, not to {full_name!r}")
        return snapshot

    def position(self, snapshot: Snapshot) -> int:
        """Where a snapshot is in this recording, which in a part of one differs from its number."""
        return self._positions[snapshot.index]

    def _several(self, which: str, named: list[Snapshot]) -> str:
        """A message that lists the passes of one name, by module if there are several."""
        numbers: dict[str, list[int]] = {}
        for each in named:
            numbers.setdefault(each.module, []).append(each.index)
        message = f"pass {which!r} ran {len(named)} times; choose one of "
        if len(numbers) == 1:
            return message + str([each.index for each in named])
        rows = [f"{', '.join(map(str, indexes))} ({module})" for module, indexes in numbers.items()]
        more = f"; … and {len(rows) - _MOST_NAMED} more modules" if len(rows) > _MOST_NAMED else ""
        return message + "; ".join(rows[:_MOST_NAMED]) + more

    def _closest(self, which: str) -> str:
        """A half sentence that suggests the closest names of passes."""
        names = list(dict.fromkeys(each.name for each in self.snapshots))
        return suggest(which, names, otherwise=f"; `opscope passes --all` lists all {len(self)}", spelled=str)

    def before(self, snapshot: Snapshot) -> Snapshot | None:
        """The previous snapshot of the same module."""
        for earlier in reversed(self.snapshots[: self.position(snapshot)]):
            if earlier.module == snapshot.module:
                return earlier
        return None

    def repeats(self, snapshot: Snapshot) -> bool:
        """Whether there is nothing to compare: it is the first of its module, or equal to the one before."""
        earlier = self.before(snapshot)
        return earlier is None or earlier.content == snapshot.content

    def diff(self, which: int | str) -> Diff | None:
        """What one pass changed; None for the first snapshot of a module."""
        from opscope.recording.diff import diff_passes

        snapshot = self.snapshot(which)
        earlier = self.before(snapshot)
        if earlier is None:
            return None
        if snapshot.index not in self._diffs:
            while len(self._diffs) >= _CACHED_DIFFS:
                del self._diffs[next(iter(self._diffs))]
            ids = self.attrs.get("ids")
            self._diffs[snapshot.index] = diff_passes(earlier.program, snapshot.program, origins=snapshot.origins, ids=ids)
        return self._diffs[snapshot.index]

    def history(self, node: str | NodeKey, which: int | str = -1, *, carried: bool = False) -> list[Step]:
        """What every pass did to a node of one snapshot: where it came from, and what it became. `str(step)` is a sentence.

        With `carried`, also the links through passes that did nothing to it, each with its evidence."""
        from opscope.recording.history import history

        snapshot = self.snapshot(which)
        program = snapshot.program
        name, id = ("", node) if isinstance(node, str) else node
        graphs = [program.main, *program] if isinstance(node, str) else [program.graphs[name]] if name in program.graphs else []
        home = next((graph for graph in graphs if id in graph.position), None)
        if home is None:
            raise OpscopeError(f"{self.name}: no node {id!r} after pass {snapshot.index} ({snapshot.name}); choose a pass where it exists")
        return history(self, (home.name, id), snapshot, carried)

    def with_node(self, id: str) -> list[Snapshot]:
        """For each module that has a node of that id after any pass, the last such snapshot."""
        last: dict[str, Snapshot] = {}
        contents: dict[int, bool] = {}
        for snapshot in reversed(self.snapshots):
            if snapshot.module not in last:
                if snapshot.content not in contents:
                    contents[snapshot.content] = any(id in graph.position for graph in snapshot.program)
                if contents[snapshot.content]:
                    last[snapshot.module] = snapshot
        if not last:
            raise OpscopeError(f"{self.name}: {no_node(id)}")
        return list(last.values())

    def only(self, which: int | str) -> Recording:
        """A recording of one pass and the snapshot before it; of the first pass of a module, only that."""
        snapshot = self.snapshot(which)
        return Recording(self.name, [each for each in (self.before(snapshot), snapshot) if each is not None], self.attrs)

    def of_module(self, name: str) -> Recording:
        """A recording of only the passes of one module."""
        module = self.module_named(name)
        part = Recording(self.name, [each for each in self.snapshots if each.module == module], self.attrs)
        part.comparisons, part.compared = self.comparisons, self.compared  # a pass is compared within its module
        return part

    def remember_diff(self, index: int, diff: Diff) -> None:
        """Take a diff that is known, instead of comparing again."""
        self._diffs[index] = diff

    def forget_diff(self, index: int) -> None:
        """Drop a diff that `diff` has cached: diffs of large programs are large, and a loop over all passes needs each only once."""
        self._diffs.pop(index, None)
