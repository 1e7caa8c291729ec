/** A wait shorter than this needs no explanation. */
const QUIET_MS = 300;

export interface Progress {
  readonly part: number;
  readonly stage: string;
}

export type Tell = (part: number, stage: string) => void;

/** Runs a task and, if it takes longer than a moment, shows how far it is; at its end shows nothing, unless a later one does. */
export async function patiently<T>(task: (tell: Tell) => Promise<T>, show: (progress: Progress | undefined) => void): Promise<T> {
  const start = performance.now();
  let last: Progress = { part: 0, stage: "" };
  const timer = setTimeout(() => show(last), QUIET_MS);
  try {
    return await task((part, stage) => {
      last = { part, stage };
      if (performance.now() - start > QUIET_MS) show(last);
    });
  } finally {
    clearTimeout(timer);
    show(undefined);
  }
}
