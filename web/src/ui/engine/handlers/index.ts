/** Who answers which question. The type refuses a question without an answer. */
import { cellsAt, cost, roofline } from "./cost";
import { chain, edge, gradient, group, markdown, node, output, overview, saved, trace } from "./facts";
import { picture, png, svg } from "./files";
import type { Handlers } from "./handler";
import { kernel, source } from "./kernel";
import { lane } from "./lane";
import { load, nodeData } from "./load";
import { memory, memoryLive, memoryNodes, memoryRows, memorySpans, memoryStep, memoryUsage, memoryWhatIf } from "./memory";
import { follow, history, match, passes, passesTouching, pairReasons, passesTouchingBox, passFacts, reasons } from "./passes";
import { attributes, destinationRows, destinations, find, matchRows, search } from "./search";
import { modulePlace, moduleRow, table, tableRows } from "./table";
import { text, textFind, textLine, textRow, textRows, textToggle } from "./text";
import { view } from "./view";

export const HANDLERS: Handlers = {
  load,
  nodeData,
  view,
  search,
  matchRows,
  destinations,
  destinationRows,
  find,
  attributes,
  node,
  group,
  output,
  edge,
  trace,
  gradient,
  saved,
  overview,
  chain,
  markdown,
  table,
  tableRows,
  modulePlace,
  moduleRow,
  picture,
  png,
  svg,
  cost,
  roofline,
  cellsAt,
  lane,
  memory,
  memoryWhatIf,
  memoryUsage,
  memoryStep,
  memoryLive,
  memoryRows,
  memoryNodes,
  memorySpans,
  text,
  textRows,
  textToggle,
  textLine,
  textRow,
  textFind,
  passes,
  passFacts,
  passesTouching,
  passesTouchingBox,
  history,
  reasons,
  pairReasons,
  kernel,
  source,
  follow,
  match,
};
