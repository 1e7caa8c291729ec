// Builds what the Python package ships under src/opscope/static. `node build.mjs` builds all; name targets to build only those.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { build, transform } from "esbuild";

const out = "../src/opscope/static";
const common = { bundle: true, target: "es2022", logLevel: "info", legalComments: "none", charset: "utf8" };

/** Style sheets as text, without the comments and spaces that people need. */
const styleSheets = {
  name: "style sheets",
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(readFileSync(path, "utf8"), { loader: "css", minifyWhitespace: true, charset: "ascii" });
      return { contents: code, loader: "text" };
    });
  },
};

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
    loader: { ".woff2": "base64" },
    plugins: [styleSheets],
  },
};

/** The licences of the packages in a bundle, which must go wherever their code goes. */
function notice(inputs) {
  const names = Object.keys(inputs).flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []);
  return [...new Set(names)].sort().map((name) => {
    const directory = `node_modules/${name}`;
    const { version, license } = JSON.parse(readFileSync(`${directory}/package.json`, "utf8"));
    const file = ["LICENSE", "LICENSE.md", "LICENSE.txt"].find((each) => existsSync(`${directory}/${each}`));
    if (!file) throw new Error(`${name} has no licence file; it cannot be bundled`);
    return `${name} ${version} (${license})\n\n${readFileSync(`${directory}/${file}`, "utf8").trim()}\n`;
  });
}

/** The viewer is inside every page that opscope writes, so its notice is a comment in front of it, and a file of the package. */
function addNotice(file, inputs) {
  const text = `opscope's viewer contains code of these packages.\n\n${notice(inputs).join("\n")}`;
  writeFileSync(`${out}/NOTICE.txt`, text);
  writeFileSync(file, asAscii(`/*!\n${text.replaceAll("*/", "* /")}*/\n${readFileSync(file, "utf8")}`));
}

/** esbuild leaves regular expressions as they are. One other character anywhere makes a browser keep the whole page, with its megabytes of data, at twice the size. */
function asAscii(script) {
  return script.replace(/[\u0080-\uffff]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in targets));
if (unknown.length) {
  console.error(`no target ${unknown.join(", ")}; there are: ${Object.keys(targets).join(", ")}`);
  process.exit(2);
}
for (const [name, options] of Object.entries(targets)) {
  if (wanted.length && !wanted.includes(name)) continue;
  const { metafile } = await build({ ...options, metafile: true });
  if (name === "viewer") addNotice(options.outfile, metafile.inputs);
}
