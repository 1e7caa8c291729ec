import { defineConfig } from "vitest/config";

/** Tests judge what is computed, never how fast: the limit only ends what hangs. */
export default defineConfig({ test: { testTimeout: 300_000, hookTimeout: 300_000 } });
