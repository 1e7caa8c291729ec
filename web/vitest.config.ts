import { readFileSync } from "node:fs";
import { defineConfig } from "vitest/config";

/** Fonts are text, as in the build. */
const base64 = {
  name: "base64",
  enforce: "pre",
  load: (id: string) => (id.endsWith(".woff2") ? `export default ${JSON.stringify(readFileSync(id, "base64"))}` : undefined),
} as const;

/** Tests judge what is computed, never how fast: the limit only ends what hangs. */
export default defineConfig({ plugins: [base64], test: { setupFiles: ["test/seed.ts"], testTimeout: 300_000, hookTimeout: 300_000 } });
