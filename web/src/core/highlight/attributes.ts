/** Attributes to colour by: a metric if all values are numbers, a kind otherwise. */
import type { MetricData } from "../program/metrics";
import type { ProgramData, Visible } from "../program/types";

/** Fewer distinct numbers than this are kinds ("groups=1", "groups=8"), not a scale. */
const LEAST_DIFFERENT = 6;

export function attributeOf({ details }: ProgramData, name: string): (node: number) => string {
  return (node) => {
    const value = details(node)?.attrs[name];
    return value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value);
  };
}

/** The values of an attribute as a metric, if those of all boxes are numbers and there are enough of them for a scale. */
export function attributeMetric(program: ProgramData, visible: Visible, name: string): MetricData | undefined {
  const text = attributeOf(program, name);
  const different = new Set<string>();
  for (const node of visible.node) {
    const value = node < 0 ? "" : text(node);
    if (value === "") continue;
    if (!Number.isFinite(Number(value))) return undefined;
    if (different.size < LEAST_DIFFERENT) different.add(value);
  }
  if (different.size < LEAST_DIFFERENT) return undefined;
  const values = Float64Array.from(visible.boxOfNode, (box, node) => (box < 0 ? Number.NaN : Number(text(node) || Number.NaN)));
  return { name, unit: "1", combine: "sum", origin: "given", values, ratio: undefined };
}
