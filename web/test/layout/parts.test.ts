/** The phases of the layout by themselves, each against the slow and obvious way. */
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { PositionSet, PrefixCounter, sortByKey } from "../../src/core/base/arrays";
import { CrossingCounter } from "../../src/core/layout/order/crossingCount";
import { breakCycles } from "../../src/core/layout/ranks/cycles";
import { buildElements, type Elements } from "../../src/core/layout/elements";
import { LiveList } from "../../src/core/layout/order/liveList";
import { orderElements } from "../../src/core/layout/order/ordering";
import { packParcels } from "../../src/core/layout/compound/packing";
import { assignRanks } from "../../src/core/layout/ranks/ranking";
import { Sifter } from "../../src/core/layout/order/sifting";
import { improve } from "../../src/core/layout/ranks/simplex";
import { Sweeper } from "../../src/core/layout/order/sweeps";
import { anyEdges, type EdgeList, flatGraph } from "./graphs";

vi.setConfig({ testTimeout: 600_000 });

function elementsOf(list: EdgeList, withPorts = true): Elements {
  const ports = (factor: number) => Float64Array.from(list.edges, (_, e) => ((e * factor) % 5) * 4 - 8);
  const graph = flatGraph(list, withPorts ? { sourcePort: ports(3), targetPort: ports(7) } : {});
  const { nodeCount, edgeSource, edgeTarget } = graph;
  const reversed = breakCycles(graph);
  return buildElements(graph, reversed, assignRanks(nodeCount, edgeSource, edgeTarget, reversed));
}

/** Crossings by comparing every two lines of every gap; a segment that passes the gap is a line too. */
function crossingsByHand(elements: Elements, position: Int32Array): number {
  let crossings = 0;
  for (let gap = 0; gap + 1 < elements.rankCount; gap++) {
    const lines: Array<[number, number]> = [];
    elements.linkUpper.forEach((u, l) => {
      const lower = position[elements.linkLower[l]] + elements.tiltLower[l] / 2;
      if (elements.bottom[u] === gap) lines.push([position[u] + elements.tiltUpper[l] / 2, lower]);
    });
    for (let s = elements.boxCount; s < elements.count; s++) {
      if (elements.top[s] <= gap && elements.bottom[s] > gap) lines.push([position[s], position[s]]);
    }
    for (let i = 0; i < lines.length; i++) {
      for (let j = 0; j < i; j++) if ((lines[i][0] - lines[j][0]) * (lines[i][1] - lines[j][1]) < 0) crossings++;
    }
  }
  return crossings;
}

const shuffled = (count: number, seed: number): Int32Array => {
  const position = Int32Array.from({ length: count }, (_, i) => i);
  let state = seed;
  for (let i = count - 1; i > 0; i--) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    const j = state % (i + 1);
    [position[i], position[j]] = [position[j], position[i]];
  }
  return position;
};

const isPermutation = (position: Int32Array): boolean => new Set(position).size === position.length;

describe("ordering", () => {
  it("counts crossings as comparing all lines does", () => {
    fc.assert(
      fc.property(anyEdges, fc.nat(), (list, seed) => {
        const elements = elementsOf(list);
        const position = shuffled(elements.count, seed);
        expect(new CrossingCounter(elements).count(position)).toBe(crossingsByHand(elements, position));
      }),
    );
  });

  it("sifts by exactly as many crossings as it says, and never for the worse", () => {
    fc.assert(
      fc.property(anyEdges, fc.nat(), (list, seed) => {
        const elements = elementsOf(list);
        const position = shuffled(elements.count, seed);
        const before = crossingsByHand(elements, position);
        const sifter = new Sifter(elements);
        sifter.work = 1e9;
        const saved = sifter.round(position);
        expect(isPermutation(position)).toBe(true);
        expect(saved).toBeGreaterThanOrEqual(0);
        expect(crossingsByHand(elements, position)).toBe(before - saved);
      }),
    );
  });

  it("sweeps to a complete order in both directions", () => {
    fc.assert(
      fc.property(anyEdges, fc.nat(), fc.boolean(), fc.boolean(), (list, seed, downwards, ties) => {
        const elements = elementsOf(list);
        const position = shuffled(elements.count, seed);
        new Sweeper(elements).sweep(position, downwards, ties ? "median" : "mean", ties);
        expect(isPermutation(position)).toBe(true);
      }),
    );
  });

  it("draws two interleaved ladders without a crossing", () => {
    const edges: Array<[number, number]> = [];
    for (let i = 0; i + 2 < 60; i++) edges.push([i, i + 2]);
    for (let i = 0; i + 6 < 60; i += 6) edges.push([i, i + 6]);
    const elements = elementsOf({ nodeCount: 60, edges }, false);
    expect(crossingsByHand(elements, orderElements(elements))).toBe(0);
  });
});

