/** The results of a scan: which are carried from one iteration to the next, and which are stacks with one part of each iteration. */
import { Control } from "../../program/ops";
import type { ProgramData } from "../../program/types";
import { bytesText, countText } from "../../text/quantities";

/**
 * "1 carried 2.05 kB, 32 stacked 1.28 MB", or nothing for any other operation. `inside` the body, sizes are those of one iteration.
 *
 * What is carried has the same type in the body; a stack has one dimension more. Other frameworks' scans do not say what they carry.
 */
export function scanResults(program: ProgramData, node: number, inside = false): string {
  const { calls, graphOutputs, nodeOp, nodePlace, ops, outputs, types } = program;
  if (ops.control[nodeOp[node]] !== Control.Scan || nodePlace[node] < 0 || calls.start[node + 1] - calls.start[node] !== 1) return "";
  const body = calls.value[calls.start[node]];
  const from = graphOutputs.start[body];
  const count = outputs.start[node + 1] - outputs.start[node];
  if (graphOutputs.start[body + 1] - from !== count) return "";
  const slots = [
    { name: "carried", values: 0, bytes: 0 },
    { name: "stacked", values: 0, bytes: 0 },
  ];
  for (let i = 0; i < count; i++) {
    const result = graphOutputs.value[from + i];
    const index = graphOutputs.extra[from + i];
    if (index < 0 || index >= outputs.start[result + 1] - outputs.start[result]) return "";
    const each = outputs.value[outputs.start[result] + index];
    const whole = outputs.value[outputs.start[node] + i];
    const slot = slots[types.text[each] === types.text[whole] ? 0 : 1];
    const bytes = types.bytes[inside ? each : whole];
    slot.values++;
    slot.bytes += bytes < 0 ? Number.NaN : bytes;
  }
  return slots
    .filter(({ values }) => values > 0)
    .map(({ name, values, bytes }) => `${countText(values)} ${name}${Number.isNaN(bytes) ? "" : ` ${bytesText(bytes)}`}`)
    .join(", ");
}
