/**
 * What the option `label` writes on boxes: attributes of operations, and metrics. Where values are boxes, a metric that is not a sum is
 * about the result (when it is finished, how many bytes are live then), so it is on the values.
 */
import { metricsOf } from "../metrics/counted";
import { valuesOf } from "../metrics/values";
import { Role } from "../program/roles";
import { BoxKind, type LabelRow, type ProgramData, type Visible } from "../program/types";
import { metricText } from "../metrics/changes";

/** The view with rows on its boxes, one for each label that applies, in the order of the labels. */
export function labelled(program: ProgramData, visible: Visible, labels: readonly string[]): Visible {
  if (!labels.length) return visible;
  const columns = labels.map((name) => {
    const metric = metricsOf(program).find((each) => each.name === name);
    return metric ? metricTexts(program, metric, visible) : attributeTexts(program, name, visible);
  });
  const rows = Array.from({ length: visible.boxCount }, (_, box): LabelRow[] | undefined => {
    const here = columns.flatMap((text, i): LabelRow[] => {
      const value = visible.open[box] ? undefined : text(box);
      return value === undefined ? [] : [[labels[i], value]];
    });
    return here.length ? here : undefined;
  });
  return { ...visible, rows };
}

type BoxTexts = (box: number) => string | undefined;

function metricTexts(program: ProgramData, metric: ReturnType<typeof metricsOf>[number], visible: Visible): BoxTexts {
  const values = valuesOf(program, metric);
  const boxes = values.boxes(visible);
  const onValues = metric.combine !== "sum" && visible.kind.includes(BoxKind.Value);
  return (box) => {
    const isValue = visible.kind[box] === BoxKind.Value;
    const hasValues = visible.kind[box] === BoxKind.Node || visible.kind[box] === BoxKind.Call;
    const value = onValues && isValue ? values.node[visible.node[box]] : onValues && hasValues ? Number.NaN : boxes[box];
    return Number.isNaN(value) ? undefined : metricText(metric, value);
  };
}

/** A stack has none: its repeats may differ. */
function attributeTexts({ nodeRole, details }: ProgramData, name: string, { kind, node }: Visible): BoxTexts {
  return (box) => {
    const isOperation = kind[box] === BoxKind.Node || kind[box] === BoxKind.Call;
    if (!isOperation || node[box] < 0 || nodeRole[node[box]] !== Role.Op) return undefined;
    const value = details(node[box])?.attrs[name];
    return value === undefined ? undefined : attributeText(value);
  };
}

/** As Python, where attributes come from, prints it, on one line. */
function attributeText(value: unknown): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(attributeText).join(", ")}]`;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.replace(/\s+/g, " ").trim();
}
