/** Metrics that every program has, counted from its columns: bytes of results, and number of inputs and users. */
import type { MetricData, MetricDefinition } from "../program/metrics";
import type { ProgramData } from "../program/types";
import { memoized, once } from "../base/memoized";
import { indexOf } from "../program/programIndex";

const OUTPUT_BYTES: MetricDefinition = { name: "output bytes", unit: "B", combine: "sum", origin: "given" };
const INPUTS: MetricDefinition = { name: "inputs", unit: "1", combine: "sum", origin: "given" };
const USERS: MetricDefinition = { name: "users", unit: "1", combine: "sum", origin: "given" };

/** All metrics of a program: those counted here, once somebody needs their numbers, and those that came with it. */
export const metricsOf = memoized((program: ProgramData): readonly MetricData[] => [
  counted(OUTPUT_BYTES, () => outputBytes(program)),
  counted(INPUTS, () => lengths(program.inputs.start)),
  counted(USERS, () => lengths(indexOf(program).users.start)),
  ...program.metrics,
]);

function counted(definition: MetricDefinition, count: () => Float64Array): MetricData {
  const values = once(count);
  return {
    ...definition,
    get values() {
      return values();
    },
    ratio: undefined,
  };
}

function outputBytes({ nodeCount, outputs, types }: ProgramData): Float64Array {
  const bytes = new Float64Array(nodeCount);
  for (let n = 0; n < nodeCount; n++) {
    for (let i = outputs.start[n]; i < outputs.start[n + 1]; i++) bytes[n] += Math.max(0, types.bytes[outputs.value[i]]);
  }
  return bytes;
}

function lengths(start: Int32Array): Float64Array {
  const length = new Float64Array(start.length - 1);
  for (let row = 0; row < length.length; row++) length[row] = start[row + 1] - start[row];
  return length;
}
