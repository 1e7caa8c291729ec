/** From nodes of the program to what stands out in the picture. */
import type { Emphasis } from "./scenePainter";
import type { Shown } from "./shown";

/** Boxes that contain a marked node are lit, and edges between lit boxes stand out. */
export function emphasisOf(shown: Shown, mark: Uint8Array): Emphasis {
  const { scene, result } = shown;
  const lit = new Uint8Array(scene.boxCount);
  for (let node = 0; node < mark.length; node++) if (mark[node] && result.boxOfNode[node] >= 0) lit[result.boxOfNode[node]] = 1;
  const litEdge = new Uint8Array(scene.edgeCount);
  for (let e = 0; e < scene.edgeCount; e++) {
    const { source, target } = shown.endsOf(e);
    litEdge[e] = lit[source] && lit[target] ? 1 : 0;
  }
  return { lit, litEdge };
}

/** Boxes in which any of these nodes is visible; of an open frame, the boxes inside. */
export function boxesOf(shown: Shown, nodes: Iterable<number>): Int32Array {
  const { boxOfNode, open } = shown.result;
  const marked = new Uint8Array(shown.scene.boxCount);
  for (const node of nodes) if (boxOfNode[node] >= 0) marked[boxOfNode[node]] = 1;
  let count = 0;
  const boxes = new Int32Array(marked.length);
  for (let box = 0; box < marked.length; box++) if (marked[box] && !open[box]) boxes[count++] = box;
  return boxes.slice(0, count);
}
