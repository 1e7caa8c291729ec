/** No progress is shown for a wait shorter than this. */
const QUIET_MS = 300;

export interface Progress {
  readonly part: number;
  readonly stage: string;
}

export type Report = (part: number, stage: string) => void;

/** Runs a task and, if it takes longer than a moment, shows its progress until it ends. */
export async function patiently<T>(task: (report: Report) => Promise<T>, show: (progress: Progress | undefined) => void): Promise<T> {
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
