/**
 * What to show by colour: style rules, a kind or a metric, and files of node data. Rules are matched once and cached between views. Both
 * the page and the writers of pictures use it.
 */
import { metricsOf } from "../metrics/counted";
import { spreadsOf } from "../metrics/spread";
import { valuesOf } from "../metrics/values";
import type { MetricData } from "../program/metrics";
import type { ProgramData, Visible } from "../program/types";
import type { ViewOptions } from "../program/viewOptions";
import type { BoxMeasure, Colours } from "../scene/types";
import { highlightsOf, layered, overlaid } from "./apply";
import { attributeMetric, attributeOf } from "./attributes";
import { ownHighlights } from "./fileStyles";
import { kindColours, kindOf, KINDS } from "./kindColours";
import { matchRules, needsDetails, type RuleMatches } from "./match";
import { metricColours } from "./metricColours";
import { type DataRun, type DataStatistics, matchNodeData } from "./nodeData";
import { type CompiledRule, compileRule, type StyleRule } from "./rules";

/** Prefix of the name of a run of node data, to distinguish it from names of the program. */
export const DATA = "data:";
/** Prefix of the name of an attribute. */
export const ATTRIBUTE = "attr:";

export interface ColourChoice {
  readonly rules: readonly StyleRule[];
  /** A kind, the name of a metric, "attr:NAME" or "data:NAME". */
  readonly colour: string;
  /** How numbers become colours. */
  readonly scale?: ViewOptions["colourScale"] | undefined;
}

export interface RuleReport {
  /** How many nodes and groups a rule matches, or why none. */
  readonly matches: number;
  readonly problem?: string;
}

interface Ruled {
  readonly key: string;
  readonly rules: readonly CompiledRule[];
  readonly matches: RuleMatches;
}

interface Chosen {
  readonly metric: MetricData;
  readonly run: DataRun | undefined;
}

export class Highlighter {
  readonly runs: DataRun[] = [];
  private ruled: Ruled | undefined;

  constructor(private readonly program: ProgramData) {}

  /** Do the rules need attributes? */
  static needsDetails(rules: readonly StyleRule[]): boolean {
    return needsDetails(rules.map(compileRule));
  }

  /** Takes a file of node data; a run of the same name replaces the old one. Throws an error with a message for the person. */
  add(file: unknown, name: string): readonly DataStatistics[] {
    const fresh = matchNodeData(this.program, file, name);
    for (const run of fresh) {
      const at = this.runs.findIndex((old) => old.name === run.name);
      if (at < 0) this.runs.push(run);
      else this.runs[at] = run;
    }
    return fresh.map((run) => run.statistics);
  }

  /** The metrics of the program and of files. */
  get metrics(): readonly MetricData[] {
    return [...this.program.metrics, ...this.runs.map(({ metric }) => metric)];
  }

  /** Is this a metric? It takes precedence over the changes of a pass, because somebody asked for it by name. */
  isMetric(colour: string): boolean {
    return this.metricNamed(colour) !== undefined;
  }

  /** The names of all choices. */
  get choices(): readonly string[] {
    return [...KINDS, ...metricsOf(this.program).map(({ name }) => name), ...this.runs.map(({ name }) => `${DATA}${name}`)];
  }

  /** Is this a valid choice? Attributes are only known after a search. */
  knows(colour: string): boolean {
    return this.choices.includes(colour) || colour.startsWith(ATTRIBUTE);
  }

  /** Colours of a view: a metric takes precedence over rules, and rules over a kind. */
  colours(visible: Visible, choice: ColourChoice): Colours {
    const { program } = this;
    const ruled = this.matched(visible, choice.rules);
    const under = layered(
      ownHighlights(program, program.groupings[visible.grouping], visible),
      ruled && highlightsOf(visible, ruled.rules, ruled.matches),
    );
    const chosen = this.metricNamed(choice.colour) ?? this.numbersOf(choice.colour, visible);
    if (chosen) {
      const { highlights, legend, values, ...rest } = metricColours(program, chosen.metric, visible, chosen.run, choice.scale);
      const measures = [{ ...measureOf(chosen.metric, values), spreads: spreadsOf(program, chosen.metric, visible) }];
      return { ...rest, highlights: overlaid(under, highlights, visible), legendRows: legend, measures };
    }
    const kind = this.kindNamed(choice.colour, visible);
    const coloured = kind && kindColours(visible, kind);
    return { highlights: under, ...(coloured ? { paints: coloured.paints, legendRows: coloured.legend } : {}) };
  }

  /** The values of all metrics for the boxes. */
  measures(visible: Visible): BoxMeasure[] {
    return this.metrics.map((metric) => measureOf(metric, valuesOf(this.program, metric).boxes(visible)));
  }

  report(visible: Visible, rules: readonly StyleRule[]): RuleReport[] {
    const ruled = this.matched(visible, rules);
    return ruled ? ruled.rules.map(({ problem }, i) => ({ matches: ruled.matches.counts[i], ...(problem ? { problem } : {}) })) : [];
  }

  private metricNamed(colour: string): Chosen | undefined {
    if ((KINDS as readonly string[]).includes(colour)) return undefined;
    const run = this.runs.find(({ name }) => `${DATA}${name}` === colour);
    const metric = run?.metric ?? metricsOf(this.program).find(({ name }) => name === colour);
    return metric && { metric, run };
  }

  private numbersOf(colour: string, visible: Visible): Chosen | undefined {
    const metric = colour.startsWith(ATTRIBUTE) ? attributeMetric(this.program, visible, colour.slice(ATTRIBUTE.length)) : undefined;
    return metric && { metric, run: undefined };
  }

  private kindNamed(colour: string, visible: Visible): ((node: number) => string) | undefined {
    if (colour.startsWith(ATTRIBUTE)) return attributeOf(this.program, colour.slice(ATTRIBUTE.length));
    return ["op", "dtype", "group"].includes(colour) ? kindOf(this.program, colour, visible.grouping) : undefined;
  }

  private matched({ grouping }: Visible, rules: readonly StyleRule[]): Ruled | undefined {
    if (!rules.length) return undefined;
    const key = JSON.stringify([rules, grouping]);
    if (this.ruled?.key !== key) {
      const compiled = rules.map(compileRule);
      this.ruled = { key, rules: compiled, matches: matchRules(this.program, this.program.groupings[grouping], compiled) };
    }
    return this.ruled;
  }
}

function measureOf({ name, unit, origin }: MetricData, values: Float64Array): BoxMeasure {
  return { name, unit, origin, values };
}
