/** One question of the page and who answers it. */
import type { Answer, Method, Params } from "../protocol";
import type { EngineState } from "../state";

export type Progress = (part: number, stage: string) => void;

/** What comes with a question. */
export interface Asking {
  readonly progress: Progress;
  /** Buffers of the answer that are handed over instead of copied. */
  readonly transfer: Transferable[];
}

export type Handler<M extends Method> = (state: EngineState, params: Params<M>, asking: Asking) => Answer<M> | Promise<Answer<M>>;
export type Handlers = { readonly [M in Method]: Handler<M> };
