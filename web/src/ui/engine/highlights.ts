/** What a person laid over the program: style rules and data about nodes, matched once and remembered while views come and go. */
import { highlightsOf, layered, overlaid } from "../../core/highlight/apply";
import { type DataColouring, dataColours } from "../../core/highlight/dataColours";
import { matchRules, needsDetails, type RuleMatches } from "../../core/highlight/match";
import { ownHighlights } from "../../core/highlight/fileStyles";
import { type DataRun, type DataStatistics, matchNodeData } from "../../core/highlight/nodeData";
import { type CompiledRule, compileRule, type StyleRule } from "../../core/highlight/rules";
import type { Highlights } from "../../core/scene/types";
import type { Grouping, ProgramData, Visible } from "../../core/program/types";
import type { RuleReport } from "./protocol";

export const DATA = "data:";

interface Ruled {
  readonly key: string;
  readonly rules: readonly CompiledRule[];
  readonly matches: RuleMatches;
}

export class Overlays {
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

  /** What every run says about a node. */
  of(node: number): [string, string][] {
    return this.runs.filter((run) => run.has(node)).map((run) => [run.name, run.text.get(node) ?? ""]);
  }

  run(colour: string): DataRun | undefined {
    return colour.startsWith(DATA) ? this.runs.find((run) => run.name === colour.slice(DATA.length)) : undefined;
  }

  /** Colours of a view: data over rules. */
  colours(
    visible: Visible,
    rules: readonly StyleRule[],
    grouping: string,
    colour: string,
  ): { highlights: Highlights | undefined; data: DataColouring | undefined } {
    const ruled = this.matched(rules, grouping);
    const run = this.run(colour);
    const data = run && dataColours(run, visible);
    const own = ownHighlights(this.program, this.grouping(grouping), visible);
    return {
      highlights: overlaid(layered(own, ruled && highlightsOf(visible, ruled.rules, ruled.matches)), data?.highlights, visible),
      data,
    };
  }

  report(rules: readonly StyleRule[], grouping: string): RuleReport[] {
    const ruled = this.matched(rules, grouping);
    return ruled ? ruled.rules.map(({ problem }, i) => ({ matches: ruled.matches.counts[i], ...(problem ? { problem } : {}) })) : [];
  }

  private matched(rules: readonly StyleRule[], groupingName: string): Ruled | undefined {
    if (!rules.length) return undefined;
    const key = JSON.stringify([rules, groupingName]);
    if (this.ruled?.key !== key) {
      const compiled = rules.map(compileRule);
      this.ruled = { key, rules: compiled, matches: matchRules(this.program, this.grouping(groupingName), compiled) };
    }
    return this.ruled;
  }

  private grouping(wanted: string): Grouping | undefined {
    const { groupings } = this.program;
    return groupings.find(({ name }) => name === wanted) ?? groupings[0];
  }
}
