/** The program in a few numbers, for the panel while nothing is selected: operations, kernels, dtypes, and what costs most. */
import { patternOf } from "../../core/metrics/cellNames";
import { addable, times } from "../../core/metrics/chosen";
import { graphRuns, graphsInside } from "../../core/metrics/inside";
import { unknownOf } from "../../core/metrics/unknown";
import { drawnGroups, valuesOf } from "../../core/metrics/values";
import { groupingNamed, MODULE, nameAndClass } from "../../core/program/names";
import { Forwards } from "../../core/program/ops";
import type { MetricData } from "../../core/program/metrics";
import type { ProgramIndex } from "../../core/program/programIndex";
import { Role } from "../../core/program/roles";
import { CATEGORIES, type Grouping, type ProgramData } from "../../core/program/types";
import { depthOf } from "../../core/view/groups/grouping";
import { traitsOf } from "../../core/view/traits";
import { quantityText } from "../../core/text/quantities";
import { totals } from "./facts";
import type { HeavyModule, Overview } from "./protocol";

const MOST_MODULES = 5;
const MOST_DTYPES = 4;
const CUSTOM = CATEGORIES.indexOf("custom");

export function overview(index: ProgramIndex): Overview {
  const { program } = index;
  const { graphStart, entry, nodeRole, nodeCategory, outputs, types, calls, strings } = program;
  const { plumbing, small, isFusionBody } = traitsOf(program);
  const dtypes = new Map<number, number>();
  let operations = 0,
    fusions = 0,
    customCalls = 0;
  for (let n = graphStart[entry]; n < graphStart[entry + 1]; n++) {
    if (nodeRole[n] !== Role.Op || plumbing.kind[n] !== Forwards.Nothing || small.is[n]) continue;
    operations++;
    if (calls.start[n + 1] > calls.start[n] && isFusionBody[calls.value[calls.start[n]]]) fusions++;
    else if (nodeCategory[n] === CUSTOM) customCalls++;
    for (let i = outputs.start[n]; i < outputs.start[n + 1]; i++) {
      const dtype = types.dtype[outputs.value[i]];
      dtypes.set(dtype, (dtypes.get(dtype) ?? 0) + 1);
    }
  }
  const ranked = [...dtypes].sort((a, b) => b[1] - a[1]).slice(0, MOST_DTYPES);
  const weight = weightOf(program);
  const values = [...dtypes.values()].reduce((sum, count) => sum + count, 0);
  return {
    totals: totals(program),
    operations,
    kernels: fusions > 0 ? fusions + customCalls : 0,
    dtypes: ranked.map(([dtype, count]) => ({ dtype: strings.at(dtype), share: count / values })),
    heaviestBy: weight?.name ?? "",
    isPartial: weight !== undefined && (unknownOf(program, weight)?.graph[entry] ?? 0) > 0,
    hasTimes: times(addable(program)).length > 0,
    heaviest: heaviestModules(index),
  };
}

/** What modules are ranked by: measured time, or else FLOPs. */
function weightOf({ metrics }: ProgramData): MetricData | undefined {
  return (
    metrics.find(({ unit, origin, combine }) => unit === "s" && origin === "measured" && combine === "sum") ??
    metrics.find(({ name }) => name === "flops")
  );
}

/** Modules with the most time or FLOPs in operations of their own, in called graphs too. Those of repeated layers count together: "h.#/mlp". */
function heaviestModules(index: ProgramIndex): HeavyModule[] {
  const { program } = index;
  const metric = weightOf(program);
  const grouping = groupingNamed(program, MODULE)?.groupCount ? groupingNamed(program, MODULE) : program.groupings[0];
  if (!metric || !grouping || grouping.groupCount === 0) return [];
  const { node: values, graph } = valuesOf(program, metric);
  const { nodeGroup } = drawnGroups(program, grouping);
  const { graphStart, entry } = program;
  const amounts = new Float64Array(grouping.groupCount);
  const first = new Map<number, number>();
  for (const { graph: each, times: runs } of graphRuns(program, metric, entry)) {
    for (let n = graphStart[each]; n < graphStart[each + 1]; n++) {
      const group = nodeGroup[n];
      if (group < 0 || !(values[n] > 0) || graphsInside(program, metric, n).length > 0) continue;
      if (amounts[group] === 0) first.set(group, n);
      amounts[group] += values[n] * runs;
    }
  }
  const kinds = new Map<string, { amount: number; paths: Set<string>; node: number }>();
  for (const [group, node] of first) {
    const path = pathOf(index, grouping, group);
    const name = sharedName(path);
    const kind = kinds.get(name) ?? { amount: 0, paths: new Set<string>(), node };
    kind.amount += amounts[group];
    kind.paths.add(path); // forward and backward each have a group of a module
    kinds.set(name, kind);
  }
  const ranked = [...kinds].sort((a, b) => b[1].amount - a[1].amount).slice(0, MOST_MODULES);
  return ranked.map(([name, { amount, paths, node }]) => ({
    name: paths.size === 1 ? pathOf(index, grouping, nodeGroup[node]) : name,
    repeats: paths.size,
    node,
    level: depthOf(grouping, nodeGroup[node]),
    text: quantityText(amount, metric.unit),
    share: amount / graph[entry],
  }));
}

/** What the paths of repeated layers have in common; a path of numbers alone has nothing in common with others. */
function sharedName(path: string): string {
  const pattern = patternOf(path);
  return /[^#/]/.test(pattern) ? pattern : path;
}

/** The path of a group without classes. */
function pathOf(index: ProgramIndex, grouping: Grouping, group: number): string {
  const names: string[] = [];
  for (let g = group; g >= 0; g = grouping.groupParent[g]) names.unshift(nameAndClass(index.text(grouping.groupName[g]))[0]);
  return names.join("/");
}
