/** The graphs of a program in an order where what a graph calls comes before it. A call in a circle is cut where it closes. */
import type { ProgramData } from "./types";

export function calleesFirst({ calls, graphCount, graphStart }: ProgramData): Int32Array {
  const order = new Int32Array(graphCount);
  const seen = new Uint8Array(graphCount);
  const next = new Int32Array(graphCount);
  const stack: number[] = [];
  let count = 0;
  for (let start = 0; start < graphCount; start++) {
    if (!seen[start]) stack.push(start);
    while (stack.length > 0) {
      const graph = stack[stack.length - 1];
      if (!seen[graph]) {
        seen[graph] = 1;
        next[graph] = calls.start[graphStart[graph]];
      }
      const end = calls.start[graphStart[graph + 1]];
      while (next[graph] < end && seen[calls.value[next[graph]]]) next[graph]++;
      if (next[graph] < end) stack.push(calls.value[next[graph]]);
      else order[count++] = stack.pop()!;
    }
  }
  return order;
}