describe("breaking cycles", () => {
  const turned = (nodeCount: number, edges: Array<[number, number]>, weight?: number[]): Array<[number, number]> => {
    const reversed = breakCycles(flatGraph({ nodeCount, edges }, { weight: weight && Int32Array.from(weight) }));
    return edges.filter((_, e) => reversed[e] === 1);
  };
  const [input, backward, shared, forward] = [0, 1, 2, 3];
  const saved: Array<[number, number]> = [
    [forward, backward],
    [forward, backward],
    [forward, backward],
  ];

  it("turns the one edge back between two groups, not the many ahead, whichever is come upon first", () => {
    expect(turned(4, [[input, backward], [input, forward], [input, shared], ...saved, [backward, forward]])).toEqual([[backward, forward]]);
  });

  it("counts a line once per edge of the program", () => {
    expect(
      turned(
        4,
        [
          [input, backward],
          [input, forward],
          [backward, forward],
          [forward, backward],
        ],
        [1, 1, 1, 9],
      ),
    ).toEqual([[backward, forward]]);
    expect(
      turned(
        4,
        [
          [input, backward],
          [input, forward],
          [backward, forward],
          [forward, backward],
        ],
        [1, 1, 9, 1],
      ),
    ).toEqual([[forward, backward]]);
  });

  it("turns as few where the way back leads through something else", () => {
    expect(turned(4, [[input, backward], [backward, shared], [shared, forward], ...saved])).toHaveLength(1);
  });

  it("leaves no cycle in any graph", () => {
    fc.assert(
      fc.property(anyEdges, ({ nodeCount, edges }) => {
        const graph = flatGraph({ nodeCount, edges }, { weight: Int32Array.from(edges, (_, e) => 1 + ((e * 7) % 5)) });
        const { edgeSource, edgeTarget } = graph;
        const reversed = breakCycles(graph);
        const rank = assignRanks(nodeCount, edgeSource, edgeTarget, reversed);
        edges.forEach(([u, v], e) => {
          if (u !== v) expect(rank[u] < rank[v]).toBe(reversed[e] === 0);
        });
      }),
    );
  });
});

describe("ranking", () => {
  it("is as short as any ranking can be", () => {
    const small = fc.array(fc.tuple(fc.nat({ max: 5 }), fc.nat({ max: 5 })), { minLength: 1, maxLength: 9 });
    fc.assert(
      fc.property(small, (pairs) => {
        const edges = pairs.filter(([u, v]) => u < v);
        const { edgeSource, edgeTarget } = flatGraph({ nodeCount: 6, edges });
        const rank = assignRanks(6, edgeSource, edgeTarget, new Uint8Array(edges.length));
        const span = (r: ArrayLike<number>): number => edges.reduce((sum, [u, v]) => sum + r[v] - r[u], 0);
        let least = Number.POSITIVE_INFINITY;
        for (let code = 0; code < 6 ** 6; code++) {
          const r = [0, 1, 2, 3, 4, 5].map((i) => Math.floor(code / 6 ** i) % 6);
          if (edges.every(([u, v]) => r[v] > r[u])) least = Math.min(least, span(r));
        }
        expect(span(rank)).toBe(edges.length === 0 ? 0 : least);
      }),
      { numRuns: 15 },
    );
  });

  it("improves places without ever bringing two closer than they may be", () => {
    fc.assert(
      fc.property(anyEdges, fc.boolean(), fc.nat({ max: 3000 }), (list, joined, work) => {
        const arcs = list.edges.filter(([u, v]) => u < v);
        const problem = {
          count: list.nodeCount,
          tail: Int32Array.from(arcs, (a) => a[0]),
          head: Int32Array.from(arcs, (a) => a[1]),
          length: Float64Array.from(arcs, (a) => 1 + (a[0] % 3)),
          weight: Float64Array.from(arcs, (a) => a[1] % 4),
        };
        const x = Float64Array.from({ length: list.nodeCount }, (_, i) => 5 * i);
        const cost = (): number => arcs.reduce((sum, [u, v], i) => sum + problem.weight[i] * (x[v] - x[u]), 0);
        const before = cost();
        improve(problem, x, work, joined);
        expect(cost()).toBeLessThanOrEqual(before + 1e-6);
        arcs.forEach(([u, v], i) => {
          expect(x[v] - x[u]).toBeGreaterThanOrEqual(problem.length[i] - 1e-6);
        });
      }),
    );
  });
});

