/** The graphs of a program, callees before callers. A cycle of calls is cut where it closes. */
import type { ProgramData } from "./types";

export function calleesFirst({ calls, graphCount, graphStart }: ProgramData): Int32Array {
  const order = new Int32Array(graphCount);
  const visited = new Uint8Array(graphCount);
  const next = new Int32Array(graphCount);
  const stack: number[] = [];
  let count = 0;
  for (let start = 0; start < graphCount; start++) {
    if (!visited[start]) stack.push(start);
    while (stack.length > 0) {
      const graph = stack[stack.length - 1];
      if (!visited[graph]) {
        visited[graph] = 1;
        next[graph] = calls.start[graphStart[graph]];
      }
      const end = calls.start[graphStart[graph + 1]];
      while (next[graph] < end && visited[calls.value[next[graph]]]) next[graph]++;
      if (next[graph] < end) stack.push(calls.value[next[graph]]);
      else order[count++] = stack.pop()!;
    }
  }
  return order;
}
