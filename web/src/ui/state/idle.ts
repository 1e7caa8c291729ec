/** Knows when nothing is running; tests and scripts wait for that instead of sleeping. */
export class Idle {
  private count = 0;
  private waiting: (() => void)[] = [];

  change(by: 1 | -1): void {
    this.count += by;
    if (this.count === 0) this.settle();
  }

  /** Counts a task from its start to its end. */
  async during<T>(task: Promise<T>): Promise<T> {
    this.change(1);
    try {
      return await task;
    } finally {
      this.change(-1);
    }
  }

  /** Ends the browser's current task, so that the page answers between two steps that each take a while; it is not idle in between. */
  breath(): Promise<void> {
    return this.during(new Promise((resolve) => setTimeout(resolve)));
  }

  get isIdle(): boolean {
    return this.count === 0;
  }

  whenIdle(): Promise<void> {
    return new Promise((resolve) => {
      this.waiting.push(resolve);
      this.settle();
    });
  }

  /** Idle means still idle after the task that just finished has had a chance to start another. */
  private settle(): void {
    setTimeout(() =>
      setTimeout(() => {
        if (this.count !== 0) return;
        const done = this.waiting;
        this.waiting = [];
        for (const resolve of done) resolve();
      }, 20),
    );
  }
}
