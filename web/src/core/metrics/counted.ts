/** Metrics that every program has, counted from its columns: bytes of results, and number of inputs and users. */
import type { MetricData, MetricDefinition } from "../program/metrics";
import type { ProgramData } from "../program/types";
import { prepare } from "../view/prepare";

const OUTPUT_BYTES: MetricDefinition = { name: "output bytes", unit: "B", combine: "sum", origin: "given" };
const INPUTS: MetricDefinition = { name: "inputs", unit: "1", combine: "sum", origin: "given" };
const USERS: MetricDefinition = { name: "users", unit: "1", combine: "sum", origin: "given" };

const known = new WeakMap<ProgramData, readonly MetricData[]>();

/** All metrics of a program: those counted here, and those that came with it. */
export function metricsOf(program: ProgramData): readonly MetricData[] {
  let metrics = known.get(program);
  if (!metrics) {
    metrics = [
      { ...OUTPUT_BYTES, values: outputBytes(program), ratio: undefined },
      { ...INPUTS, values: lengths(program.inputs.start), ratio: undefined },
      { ...USERS, values: userCounts(program), ratio: undefined },
      ...program.metrics,
    ];
    known.set(program, metrics);
  }
  return metrics;
}

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

/** How many nodes use each node; one that uses it twice counts once. */
function userCounts(program: ProgramData): Float64Array {
  const { users } = prepare(program);
  const counts = new Float64Array(program.nodeCount);
  for (let n = 0; n < counts.length; n++) {
    for (let i = users.start[n]; i < users.start[n + 1]; i++)
      if (i === users.start[n] || users.value[i] !== users.value[i - 1]) counts[n]++;
  }
  return counts;
}
