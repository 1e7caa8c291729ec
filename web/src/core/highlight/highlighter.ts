/**
 * What a person wants to see of a program by colour: style rules, a kind or a metric, and files of node data. Matched once and remembered
 * while views come and go. The page and the writers of pictures both come here.
 */
import { metricsOf } from "../metrics/counted";
import { valuesOf } from "../metrics/values";
import type { MetricData } from "../program/metrics";
import type { ProgramData, Visible } from "../program/types";
import type { BoxMeasure, Colours } from "../scene/types";
import { highlightsOf, layered, overlaid } from "./apply";
import { attributeMetric, attributeOf } from "./attributes";
import { ownHighlights } from "./fileStyles";
import { kindColours, kindOf, KINDS } from "./kindColours";
import { matchRules, needsDetails, type RuleMatches } from "./match";
import { metricColours } from "./metricColours";
import { type DataRun, type DataStatistics, matchNodeData } from "./nodeData";
import { type CompiledRule, compileRule, type StyleRule } from "./rules";

/** Before the name of a run of node data, so that it cannot be taken for something of the program. */
export const DATA = "data:";
/** Before the name of an attribute. */
export const ATTRIBUTE = "attr:";

export interface ColourChoice {
  readonly rules: readonly StyleRule[];
  /** A kind, the name of a metric, "attr:NAME" or "data:NAME". */
  readonly colour: string;
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

  /** Must attributes be here before the rules can be matched? */
  static needsDetails(rules: readonly StyleRule[]): boolean {
    return needsDetails(rules.map(compileRule));
  }

  /** Takes a file of node data; a run of the same name takes the place of the old one. Throws a sentence for the person. */
  add(file: unknown, name: string): readonly DataStatistics[] {
    const fresh = matchNodeData(this.program, file, name);
    for (const run of fresh) {
      const at = this.runs.findIndex((old) => old.name === run.name);
      if (at < 0) this.runs.push(run);
      else this.runs[at] = run;
    }
    return fresh.map((run) => run.statistics);
  }

  /** The metrics that the program and files bring along. */
  get metrics(): readonly MetricData[] {
    return [...this.program.metrics, ...this.runs.map(({ metric }) => metric)];
  }

  /** Is this a metric? Then it goes before what a pass did: somebody asked for it by name. */
  isMetric(colour: string): boolean {
    return this.metricNamed(colour) !== undefined;
  }

  /** What can be asked for, in words. */
  get choices(): readonly string[] {
    return [...KINDS, ...metricsOf(this.program).map(({ name }) => name), ...this.runs.map(({ name }) => `${DATA}${name}`)];
  }

  /** Does the program have what is asked for? Attributes are not known before they are looked for. */
  knows(colour: string): boolean {
    return this.choices.includes(colour) || colour.startsWith(ATTRIBUTE);
  }

  /** Colours of a view: a metric goes over rules, and rules over a kind. */
  colours(visible: Visible, choice: ColourChoice): Colours {
    const { program } = this;
    const ruled = this.matched(visible, choice.rules);
    const under = layered(
      ownHighlights(program, program.groupings[visible.grouping], visible),
      ruled && highlightsOf(visible, ruled.rules, ruled.matches),
    );
    const chosen = this.metricNamed(choice.colour) ?? this.numbersOf(choice.colour, visible);
    if (chosen) {
      const { highlights, paints, legend, values } = metricColours(program, chosen.metric, visible, chosen.run);
      return { highlights: overlaid(under, highlights, visible), paints, legendRows: legend, measures: [measureOf(chosen.metric, values)] };
    }
    const kind = this.kindNamed(choice.colour, visible);
    const coloured = kind && kindColours(visible, kind);
    return { highlights: under, ...(coloured ? { paints: coloured.paints, legendRows: coloured.legend } : {}) };
  }

  /** What boxes have of all metrics. */
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
