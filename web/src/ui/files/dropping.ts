/** Files that are dropped onto the viewer: style rules and node data apply to what is shown, anything else is opened. */
import { isNodeData } from "../../core/highlight/nodeData";
import { areRules } from "../../core/highlight/rules";
import type { Session } from "../session";
import { directorySentence, droppedOn, tooLarge, viewCommand } from "./dropped";
import type { FileServer, FileSource, Opened } from "./fileServer";

/** A file of style rules or node data is smaller than this. */
const MOST_STYLING_BYTES = 64_000_000;

export class Dropping {
  /** What could not be opened, and why. */
  problems: readonly string[] = [];

  constructor(private readonly session: Session) {}

  take(transfer: DataTransfer | null): void {
    // A drop can be read only now; what it contains, also later.
    const { files, directories } = droppedOn(transfer);
    this.report(directories.map(directorySentence));
    void this.session.idle.during(this.takeFiles(files));
  }

  /** Compares what is shown with a file. */
  compareWith(file: File): void {
    const { session } = this;
    const { files: server } = session.options;
    if (!server) {
      this.report([`This page cannot read ${file.name}; to compare two files, run: opscope view A B --diff`]);
      return;
    }
    const shown = { program: session.view.source, ...(session.timeline.exists ? { pass: session.timeline.pass } : {}) };
    session.say(`Comparing with ${file.name}…`);
    void session.idle.during(this.follow(sent(server, [file], (sources) => server.compare(sources, shown))));
  }

  dismiss(): void {
    this.report([]);
  }

  private async takeFiles(files: readonly File[]): Promise<void> {
    const programs: File[] = [];
    for (const file of files) {
      const text = file.size <= MOST_STYLING_BYTES ? await file.text().catch(() => "") : "";
      if (isStyling(text)) await this.session.styling.take(file.name, text);
      else programs.push(file);
    }
    if (!programs.length) return;
    const names = programs.map((file) => file.name);
    const server = this.session.options.files;
    if (!server) return this.report([...this.problems, `This page cannot read ${names.join(", ")}; run: ${viewCommand(names)}`]);
    this.session.say(`Opening ${names.join(", ")}…`);
    await this.follow(sent(server, programs, (sources) => server.open(sources)));
  }

  /** Goes to the page of what was opened, or reports why there is none. */
  private async follow(answer: Promise<Opened>): Promise<void> {
    const opened = await answer;
    if ("page" in opened) location.assign(opened.page);
    else this.report([...this.problems, ...opened.problems.filter(Boolean)]);
  }

  private report(problems: readonly string[]): void {
    this.problems = problems;
    this.session.changed();
  }
}

/** Sends files, then asks for what is to be done with them. */
async function sent(server: FileServer, files: readonly File[], ask: (sources: readonly FileSource[]) => Promise<Opened>): Promise<Opened> {
  const large = files.filter((file) => file.size > server.mostBytes);
  if (large.length) return { problems: large.map((file) => tooLarge(file, server.mostBytes)) };
  try {
    return await ask(await Promise.all(files.map((file) => server.upload(file))));
  } catch (error) {
    return { problems: [error instanceof Error ? error.message : String(error)] };
  }
}

/** Is a text a file of style rules or node data, however wrong its entries are? */
function isStyling(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    const parsed: unknown = JSON.parse(text);
    return areRules(parsed) || isNodeData(parsed);
  } catch {
    return false;
  }
}
