/** The points of a roofline plot, and what to look at first. */
import type { DataRun } from "../../core/highlight/nodeData";
import { type RooflinePoint, rooflineOf, roofsOf } from "../../core/metrics/roofline";
import { valuesOf } from "../../core/metrics/values";
import type { ProgramIndex } from "../../core/program/programIndex";
import type { Grouping } from "../../core/program/types";
import { quantityText } from "../../core/text/quantities";
import { Cells, chosenGrouping } from "./cells";
import { addable, preferred } from "./cost";
import type { Gain, RooflineCell, RooflineRequest, RooflineView } from "./costProtocol";
import { patternOf } from "./overview";

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
    this.cells = new Cells(index, grouping, graph);
    const times = addable(program, runs).filter(({ unit }) => unit === "s");
    const time = times.find(({ name }) => name === request.metric) ?? preferred(times);
    if (!time) return;
    const points = rooflineOf(program, time, graph, request.grouping === undefined ? undefined : grouping);
    const total = valuesOf(program, time).graph[graph];
    const { device } = program;
    this.view = {
      metric: time.name,
      origin: time.origin,
      metrics: times.map(({ name }) => name),
      total: quantityText(total, time.unit),
      ...this.gainsOf(points, total),
      cells: points.slice(0, MOST).map((point) => this.cell(point, total)),
      more: Math.max(0, points.length - MOST),
      device: device && { title: device.title, bandwidth: device.bandwidth, roofs: roofsOf(device) },
    };
  }

  private cell(point: RooflinePoint, total: number): RooflineCell {
    const { group, node, seconds, best } = point;
    const around = this.cells.pathOf(node >= 0 ? this.cells.grouping.nodeGroup[node] : group);
    return {
      ...this.cells.cell(group, node, this.shown),
      where: (node >= 0 ? around : around.slice(0, -1)).join("/"),
      intensity: point.intensity,
      rate: point.rate,
      text: quantityText(seconds, "s"),
      share: seconds / total,
      best: Number.isNaN(best) ? "" : quantityText(best, "s"),
      gain: gainOf(point) / total,
    };
  }

  /** Points that are alike: in places that differ in numbers only, with the same work. */
  private gainsOf(points: readonly RooflinePoint[], total: number): Pick<RooflineView, "gains" | "hasGains"> {
    const hasGains = points.some((point) => gainOf(point) > 0);
    const alike = new Map<string, RooflinePoint[]>();
    for (const point of points) {
      const { where, name } = this.cell(point, total);
      const key = [patternOf(`${where}/${name}`), point.flops, point.bytes].join(" ");
      const others = alike.get(key);
      if (others) others.push(point);
      else alike.set(key, [point]);
    }
    const gains = Array.from(alike.values(), (same): Gain => {
      const cell = this.cell(same[0], total);
      const sum = (of: (point: RooflinePoint) => number) => same.reduce((all, point) => all + of(point), 0);
      const [seconds, best] = [sum((point) => point.seconds), sum((point) => point.best)];
      const isOne = same.length === 1;
      return {
        cell,
        count: same.length,
        name: isOne ? cell.name : patternOf(cell.name),
        where: isOne ? cell.where : patternOf(cell.where),
        text: quantityText(seconds, "s"),
        best: Number.isNaN(best) ? "" : quantityText(best, "s"),
        part: (hasGains ? sum(gainOf) : seconds) / total,
      };
    });
    return { gains: gains.sort((a, b) => b.part - a.part).slice(0, MOST_GAINS), hasGains };
  }
}

/** Seconds between a point and the limits of the device; 0 if they are unknown. */
function gainOf({ seconds, best }: RooflinePoint): number {
  return Math.max(0, seconds - best) || 0;
}
