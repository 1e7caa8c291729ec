/** The points of a roofline plot, and what to look at first. */
import type { DataRun } from "../../core/highlight/nodeData";
import { cellPath } from "../../core/metrics/cellNames";
import { addable, chosenGrouping, preferred, times } from "../../core/metrics/chosen";
import { gainOf, gainsOf, type RooflinePoint, rooflineOf, roofsOf, unjudgedText, wholeStep } from "../../core/metrics/roofline";
import { valuesOf } from "../../core/metrics/values";
import type { ProgramIndex } from "../../core/program/programIndex";
import type { Grouping } from "../../core/program/types";
import { quantityText } from "../../core/text/quantities";
import { Cells } from "./cells";
import type { Gain, RooflineCell, RooflineRequest, RooflineView } from "./costProtocol";

/** More points could not be told apart; the slowest are shown. */
const MOST = 400;
const MOST_GAINS = 50;

export class Roofline {
  readonly view: RooflineView | undefined;
  readonly cells: Cells;

  constructor(
    index: ProgramIndex,
    request: RooflineRequest,
    runs: readonly DataRun[],
    private readonly shown: Grouping | undefined,
  ) {
    const { program } = index;
    const graph = Math.max(0, index.graphNamed(request.graph));
    const grouping = chosenGrouping(program, request.grouping);
    this.cells = new Cells(index, grouping);
    const ofFiles = runs.map((run) => run.metric);
    const choices = times(addable(program, ofFiles));
    const time = choices.find(({ name }) => name === request.metric) ?? preferred(choices);
    if (!time) return;
    const points = rooflineOf(program, time, graph, request.grouping === undefined ? undefined : grouping);
    const total = valuesOf(program, time).graph[graph];
    const { device } = program;
    const whole = wholeStep(program, time, graph);
    this.view = {
      metric: time.name,
      origin: time.origin,
      metrics: choices.map(({ name }) => name),
      total: quantityText(total, time.unit),
      whole: whole.text,
      idle: whole.idleWorth > 0 ? { text: quantityText(whole.idle, "s"), part: whole.idle / whole.seconds } : undefined,
      unjudged: unjudgedText(points, whole),
      hasGains: points.some((point) => gainOf(point) > 0),
      gains: gainsOf(index, grouping, points)
        .slice(0, MOST_GAINS)
        .map(
          ({ points: same, name, where, seconds, best, gain }): Gain => ({
            cell: this.cell(same[0], total),
            count: same.length,
            name,
            where,
            text: quantityText(seconds, "s"),
            best: Number.isNaN(best) ? "" : quantityText(best, "s"),
            part: gain / whole.seconds,
          }),
        ),
      cells: points.slice(0, MOST).map((point) => this.cell(point, total)),
      more: Math.max(0, points.length - MOST),
      device: device && { title: device.title, bandwidth: device.bandwidth, roofs: roofsOf(device) },
    };
  }

  private cell(point: RooflinePoint, total: number): RooflineCell {
    const { group, node, seconds, best } = point;
    return {
      ...this.cells.cell(group, node, this.shown),
      where: cellPath(this.cells.index, this.cells.grouping, point),
      intensity: point.intensity,
      rate: point.rate,
      text: quantityText(seconds, "s"),
      share: seconds / total,
      best: Number.isNaN(best) ? "" : quantityText(best, "s"),
      gain: gainOf(point) / total,
    };
  }
}
