/**
 * Finds nodes. A program repeats its strings, so every string, group and type is tested once and nodes only look up the answers:
 * 100,000 nodes take milliseconds.
 */

import { compileQuery, type Query, type Term } from "./query";
import { memoized } from "../base/memoized";
import { attributeNamed } from "../program/attributes";
import { groupingNamed, MODULE, nameAndClass } from "../program/names";
import { indexOf } from "../program/programIndex";
import { CATEGORIES, type ProgramData, ROLES } from "../program/types";

export { compileQuery } from "./query";

export interface Matches {
  /** In program order. */
  readonly nodes: Int32Array;
  readonly problem?: string;
}

export interface SearchOptions {
  /** Search this graph only. */
  readonly graph?: string;
}

export function search(program: ProgramData, text: string, options: SearchOptions = {}): Matches {
  return runQuery(program, compileQuery(text), options);
}

export function runQuery(program: ProgramData, query: Query, options: SearchOptions = {}): Matches {
  const none = new Int32Array(0);
  if (query.problem !== undefined) return { nodes: none, problem: query.problem };
  if (query.terms.length === 0) return { nodes: none };
  const range = graphRange(program, options.graph);
  if (!range) return { nodes: none, problem: `no graph named "${options.graph}"` };
  const [first, last] = range;
  const holds = new Uint8Array(last - first).fill(1);
  for (const term of query.terms) {
    const matches = matcher(program, term);
    for (let i = 0; i < holds.length; i++) if (holds[i] && matches(first + i) === term.negated) holds[i] = 0;
  }
  let count = 0;
  for (const one of holds) count += one;
  const nodes = new Int32Array(count);
  let at = 0;
  for (let i = 0; i < holds.length; i++) if (holds[i]) nodes[at++] = first + i;
  return count === 0 && query.doubt !== undefined ? { nodes, problem: query.doubt } : { nodes };
}

function graphRange(program: ProgramData, name: string | undefined): readonly [number, number] | undefined {
  if (name === undefined) return [0, program.nodeCount];
  const graph = indexOf(program).graphNamed(name);
  return graph < 0 ? undefined : [program.graphStart[graph], program.graphStart[graph + 1]];
}

const lowered = memoized((program: ProgramData) => new Array<string | undefined>(program.strings.length));

function lowerCase(program: ProgramData, number: number): string {
  const texts = lowered(program);
  const text = texts[number] ?? program.strings.at(number).toLowerCase();
  texts[number] = text;
  return text;
}

/** Tests a string of the table by its number, once. */
function stringTest(program: ProgramData, term: Term): (index: number) => boolean {
  const answers = new Uint8Array(program.strings.length);
  return (index) => {
    if (index < 0) return false;
    if (answers[index] === 0) answers[index] = term.test(term.lowerCase ? lowerCase(program, index) : program.strings.at(index)) ? 2 : 1;
    return answers[index] === 2;
  };
}

function matcher(program: ProgramData, term: Term): (node: number) => boolean {
  const { nodeId, nodeOp, nodeText, nodeRole, nodeCategory, outputNames, graphName, ops } = program;
  const text = stringTest(program, term);
  const named = (n: number) => {
    for (let i = outputNames.start[n]; i < outputNames.start[n + 1]; i++) if (text(outputNames.value[i])) return true;
    return false;
  };
  switch (term.field) {
    case "id":
      return (n) => text(nodeId[n]) || named(n);
    case "op":
      return (n) => text(ops.name[nodeOp[n]]);
    case "text":
      return (n) => text(nodeText[n]);
    case "shape":
    case "type":
      return typeMatcher(program, text);
    case "scope":
      return scopeMatcher(program, term);
    case "role":
      return (n) => term.test(ROLES[nodeRole[n]]);
    case "category":
      return (n) => term.test(CATEGORIES[nodeCategory[n]]);
    case "graph": {
      const { graphOf } = indexOf(program);
      return (n) => text(graphName[graphOf[n]]);
    }
    case "attr":
    case "source":
      return detailMatcher(program, term);
    case "any": {
      const type = typeMatcher(program, text);
      const scope = scopeMatcher(program, term);
      return (n) => text(nodeId[n]) || text(ops.name[nodeOp[n]]) || text(nodeText[n]) || type(n) || scope(n) || named(n);
    }
  }
}

function typeMatcher(program: ProgramData, text: (index: number) => boolean): (node: number) => boolean {
  const { outputs, types } = program;
  return (n) => {
    for (let i = outputs.start[n]; i < outputs.start[n + 1]; i++) if (text(types.text[outputs.value[i]])) return true;
    return false;
  };
}

/** The path of a node's innermost group, of the grouping by module: as the program has it, and as boxes and lists name it. */
function scopeMatcher(program: ProgramData, term: Term): (node: number) => boolean {
  const grouping = groupingNamed(program, MODULE) ?? program.groupings[0];
  const { groupName, groupParent, groupCount, nodeGroup } = grouping;
  const paths = new Array<string>(groupCount);
  const plain = new Array<string>(groupCount);
  const answers = new Uint8Array(groupCount);
  for (let g = 0; g < groupCount; g++) {
    const name = term.lowerCase ? lowerCase(program, groupName[g]) : program.strings.at(groupName[g]);
    const up = groupParent[g];
    paths[g] = up < 0 ? name : `${paths[up]}/${name}`;
    plain[g] = up < 0 ? nameAndClass(name)[0] : `${plain[up]}/${nameAndClass(name)[0]}`;
    answers[g] = term.test(paths[g]) || term.test(plain[g]) || term.test(plain[g].replaceAll("/", ".")) ? 1 : 0;
  }
  return (n) => nodeGroup[n] >= 0 && answers[nodeGroup[n]] === 1;
}

function detailMatcher(program: ProgramData, term: Term): (node: number) => boolean {
  const test = term.lowerCase ? (text: string): boolean => term.test(text.toLowerCase()) : term.test;
  const marks = term.field === "attr" ? program.findAttribute(term.key, test) : program.findSource(test);
  if (marks) return (n) => marks[n] === 1;
  return (n) => {
    const details = program.details(n);
    if (!details) return false;
    if (term.field === "source") return details.source.some((frame) => test(`${frame.file}:${frame.line} ${frame.function ?? ""}`));
    return Object.entries(details.attrs).some(
      ([name, value]) => attributeNamed(name, term.key) && test(typeof value === "string" ? value : JSON.stringify(value)),
    );
  };
}
