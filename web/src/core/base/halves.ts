/** The two halves of a training step in a drawing, and which block of it a box belongs to. */

export const enum Block {
  Before = 0,
  Forward = 1,
  Backward = 2,
  After = 3,
}

export interface Halves {
  /** Boxes at the top of the drawing. */
  readonly forward: number;
  readonly backward: number;
  /** Boxes of the forward half and of the backward half that belong together. */
  readonly pairs: readonly (readonly [number, number])[];
}

interface BoxesAndEdges {
  readonly boxCount: number;
  readonly parent: Int32Array;
  readonly edgeSource: Int32Array;
  readonly edgeTarget: Int32Array;
}

/** Each half is a block; of the other boxes at the top, those without inputs come before the halves. */
export function blocksOf(graph: BoxesAndEdges, halves: Halves): Uint8Array {
  const { boxCount, parent, edgeSource, edgeTarget } = graph;
  const root = new Int32Array(boxCount).fill(-1);
  const trail: number[] = [];
  for (let start = 0; start < boxCount; start++) {
    let box = start;
    while (root[box] < 0 && parent[box] >= 0) {
      trail.push(box);
      box = parent[box];
    }
    if (root[box] < 0) root[box] = box;
    const top = root[box];
    while (trail.length) root[trail.pop()!] = top;
  }
  const takes = new Uint8Array(boxCount);
  for (let e = 0; e < edgeSource.length; e++) if (root[edgeSource[e]] !== root[edgeTarget[e]]) takes[root[edgeTarget[e]]] = 1;
  return Uint8Array.from(root, (top) => {
    if (top === halves.forward) return Block.Forward;
    if (top === halves.backward) return Block.Backward;
    return takes[top] ? Block.After : Block.Before;
  });
}
