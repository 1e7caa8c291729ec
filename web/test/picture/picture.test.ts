/** The page and the file: one picture where the same is asked for. */
import { beforeAll, describe, expect, it } from "vitest";
import { allocate, call, nextPiece } from "../../src/core/api";
import type { ViewSpec } from "../../src/core/program/types";
import { Engine } from "../../src/ui/engine/engine";
import type { Answer, Method, Params, ViewRequest } from "../../src/ui/engine/protocol";
import { fontCss } from "../../src/ui/fonts";
import { wireOf } from "../support/python";

const engine = new Engine();
let name = "";

const ask = <M extends Method>(method: M, params: Params<M>): Promise<Answer<M>> => engine.answer(method, params, () => undefined, []);

function step(method: string, argument: unknown): string {
  const answer = call(method, JSON.stringify(argument));
  expect(answer[0], answer.slice(0, 300)).toBe(method === "svg" ? "*" : "+");
  const rest = answer.slice(1);
  return method === "svg" ? Array.from({ length: Number(rest) }, nextPiece).join("") : rest;
}

/** What the Python host gets for a request. */
function fromHost(request: object): string {
  step("draw", request);
  return step("svg", { theme: "light", title: name, fontCss: fontCss() });
}

async function onPage(spec: ViewSpec, more: Partial<ViewRequest> = {}): Promise<Answer<"view">> {
  return ask("view", { spec, rankdir: "TB", colour: "category", styles: [], locate: [], columns: 1, ...more });
}

beforeAll(async () => {
  const wire = wireOf("tests/samples/hlo/step_compiled.hlo");
  allocate(wire.length).set(wire);
  name = (JSON.parse(step("load", null)) as { name: string }).name;
  await ask("load", { at: { kind: "bytes", bytes: wire.buffer } });
});

const VIEWS: readonly (readonly [string, ViewSpec])[] = [
  ["as it comes", {}],
  ["three deep", { depth: 3 }],
  ["flat", { flatten: true }],
  ["forward beside backward", { forwardBackward: true }],
  ["by operation", { groupBy: "op" }],
  ["with names and operand numbers", { names: true, operands: true }],
];

describe.each(VIEWS)("a view %s", (_, spec) => {
  it("is the same file from the page and from the host", async () => {
    await onPage(spec);
    expect(await ask("svg", { theme: "light", background: "theme", as: "file" })).toBe(fromHost({ spec }));
  });

  it("is the same from the host as shown on the page", async () => {
    await onPage(spec, { rankdir: "LR" });
    expect(await ask("svg", { theme: "light", background: "theme", as: "seen" })).toBe(fromHost({ spec, rankdir: "LR", as: "seen" }));
  });
});

it("a neighbourhood has its centre emphasised in both files", async () => {
  const { nodes } = await ask("search", { query: "op:dot", limit: 1, first: "" });
  const [node] = await ask("matchRows", { nodes: [...nodes] });
  const spec: ViewSpec = { graph: node.graph, around: [node.id], hops: 2 };
  await onPage(spec);
  expect(await ask("svg", { theme: "light", background: "theme", as: "file" })).toBe(fromHost({ spec }));
});

it("what was closed to fit the screen and opened to reveal a node is so in the file too", async () => {
  const { closed } = await onPage({ depth: 4 }, { room: { width: 300, height: 200 } });
  expect(closed.length).toBeGreaterThan(0);
  expect(await ask("svg", { theme: "light", background: "theme", as: "file" })).toBe(fromHost({ spec: { depth: 4, closed } }));
  const node = (await ask("search", { query: "op:dot", limit: 1, first: "" })).nodes[0];
  const { opened } = await onPage({ depth: 0 }, { reveal: node });
  expect(opened.length).toBeGreaterThan(0);
  expect(await ask("svg", { theme: "light", background: "theme", as: "file" })).toBe(fromHost({ spec: { depth: 0, open: opened } }));
});

it("the legend of a file says what the chosen colours mean", async () => {
  const { legend } = await onPage({}, { colour: "op" });
  const svg = await ask("svg", { theme: "light", background: "theme", as: "seen" });
  expect(legend.length).toBeGreaterThan(2);
  for (const { text } of legend)
    expect(svg).toContain(`>${text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")}<`);
});
