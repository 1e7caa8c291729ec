import { readFileSync } from "node:fs";
import { defineConfig } from "vitest/config";

/** Fonts are bytes, as in the build. */
const binary = {
  name: "binary",
  enforce: "pre",
  load: (id: string) => (id.endsWith(".woff2") ? `export default new Uint8Array(${JSON.stringify([...readFileSync(id)])})` : undefined),
} as const;

/** Tests judge what is computed, never how fast: the limit only ends what hangs. */
export default defineConfig({ plugins: [binary], test: { setupFiles: ["test/seed.ts"], testTimeout: 300_000, hookTimeout: 300_000 } });
