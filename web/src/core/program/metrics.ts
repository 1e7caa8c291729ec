/** Numbers about nodes, as `opscope.render.wire.metrics` writes them. Their meaning is that of `opscope.Metric`. */
import type { Sections } from "./sections";

export interface MetricDefinition {
  readonly name: string;
  /** "s", "B", "FLOP", "1" for a plain number, or another short text. */
  readonly unit: string;
  /** How a group gets its number from its nodes: "sum", "max", "last", or "ratio:a/b". */
  readonly combine: string;
  readonly origin: "estimated" | "measured" | "given";
}

/** A metric on one program. */
export interface MetricData extends MetricDefinition {
  /** The number of each node for one run, including what it calls; NaN: none. A ratio has no values. */
  readonly values: Float64Array;
  /** For a ratio: what is divided by what. */
  readonly ratio: readonly [MetricData, MetricData] | undefined;
}

/**
 * The metrics that a program has numbers for. `rows` is the row of each node in the tables: equal nodes share one.
 */
export function decodeMetrics(sections: Sections, rows: Int32Array): MetricData[] {
  const definitions = (sections.fields.metrics ?? []) as readonly MetricDefinition[];
  const plain = definitions.flatMap((definition, i): MetricData[] => {
    if (!sections.has(`metrics.${i}`)) return [];
    const table = sections.floats(`metrics.${i}`);
    const values = new Float64Array(rows.length);
    let hasNumbers = false;
    for (let n = 0; n < values.length; n++) {
      values[n] = table[rows[n]];
      hasNumbers ||= !Number.isNaN(values[n]);
    }
    return hasNumbers ? [{ ...definition, values, ratio: undefined }] : [];
  });
  return withRatios(definitions, plain);
}

/** All metrics in the order of their definitions; a ratio needs both of its parts. */
export function withRatios(definitions: readonly MetricDefinition[], plain: readonly MetricData[]): MetricData[] {
  const byName = new Map(plain.map((metric) => [metric.name, metric]));
  return definitions.flatMap((definition): MetricData[] => {
    const metric = byName.get(definition.name);
    if (metric) return [metric];
    const [above, below] = (/^ratio:(.*)\/(.*)$/.exec(definition.combine) ?? []).slice(1).map((name) => byName.get(name));
    return above && below ? [{ ...definition, values: NOTHING, ratio: [above, below] }] : [];
  });
}

const NOTHING = new Float64Array(0);
