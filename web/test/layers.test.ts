/** Layers import only downwards, there are no import cycles, and files stay small: one careless line breaks any of these. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";

const SRC = join(import.meta.dirname, "../src");
/** From the bottom up. A file may import from its own layer and from those before it. */
const LAYERS = [
  "core/base",
  "core/text",
  "core/program",
  "core/memory",
  "core/search",
  "core/listing",
  "core/view",
  "core/metrics",
  "core/layout",
  "core/scene",
  "core/highlight",
  "core/writers",
  "core/picture",
  "core/api.ts",
  "ui",
  "hosts",
];
const LONGEST = 500;

interface Import {
  readonly to: string;
  /** Gone after compiling. */
  readonly typesOnly: boolean;
}

const files = readdirSync(SRC, { recursive: true }).filter((file) => /\.tsx?$/.test(file) && !file.endsWith(".d.ts"));
const fileSet = new Set(files);

/** The file that an import names, if it is one of ours. */
function target(from: string, path: string): string | undefined {
  if (!path.startsWith(".")) return undefined;
  const base = relative(SRC, join(SRC, dirname(from), path));
  return [`${base}.ts`, `${base}.tsx`, join(base, "index.ts")].find((file) => fileSet.has(file));
}

/** An import or export statement: `type`, what is named, and where it is. */
const STATEMENT = /^(?:import|export) (type )?(?:([^"';]*) from )?"([^"]+)";/gm;

function importsOf(file: string): Import[] {
  return [...readFileSync(join(SRC, file), "utf-8").matchAll(STATEMENT)].flatMap(([, type, names = "", path]) => {
    const to = target(file, path);
    return to === undefined ? [] : [{ to, typesOnly: type !== undefined || namesTypesOnly(names) }];
  });
}

/** `{ type A, type B }` */
function namesTypesOnly(names: string): boolean {
  const inside = /^\{([^}]*)\}$/.exec(names.trim());
  const each = inside?.[1].split(",").filter((name) => name.trim());
  return each?.every((name) => name.trim().startsWith("type ")) ?? false;
}

const imports = new Map(files.map((file) => [file, importsOf(file)]));
const layerOf = (file: string): number => LAYERS.findIndex((layer) => file === layer || file.startsWith(`${layer}/`));

/** The files of an import cycle, or none: what remains after repeatedly removing files that import none of the rest. */
function circle(): string[] {
  const left = new Map(
    files.map((file) => [
      file,
      imports
        .get(file)!
        .filter((each) => !each.typesOnly)
        .map((each) => each.to),
    ]),
  );
  for (let before = -1; before !== left.size; ) {
    before = left.size;
    for (const [file, targets] of left) if (!targets.some((to) => left.has(to))) left.delete(file);
  }
  const walk: string[] = [];
  for (let at = left.keys().next().value; at !== undefined; at = left.get(at)!.find((to) => left.has(to))) {
    if (walk.includes(at)) return walk.slice(walk.indexOf(at));
    walk.push(at);
  }
  return walk;
}

describe("the sources", () => {
  it("have a layer each", () => {
    expect(files.filter((file) => layerOf(file) < 0)).toEqual([]);
  });

  it("import only from their own layer and from those below", () => {
    const upwards = files.flatMap((file) =>
      imports.get(file)!.flatMap(({ to }) => (layerOf(to) > layerOf(file) ? [`${file} imports ${to}`] : [])),
    );
    expect(upwards).toEqual([]);
  });

  it("have no import cycles (types may)", () => {
    expect(circle()).toEqual([]);
  });

  it("are short enough to be read", () => {
    const lines = (file: string) => readFileSync(join(SRC, file), "utf-8").split("\n").length - 1;
    expect(files.filter((file) => lines(file) > LONGEST)).toEqual([]);
  });
});
