"""What one pass did, as columns over the node numbers of both programs (`web/src/core/program/recording/diff.ts` reads it)."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from opscope.program import NodeKey, Program
from opscope.recording.change_groups import change_groups
from opscope.recording.diff import Diff, Match
from opscope.recording.match import EVIDENCE, REPLACED
from opscope.recording.model import Origin
from opscope.render.wire.sections import Interner, SectionWriter

FORMAT = 5
"""Increment with every change of the columns or their meaning: recording files store these bytes, and a newer viewer must not get
older ones."""
_LONGEST = 240


def encode_diff(diff: Diff, origins: Iterable[Origin] = ()) -> bytes:
    """For each node after the pass, its counterpart before it. Groups (and copies), changes, fusions, rules and changes by module are
    separate lists."""
    old, new = _Numbers(diff.a, diff.untouched), _Numbers(diff.b, diff.untouched)
    strings = Interner()
    evidence_number = {name: i for i, name in enumerate(EVIDENCE)}
    counterpart, evidence = [-1] * new.count, bytearray(new.count)
    for name in diff.untouched:
        here, there, size = new.first[name], old.first[name], len(diff.b[name])
        counterpart[here : here + size] = range(there, there + size)
        evidence[here : here + size] = bytes([evidence_number[diff.untouched_evidence]]) * size
    groups_old: list[list[int]] = []
    groups_new: list[list[int]] = []
    group_evidence = bytearray()
    group_rule: list[int] = []
    ruled: list[int] = []
    rules: list[int] = []
    change_counts: list[int] = []
    changed_nodes: list[int] = []
    texts: list[int] = []

    def group(match: Match, a: tuple[NodeKey, ...]) -> None:
        groups_old.append([old[key] for key in a])
        groups_new.append([new[key] for key in match.b])
        group_evidence.append(evidence_number[match.evidence])
        group_rule.append(strings[match.rule])

    paired: set[int] = set()
    for match in (*diff.compared, *diff.undecided):
        here = new[match.b[0]]
        if match.evidence in REPLACED:
            group(match, match.a)
        elif len(match.b) == 1 and counterpart[here] < 0 and match.a and old[match.a[-1]] not in paired:
            counterpart[here] = old[match.a[-1]]
            paired.add(counterpart[here])
            evidence[here] = evidence_number[match.evidence]
            if match.rule:
                ruled.append(here)
                rules.append(strings[match.rule])
            if len(match.a) > 1:
                group(match, match.a[:-1])
        else:
            group(match, match.a)
        if match.changes:
            changed_nodes.append(here)
            change_counts.append(len(match.changes))
            for change in match.changes:
                was, now = change.shortened(_LONGEST)
                texts += (strings[change.field], strings[was], strings[now])

    fusions_old: list[list[int]] = []
    bodies: list[list[int]] = []
    for fusion in diff.fusions:
        fusions_old.append([old[key] for key in fusion.old])
        called = diff.b[fusion.new[0]][fusion.new[1]].calls
        bodies.append([end for name in called for end in (new.first[name], new.first[name] + len(diff.b[name]))])
    out = SectionWriter()
    out.deltas("counterpart", counterpart)
    out.block("evidence", bytes(evidence))
    out.deltas("added", [new[key] for key in diff.added])
    out.deltas("removed", [old[key] for key in diff.removed])
    out.table("groupsOld", groups_old)
    out.table("groupsNew", groups_new)
    out.block("groupEvidence", bytes(group_evidence))
    out.integers("groupRule", group_rule)
    out.integers("ruled", ruled)
    out.integers("rules", rules)
    out.deltas("changed", changed_nodes)
    out.rows("changes.rows", change_counts)
    out.integers("changes.texts", texts)
    out.table("fusionsOld", fusions_old)
    out.integers("fusionsNew", [new[fusion.new] for fusion in diff.fusions])
    out.table("fusionsBodies", bodies)
    by_module = change_groups(diff)
    after: list[list[int]] = []
    before: list[list[int]] = []
    for change_group in by_module:
        after.append([new[key] for key in (*change_group.added, *change_group.changed)])
        before.append([old[key] for key in change_group.removed])
    out.table("byModule.after", after)
    out.table("byModule.before", before)
    out.integers("byModule.texts", [strings[text] for each in by_module for text in (each.place, each.what)])
    out.integers("byModule.counts", [n for each in by_module for n in (len(each.modules), len(each.added), each.inside)])
    out.strings("strings", strings)
    places = {origin.rule: str(origin.where) for origin in origins if origin.rule and origin.where}
    return out.finish({"kind": "diff", "before": old.count, "places": places, "basis": diff.basis, "byName": diff.names == "used"})


class _Numbers(dict[NodeKey, int]):
    """Numbers of a program's nodes, graph by graph. Nodes of untouched graphs are counted but not listed."""

    def __init__(self, program: Program, untouched: Collection[str]) -> None:
        self.first: dict[str, int] = {}
        self.count = 0
        for graph in program:
            self.first[graph.name] = self.count
            if graph.name not in untouched:
                self.update({(graph.name, node.id): i for i, node in enumerate(graph.nodes, self.count)})
            self.count += len(graph)
