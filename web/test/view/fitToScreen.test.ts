import { describe, expect, it } from "vitest";
import type { CompoundLayout } from "../../src/core/layout/types";
import { BoxKind, type Visible } from "../../src/core/program/types";
import { fitToScreen } from "../../src/core/view/initial/fitToScreen";

/** A view of nested groups at first sight: 100 pixels per box, one below the other. */
function sight(
  groups: Readonly<Record<string, { readonly parent: string | undefined; readonly leaves: number }>>,
  closed: readonly string[],
) {
  const key: string[] = [],
    parent: number[] = [],
    open: number[] = [];
  const hidden = (name: string | undefined): boolean => name !== undefined && (closed.includes(name) || hidden(groups[name].parent));
  for (const [name, group] of Object.entries(groups)) {
    if (hidden(group.parent)) continue;
    const at = key.push(name) - 1;
    parent.push(group.parent === undefined ? -1 : key.indexOf(group.parent));
    open.push(closed.includes(name) ? 0 : 1);
    if (closed.includes(name)) continue;
    for (let i = 0; i < group.leaves; i++) {
      key.push(`${name}.${i}`);
      parent.push(at);
      open.push(0);
    }
  }
  const kind = Uint8Array.from(key, (name) => (name in groups ? BoxKind.Group : BoxKind.Node));
  const columns = { parent: Int32Array.from(parent), open: Uint8Array.from(open), repeat: new Int32Array(key.length).fill(1), kind };
  const visible = { boxCount: key.length, key, title: key, ...columns } as unknown as Visible;
  return { visible, layout: { width: 100, height: 100 * key.length } as CompoundLayout };
}

const STEP = {
  forward: { parent: undefined, leaves: 5 },
  model: { parent: "forward", leaves: 20 },
  backward: { parent: undefined, leaves: 4 },
  update: { parent: undefined, leaves: 30 },
};

describe("the first sight", () => {
  it("stays as it is where it can be read", () => {
    expect(fitToScreen({ width: 800, height: 8000 }, (closed) => sight(STEP, closed)).closed).toEqual([]);
  });

  it("closes what is deepest first, then the fullest group, and never down to a handful of boxes", () => {
    expect(fitToScreen({ width: 800, height: 2500 }, (closed) => sight(STEP, closed)).closed).toEqual(["model"]);
    expect(fitToScreen({ width: 800, height: 800 }, (closed) => sight(STEP, closed)).closed).toEqual(["model", "update"]);
    expect(fitToScreen({ width: 800, height: 100 }, (closed) => sight(STEP, closed)).visible.boxCount).toBeGreaterThanOrEqual(8);
  });

  it("closes both halves of a training step or none", () => {
    const halves = { forward: { parent: undefined, leaves: 9 }, backward: { parent: undefined, leaves: 7 } };
    expect(fitToScreen({ width: 800, height: 300 }, (closed) => sight(halves, closed)).closed).toEqual([]);
    const others = { first: { parent: undefined, leaves: 9 }, second: { parent: undefined, leaves: 7 } };
    expect(fitToScreen({ width: 800, height: 300 }, (closed) => sight(others, closed)).closed).toEqual(["first"]);
  });
});
