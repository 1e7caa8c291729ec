/** An event and its listeners. */
export class Signal {
  private readonly listeners = new Set<() => void>();

  emit(): void {
    for (const listener of [...this.listeners]) listener();
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
