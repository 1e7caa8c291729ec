/** Reads what `opscope.render.wire.diff` writes. */
import { Sections } from "../sections";
import type { StringTable } from "../types";
import type { Change, ModuleChanges, PassDiff } from "./types";

export function decodeDiff(bytes: Uint8Array): PassDiff {
  const sections = new Sections(bytes);
  const strings = sections.strings("strings");
  const counterpart = sections.integers("counterpart");
  const beforeCount = sections.fields.before as number;
  const back = new Int32Array(beforeCount).fill(-1);
  for (let node = counterpart.length - 1; node >= 0; node--) if (counterpart[node] >= 0) back[counterpart[node]] = node;
  const changed = sections.integers("changed");
  const start = sections.integers("changes.rows");
  const texts = sections.integers("changes.texts");
  const changes = new Map<number, Change[]>();
  changed.forEach((node, i) => {
    const list: Change[] = [];
    for (let at = start[i]; at < start[i + 1]; at++) {
      list.push({ field: strings.at(texts[3 * at]), old: strings.at(texts[3 * at + 1]), new: strings.at(texts[3 * at + 2]) });
    }
    changes.set(node, list);
  });
  const ruled = sections.integers("ruled"),
    rules = sections.integers("rules");
  return {
    beforeCount,
    counterpart,
    back,
    evidence: sections.octets("evidence"),
    added: sections.integers("added"),
    removed: sections.integers("removed"),
    groups: {
      old: sections.rows("groupsOld"),
      new: sections.rows("groupsNew"),
      evidence: sections.octets("groupEvidence"),
      rule: Array.from(sections.integers("groupRule"), (text) => strings.at(text)),
    },
    fusions: { old: sections.rows("fusionsOld"), new: sections.integers("fusionsNew"), bodies: sections.rows("fusionsBodies") },
    changed,
    changes,
    rule: new Map(Array.from(ruled, (node, i) => [node, strings.at(rules[i])])),
    places: sections.fields.places as Record<string, string>,
    basis: sections.fields.basis as string,
    byName: sections.fields.byName as boolean,
    byModule: decodeByModule(sections, strings),
  };
}

function decodeByModule(sections: Sections, strings: StringTable): ModuleChanges[] {
  const after = sections.rows("byModule.after"),
    before = sections.rows("byModule.before"),
    texts = sections.integers("byModule.texts"),
    counts = sections.integers("byModule.counts");
  return Array.from({ length: before.start.length - 1 }, (_, i) => {
    const [modules, added, inside] = counts.subarray(3 * i, 3 * i + 3);
    const changedFrom = after.start[i] + added;
    return {
      place: strings.at(texts[2 * i]),
      what: strings.at(texts[2 * i + 1]),
      modules,
      inside: inside === 1,
      added: after.value.subarray(after.start[i], changedFrom),
      changed: after.value.subarray(changedFrom, after.start[i + 1]),
      removed: before.value.subarray(before.start[i], before.start[i + 1]),
    };
  });
}

/** Nothing has changed: every node is itself. */
export function sameDiff(count: number): PassDiff {
  const itself = Int32Array.from({ length: count }, (_, node) => node);
  const none = new Int32Array(0),
    noRows = { start: new Int32Array(1), value: none };
  return {
    beforeCount: count,
    counterpart: itself,
    back: itself,
    evidence: new Uint8Array(count).fill(2),
    added: none,
    removed: none,
    changed: none,
    groups: { old: noRows, new: noRows, evidence: new Uint8Array(0), rule: [] },
    fusions: { old: noRows, new: none, bodies: noRows },
    changes: new Map(),
    rule: new Map(),
    places: {},
    basis: "",
    byName: true,
    byModule: [],
  };
}
