/**
 * Property tests draw the same examples in every run, so that a landing never depends on chance.
 * To look for new counterexamples: `FC_SEED=$RANDOM npx vitest run`.
 */
import fc from "fast-check";

fc.configureGlobal({ seed: Number(process.env.FC_SEED ?? 20_261_115) });
