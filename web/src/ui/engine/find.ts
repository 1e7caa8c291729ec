import type { ProgramData } from "../../core/types";
export function search(program: ProgramData, query: string, _options: { graph?: string }): { nodes: Int32Array; problem?: string } {
  const text = query.toLowerCase();
  const nodes: number[] = [];
  if (text) for (let n = 0; n < program.nodeCount; n++) if (`${program.strings.at(program.nodeId[n])} ${program.strings.at(program.nodeOp[n])}`.toLowerCase().includes(text)) nodes.push(n);
  return { nodes: Int32Array.from(nodes) };
}
