/** What is chosen on the home page, and opening it. */
import { Idle } from "../state/idle";
import { Signal } from "../state/signal";
import { directorySentence, type Dropped, tooLarge } from "./dropped";
import type { FileServer, FileSource } from "./fileServer";

export interface Choice {
  /** Two choices with the same key are the same file. */
  readonly key: string;
  readonly name: string;
  /** A file that was not sent has none. */
  readonly source: FileSource | undefined;
  /** Why it cannot be opened. */
  readonly problem?: string;
}

export class Chooser {
  selected: readonly Choice[] = [];
  /** What it waits for. */
  progress: string | undefined;
  readonly idle = new Idle();
  readonly onChange = new Signal();
  private sent = 0;

  constructor(readonly server: FileServer) {}

  /** The choices that can be opened. */
  get ready(): readonly Choice[] {
    return this.selected.filter((choice) => choice.source && !choice.problem);
  }

  has(key: string): boolean {
    return this.selected.some((choice) => choice.key === key);
  }

  toggle(choice: Choice): void {
    this.select(this.has(choice.key) ? this.selected.filter(({ key }) => key !== choice.key) : [...this.selected, choice]);
  }

  clear(): void {
    this.select([]);
  }

  /** Takes files of this computer. They are opened at once, unless one has a problem or others are selected. */
  take({ files, directories }: Dropped): Promise<void> {
    return this.idle.during(this.send(files, directories));
  }

  /** Opens choices on one page. */
  open(choices: readonly Choice[]): Promise<void> {
    return this.idle.during(this.request(choices));
  }

  /** Shows how two choices differ. */
  compare(choices: readonly Choice[]): Promise<void> {
    return this.idle.during(this.request(choices, (sources) => this.server.compare(sources)));
  }

  private async send(files: readonly File[], directories: readonly string[]): Promise<void> {
    const others = this.ready;
    const refused = directories.map((name) => this.refusal(name, directorySentence(name)));
    const sent: Choice[] = [];
    for (const file of files) {
      this.wait(`Sending ${file.name}…`);
      sent.push(await this.choiceOf(file));
    }
    this.wait(undefined);
    this.select([...others, ...refused, ...sent]);
    if (!others.length && !refused.length && sent.length && sent.every((choice) => !choice.problem)) await this.request(sent);
  }

  private async choiceOf(file: File): Promise<Choice> {
    if (file.size > this.server.mostBytes) return this.refusal(file.name, tooLarge(file, this.server.mostBytes));
    try {
      return { key: this.nextKey(), name: file.name, source: await this.server.upload(file) };
    } catch (error) {
      return this.refusal(file.name, message(error));
    }
  }

  private async request(choices: readonly Choice[], ask = (sources: readonly FileSource[]) => this.server.open(sources)): Promise<void> {
    const named = choices.flatMap(({ source }) => (source ? [source] : []));
    this.wait(`Reading ${choices.map(({ name }) => name).join(", ")}…`);
    try {
      const opened = await ask(named);
      if ("page" in opened) return location.assign(opened.page);
      const judged = choices.map((choice, i) => (opened.problems[i] ? { ...choice, problem: opened.problems[i] } : choice));
      const keys = new Set(choices.map(({ key }) => key));
      this.select([...this.selected.filter(({ key, problem }) => !keys.has(key) && !problem), ...judged]);
    } catch (error) {
      this.select([...this.selected, this.refusal("opscope", message(error))]);
    }
    this.wait(undefined);
  }

  private refusal(name: string, problem: string): Choice {
    return { key: this.nextKey(), name, source: undefined, problem };
  }

  private nextKey(): string {
    return `sent ${this.sent++}`;
  }

  private select(selected: readonly Choice[]): void {
    this.selected = selected;
    this.onChange.emit();
  }

  private wait(progress: string | undefined): void {
    this.progress = progress;
    this.onChange.emit();
  }
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
