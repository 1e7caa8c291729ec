/** Expanding a group leaves what is around it in its order, however one got there. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LayoutCache } from "../../src/core/layout";
import { type Arrangement, draw } from "../../src/core/picture";
import type { ProgramData, ViewSpec } from "../../src/core/program/types";
import { makeProgram, type NodeSketch } from "../view/program";

/** Modules in modules, with inputs from anywhere before. */
const sketches = fc
  .array(fc.tuple(fc.nat(), fc.nat(), fc.nat({ max: 3 }), fc.nat({ max: 2 })), { minLength: 12, maxLength: 40 })
  .map((rows) =>
    rows.map(
      ([one, other, outer, inner], i): NodeSketch => ({
        id: `n${i}`,
        inputs: i === 0 ? [] : [...new Set([`n${one % i}`, `n${other % i}`])],
        scope: outer === 3 ? "" : `block${outer}/part${inner}`,
      }),
    ),
  );

/** Pairs of boxes of one container that are side by side, as "left|right". */
function sideBySide({ visible, layout }: Arrangement, shared: ReadonlySet<string>): Set<string> {
  const { x, y, w, h } = layout;
  const pairs = new Set<string>();
  for (let a = 0; a < visible.boxCount; a++) {
    for (let b = 0; b < visible.boxCount; b++) {
      const isPair = a !== b && visible.parent[a] === visible.parent[b] && shared.has(visible.key[a]) && shared.has(visible.key[b]);
      const isBeside = y[a] < y[b] + h[b] && y[b] < y[a] + h[a] && x[a] + w[a] <= x[b];
      if (isPair && isBeside) pairs.add(`${visible.key[a]}|${visible.key[b]}`);
    }
  }
  return pairs;
}

/** Pairs that are side by side in both pictures, the other way round. */
function swapped(before: Arrangement, after: Arrangement): string[] {
  const were = new Set(before.visible.key);
  const shared = new Set(after.visible.key.filter((key) => were.has(key)));
  const now = sideBySide(after, shared);
  return [...sideBySide(before, shared)].filter((pair) => now.has(pair.split("|").reverse().join("|")));
}

const closedGroups = ({ visible }: Arrangement): string[] => visible.key.filter((_, box) => visible.expandable[box] && !visible.open[box]);

/** Expands one group after the other, as a person would; the picture after each. */
function expandOneByOne(program: ProgramData): Arrangement[] {
  const cache = new LayoutCache();
  const pictures = [draw(program, { spec: { depth: 0, open: [], closed: [], fold: false } }, { cache })];
  for (;;) {
    const before = pictures[pictures.length - 1];
    const [next] = closedGroups(before);
    if (next === undefined) return pictures;
    const spec: ViewSpec = { ...before.spec, open: [...(before.spec.open ?? []), next] };
    pictures.push(draw(program, { spec }, { cache, before }));
  }
}

describe("a group that is expanded", () => {
  it("leaves the order of everything else from left to right", () => {
    fc.assert(
      fc.property(sketches, (nodes) => {
        const pictures = expandOneByOne(makeProgram([{ name: "main", nodes }]));
        pictures.slice(1).forEach((after, i) => {
          expect(swapped(pictures[i], after)).toEqual([]);
        });
      }),
      { numRuns: 12, endOnFailure: true },
    );
  });

  it("gives the picture that a link to it gives", () => {
    fc.assert(
      fc.property(sketches, (nodes) => {
        const program = makeProgram([{ name: "main", nodes }]);
        const last = expandOneByOne(program).at(-1)!;
        const fresh = draw(program, { spec: last.spec });
        expect([...fresh.layout.x]).toEqual([...last.layout.x]);
        expect([...fresh.layout.y]).toEqual([...last.layout.y]);
      }),
      { numRuns: 4, endOnFailure: true },
    );
  });
});
