/** The links of several passes in a row as the links from the first program to the last. */
import type { Csr } from "../types";
import { isDecided } from "./history";
import { EVIDENCE, type Evidence, type PassDiff } from "./types";

/**
 * Nodes of the first program that became nodes of the last, and the weakest evidence on the way. The first of several old ones is what the
 * new one is; the others were merged into it. If they were `replaced`, the new one is only in their place.
 */
export interface Link {
  readonly old: readonly number[];
  readonly new: readonly number[];
  readonly evidence: Evidence;
  readonly replaced: boolean;
}

/**
 * Evidence from strong to weak on a way of several passes: what took the place of a node is not that node again, however sure the other
 * passes are.
 */
const ON_THE_WAY: readonly Evidence[] = [
  ...EVIDENCE.filter((evidence) => evidence !== "slot" && evidence !== "undecided"),
  "slot",
  "undecided",
];
const SLOT = ON_THE_WAY.indexOf("slot");
const weakness = Uint8Array.from(EVIDENCE, (evidence) => ON_THE_WAY.indexOf(evidence));

/** More sources than this are no longer a link. */
const MOST = 64;

export class Composed {
  /** For each node of the current program, its counterpart in the first, or -1, and the weakest evidence. */
  private pair: Int32Array;
  private weakest: Uint8Array;
  /** What else a node came from: {node of the first program: weakest evidence}. */
  private also = new Map<number, Map<number, number>>();

  constructor(count: number) {
    this.pair = Int32Array.from({ length: count }, (_, node) => node);
    this.weakest = new Uint8Array(count);
  }

  follow(diff: PassDiff): void {
    const { counterpart, evidence, groups } = diff;
    const also = new Map<number, Map<number, number>>();
    const add = (node: number, source: number, weakest: number): void => {
      const sources = also.get(node) ?? new Map<number, number>();
      also.set(node, sources);
      if (sources.size < MOST) sources.set(source, Math.min(weakest, sources.get(source) ?? weakest));
    };
    const inherit = (node: number, from: number, own: number): void => {
      for (const [source, weakest] of this.also.get(from) ?? []) add(node, source, Math.max(weakest, own));
    };
    const pair = new Int32Array(counterpart.length).fill(-1);
    const weakest = new Uint8Array(counterpart.length);
    counterpart.forEach((from, node) => {
      if (from < 0) return;
      pair[node] = this.pair[from];
      weakest[node] = Math.max(this.weakest[from], weakness[evidence[node]]);
      inherit(node, from, weakness[evidence[node]]);
    });
    for (let group = 0; group < groups.rule.length; group++) {
      if (!isDecided(diff, group)) continue;
      const own = weakness[groups.evidence[group]];
      for (const node of row(groups.new, group)) {
        for (const from of row(groups.old, group)) {
          if (this.pair[from] >= 0) add(node, this.pair[from], Math.max(this.weakest[from], own));
          inherit(node, from, own);
        }
      }
    }
    this.pair = pair;
    this.weakest = weakest;
    this.also = also;
  }

  /** Pairs first; then, for each node of the last program, what else it is, and what it replaced. */
  links(): Link[] {
    const links: Link[] = [];
    this.pair.forEach((old, node) => {
      if (old >= 0) links.push({ old: [old], new: [node], evidence: ON_THE_WAY[this.weakest[node]], replaced: false });
    });
    for (const [node, sources] of this.also) {
      const others = [...sources].filter(([source]) => source !== this.pair[node]);
      for (const replaced of [false, true]) {
        const some = others.filter(([, weakest]) => weakest >= SLOT === replaced);
        if (some.length === 0) continue;
        const evidence = ON_THE_WAY[Math.max(...some.map(([, weakest]) => weakest))];
        links.push({ old: some.map(([source]) => source), new: [node], evidence, replaced });
      }
    }
    return links;
  }
}

const row = ({ start, value }: Csr, at: number): Int32Array => value.subarray(start[at], start[at + 1]);