describe("the small structures", () => {
  it("LiveList keeps order, indices and what has left", () => {
    const commands = fc.array(fc.tuple(fc.nat({ max: 999 }), fc.boolean()), { minLength: 1, maxLength: 600 });
    fc.assert(
      fc.property(commands, (steps) => {
        const list = new LiveList(steps.length);
        const live: number[] = [];
        const all: number[] = [];
        list.clear();
        steps.forEach(([where, remove], element) => {
          const at = live.length === 0 ? -1 : (where % (live.length + 1)) - 1;
          const anchor = at < 0 ? -1 : live[at];
          list.insertAfter(anchor, element);
          const next = live[0];
          live.splice(at + 1, 0, element);
          all.splice(anchor >= 0 ? all.indexOf(anchor) + 1 : next === undefined ? 0 : all.indexOf(next), 0, element);
          if (remove && element % 3 === 0) {
            const [gone] = live.splice(where % live.length, 1);
            list.remove(gone);
          }
        });
        list.index();
        expect(live.map((_, i) => list.at(i))).toEqual(live);
        expect(live.map((element) => list.indexOf(element))).toEqual(live.map((_, i) => i));
        const position = new Int32Array(steps.length);
        list.writePositions(position);
        expect(all.map((element) => position[element])).toEqual(all.map((_, i) => i));
      }),
    );
  });

  it("PositionSet finds neighbours and PrefixCounter counts, as a plain array would", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat({ max: 2999 })), fc.array(fc.nat({ max: 2999 })), (members, asked) => {
        const set = new PositionSet(3000);
        const counter = new PrefixCounter(3000);
        members.forEach((m, i) => {
          set.add(m);
          counter.add(m, 1);
          if (i % 4 === 3) {
            set.remove(m);
            counter.add(m, -1);
          }
        });
        const remaining = members.filter((_, i) => i % 4 !== 3);
        for (const p of asked) {
          expect(set.previous(p)).toBe(Math.max(-1, ...remaining.filter((m) => m < p)));
          const right = remaining.filter((m) => m > p);
          expect(set.next(p)).toBe(right.length === 0 ? -1 : Math.min(...right));
          expect(counter.before(p)).toBe(remaining.filter((m) => m < p).length);
        }
      }),
    );
  });

  it("sortByKey sorts stably, also beyond one run", () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 40 }), { maxLength: 300 }), (keys) => {
        const ids = Int32Array.from(keys, (_, i) => i);
        sortByKey(ids, 0, ids.length, keys, new Int32Array(ids.length));
        expect([...ids]).toEqual([...keys.keys()].sort((a, b) => keys[a] - keys[b] || a - b));
      }),
    );
  });

  it("packs parts without overlap", () => {
    const part = fc.record({ width: fc.integer({ min: 1, max: 400 }), height: fc.integer({ min: 1, max: 400 }), pinned: fc.boolean() });
    fc.assert(
      fc.property(fc.array(part, { maxLength: 40 }), (parts) => {
        const { x, y, width, height } = packParcels(parts, 10);
        for (let i = 0; i < parts.length; i++) {
          expect(x[i] + parts[i].width).toBeLessThanOrEqual(width + 1e-9);
          expect(y[i] + parts[i].height).toBeLessThanOrEqual(height + 1e-9);
          for (let j = 0; j < i; j++) {
            const apart =
              x[i] >= x[j] + parts[j].width ||
              x[j] >= x[i] + parts[i].width ||
              y[i] >= y[j] + parts[j].height ||
              y[j] >= y[i] + parts[i].height;
            expect(apart).toBe(true);
          }
        }
      }),
    );
  });
});
