/** Which metric and which grouping a panel shows unless somebody chooses. */
import type { MetricData } from "../program/metrics";
import { groupingNamed, isChange, MODULE } from "../program/names";
import type { Grouping, ProgramData } from "../program/types";
import { metricsOf } from "./counted";

/** The first of these that the program has. */
const PREFERRED = [
  (metric: MetricData) => isChange(metric) && metric.origin === "measured",
  (metric: MetricData) => isChange(metric) && metric.unit === "s",
  (metric: MetricData) => metric.unit === "s" && metric.origin === "measured",
  (metric: MetricData) => metric.unit === "s",
  (metric: MetricData) => metric.unit === "FLOP",
  (metric: MetricData) => metric.name === "bytes",
  () => true,
];

/** The metrics that sum up, of the program and of files. */
export function addable(program: ProgramData, ofFiles: readonly MetricData[] = []): MetricData[] {
  return [...metricsOf(program), ...ofFiles].filter(({ combine, ratio }) => combine === "sum" && !ratio);
}

/** The times of nodes. */
export function times(metrics: readonly MetricData[]): MetricData[] {
  return metrics.filter((metric) => metric.unit === "s" && !isChange(metric));
}

/** The first of changes of time, measured time, other time, FLOPs and bytes. */
export function preferred(metrics: readonly MetricData[]): MetricData | undefined {
  for (const wanted of PREFERRED) {
    const metric = metrics.find(wanted);
    if (metric) return metric;
  }
  return undefined;
}

/** The grouping of that name, or by modules, or the first. */
export function chosenGrouping(program: ProgramData, name?: string): Grouping {
  const modules = groupingNamed(program, MODULE);
  return groupingNamed(program, name ?? "") ?? (modules?.groupCount ? modules : program.groupings[0]);
}
