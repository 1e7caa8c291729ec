// Builds what the Python package ships under src/opscope/static. `node build.mjs` builds all; name targets to build only those.
import { build } from "esbuild";

const out = "../src/opscope/static";
const common = { bundle: true, target: "es2022", logLevel: "info", legalComments: "none", charset: "utf8" };

const targets = {
  // For V8 inside Python: one global, no modules. Lines are kept, because V8 quotes the whole line in an error.
  core: {
    ...common,
    entryPoints: ["src/core/api.ts"],
    outfile: `${out}/core.js`,
    format: "iife",
    globalName: "opscopeCore",
    minifySyntax: true,
    minifyIdentifiers: true,
  },
  // For every page: viewer and engine in one script, with its font and its style sheet inside.
  viewer: {
    ...common,
    entryPoints: ["src/hosts/page.ts"],
    outfile: `${out}/viewer.js`,
    format: "iife",
    minify: true,
    charset: "ascii",
    jsx: "automatic",
    jsxImportSource: "preact",
    loader: { ".woff2": "binary", ".css": "text" },
  },
};

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in targets));
if (unknown.length) {
  console.error(`no target ${unknown.join(", ")}; there are: ${Object.keys(targets).join(", ")}`);
  process.exit(2);
}
for (const [name, options] of Object.entries(targets)) {
  if (!wanted.length || wanted.includes(name)) await build(options);
}
