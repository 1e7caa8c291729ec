/**
 * Which rule colours which node and group. Programs repeat their strings, so each string is tested once per expression and nodes look up
 * the answers: the time is that of reading the program's columns, whatever the expressions are.
 */
import type { Expression } from "../base/expression";
import { type Csr, type Grouping, type ProgramData, ROLES } from "../program/types";
import type { CompiledRule, MatchType, RangeTest } from "./rules";

const OP = ROLES.indexOf("op");

export interface RuleMatches {
  /** The first rule with a colour for boxes, or -1, by node and by group of the grouping. */
  readonly node: Int16Array;
  readonly group: Int16Array;
  /** The first rule with a colour for edges, or -1. */
  readonly nodeEdge: Int16Array;
  readonly groupEdge: Int16Array;
  /** How many nodes and groups each rule matches, whether or not an earlier rule also matches them. */
  readonly counts: Int32Array;
}

/** Do any of the rules need attributes? */
export function needsDetails(rules: readonly CompiledRule[]): boolean {
  return rules.some((rule) => rule.ranges.length > 0 || rule.patterns.some(({ where }) => where.includes("list")));
}

export function matchRules(program: ProgramData, grouping: Grouping | undefined, rules: readonly CompiledRule[]): RuleMatches {
  const groupCount = grouping?.groupCount ?? 0;
  const matches: RuleMatches = {
    node: new Int16Array(program.nodeCount).fill(-1),
    group: new Int16Array(groupCount).fill(-1),
    nodeEdge: new Int16Array(program.nodeCount).fill(-1),
    groupEdge: new Int16Array(groupCount).fill(-1),
    counts: new Int32Array(rules.length),
  };
  rules.forEach((rule, number) => {
    if (rule.problem !== undefined) return;
    if (rule.ops) take(nodesOf(program, rule), number, rule, matches.node, matches.nodeEdge, matches.counts);
    if (rule.layers && grouping) take(groupsOf(program, grouping, rule), number, rule, matches.group, matches.groupEdge, matches.counts);
  });
  return matches;
}

function take(holds: Uint8Array, number: number, rule: CompiledRule, boxes: Int16Array, edges: Int16Array, counts: Int32Array): void {
  for (let i = 0; i < holds.length; i++) {
    if (!holds[i]) continue;
    counts[number]++;
    if (rule.paint && boxes[i] < 0) boxes[i] = number;
    if (rule.edge && edges[i] < 0) edges[i] = number;
  }
}

function nodesOf(program: ProgramData, rule: CompiledRule): Uint8Array {
  const holds = new Uint8Array(program.nodeCount).fill(1);
  const keep = (marks: Uint8Array) => {
    for (let n = 0; n < holds.length; n++) holds[n] &= marks[n];
  };
  for (const { pattern, where } of rule.patterns) {
    const any = new Uint8Array(program.nodeCount);
    const test = stringTest(program, pattern);
    for (const place of where) {
      const marks = PLACES[place](program, test, pattern);
      for (let n = 0; n < any.length; n++) any[n] |= marks[n];
    }
    keep(any);
  }
  for (const range of rule.ranges) keep(inRange(program, range));
  return holds;
}

/** Layers have a title and nothing else. */
function groupsOf(program: ProgramData, { groupName, groupCount }: Grouping, rule: CompiledRule): Uint8Array {
  const holds = new Uint8Array(groupCount);
  if (rule.ranges.length || rule.patterns.some(({ where }) => !where.includes("title"))) return holds;
  const tests = rule.patterns.map(({ pattern }) => stringTest(program, pattern));
  for (let g = 0; g < groupCount; g++) holds[g] = tests.every((test) => test(groupName[g])) ? 1 : 0;
  return holds;
}

type StringTest = (index: number) => boolean;

function stringTest(program: ProgramData, pattern: Expression): StringTest {
  const answers = new Uint8Array(program.strings.length);
  return (index) => {
    if (index < 0) return false;
    if (answers[index] === 0) answers[index] = pattern.test(program.strings.at(index)) ? 2 : 1;
    return answers[index] === 2;
  };
}

const PLACES: Record<MatchType, (program: ProgramData, test: StringTest, pattern: Expression) => Uint8Array> = {
  title: titles,
  list: (program, _, pattern) => attributes(program, (key, value) => pattern.test(`${key}:${value}`) || pattern.test(`${key}=${value}`)),
  input: inputs,
  output: outputs,
};

/** An operation's title is its op; a parameter, constant or output has a name. */
function titles({ nodeCount, nodeOp, nodeId, nodeText, nodeRole, ops }: ProgramData, test: StringTest): Uint8Array {
  const marks = new Uint8Array(nodeCount);
  for (let n = 0; n < nodeCount; n++) {
    const isNamed = nodeRole[n] !== OP;
    marks[n] = test(ops.name[nodeOp[n]]) || (isNamed && (test(nodeId[n]) || test(nodeText[n]))) ? 1 : 0;
  }
  return marks;
}

function inputs(program: ProgramData, test: StringTest): Uint8Array {
  const { nodeCount, nodeId, nodeOp, ops, inputs: from } = program;
  const type = typeTest(program, test);
  const marks = new Uint8Array(nodeCount);
  for (let n = 0; n < nodeCount; n++) {
    for (let i = from.start[n]; i < from.start[n + 1] && !marks[n]; i++) {
      const source = from.value[i];
      if (test(ops.name[nodeOp[source]]) || test(nodeId[source]) || type(source, from.extra[i])) marks[n] = 1;
    }
  }
  return marks;
}

/** The type of a node, and its users. */
function outputs(program: ProgramData, test: StringTest): Uint8Array {
  const { nodeCount, nodeId, nodeOp, ops, inputs: from } = program;
  const type = typeTest(program, test);
  const marks = new Uint8Array(nodeCount);
  for (let n = 0; n < nodeCount; n++) {
    if (type(n, -1)) marks[n] = 1;
    if (!test(ops.name[nodeOp[n]]) && !test(nodeId[n])) continue;
    for (let i = from.start[n]; i < from.start[n + 1]; i++) marks[from.value[i]] = 1;
  }
  return marks;
}

/** Tests the type of one output of a node, or of any (-1). */
function typeTest({ outputs: rows, types }: ProgramData, test: StringTest): (node: number, output: number) => boolean {
  return (node, output) => {
    const { start, value } = rows as Csr;
    const first = start[node] + Math.max(output, 0);
    const last = output < 0 ? start[node + 1] : Math.min(first + 1, start[node + 1]);
    for (let i = first; i < last; i++) if (test(types.text[value[i]])) return true;
    return false;
  };
}

function inRange(program: ProgramData, { attribute, min, max }: RangeTest): Uint8Array {
  return attributes(program, (key, value) => {
    if (key !== attribute || value.trim() === "") return false;
    const number = Number(value);
    return number >= min && number <= max;
  });
}

function attributes(program: ProgramData, test: (key: string, value: string) => boolean): Uint8Array {
  const all = program.findAttributes(test);
  if (all) return all;
  const marks = new Uint8Array(program.nodeCount);
  for (let n = 0; n < marks.length; n++) {
    const attrs = program.details(n)?.attrs ?? {};
    for (const key of Object.keys(attrs)) {
      const value = attrs[key];
      if (!test(key, typeof value === "string" ? value : JSON.stringify(value))) continue;
      marks[n] = 1;
      break;
    }
  }
  return marks;
}
