/** Metrics that every program has, counted from its columns: bytes of results, and number of inputs and users. */
import type { MetricData, MetricDefinition } from "../program/metrics";
import type { ProgramData } from "../program/types";
import { memoized } from "../base/memoized";
import { indexOf } from "../program/programIndex";

const OUTPUT_BYTES: MetricDefinition = { name: "output bytes", unit: "B", combine: "sum", origin: "given" };
const INPUTS: MetricDefinition = { name: "inputs", unit: "1", combine: "sum", origin: "given" };
const USERS: MetricDefinition = { name: "users", unit: "1", combine: "sum", origin: "given" };

/** All metrics of a program: those counted here, and those that came with it. */
export const metricsOf = memoized((program: ProgramData): readonly MetricData[] => [
  { ...OUTPUT_BYTES, values: outputBytes(program), ratio: undefined },
  { ...INPUTS, values: lengths(program.inputs.start), ratio: undefined },
  { ...USERS, values: lengths(indexOf(program).users.start), ratio: undefined },
  ...program.metrics,
]);

function outputBytes({ nodeCount, outputs, types }: ProgramData): Float64Array {
  const bytes = new Float64Array(nodeCount);
  for (let n = 0; n < nodeCount; n++) {
    for (let i = outputs.start[n]; i < outputs.start[n + 1]; i++) bytes[n] += Math.max(0, types.bytes[outputs.value[i]]);
  }
  return bytes;
}

function lengths(start: Int32Array): Float64Array {
  return Float64Array.from({ length: start.length - 1 }, (_, row) => start[row + 1] - start[row]);
}
