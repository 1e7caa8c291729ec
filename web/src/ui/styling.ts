/** Style rules and node data of one viewer: what the person wrote, loaded or dropped; rules are stored between visits where the browser allows it. */
import type { DataStatistics } from "../core/highlight/nodeData";
import { DATA } from "../core/highlight/highlighter";
import { readRules, type StyleRule } from "../core/highlight/rules";
import { countText } from "../core/text/quantities";
import type { DataFile } from "./engine/protocol";
import type { Session } from "./session";
import { colourBy, colourOf } from "./state/view";

const PLACE = "opscope.styles";
const TYPING_MS = 120;

export class Styling {
  rules: readonly StyleRule[];
  /** Statistics of the runs that are loaded. */
  runs: readonly DataStatistics[] = [];
  readonly files: DataFile[];

  constructor(
    private readonly session: Session,
    initial: unknown,
    files: readonly DataFile[] = [],
  ) {
    this.files = [...files];
    try {
      this.rules = initial === undefined ? remembered() : readRules(initial);
    } catch (error) {
      this.rules = [];
      session.say(error instanceof Error ? error.message : String(error));
    }
  }

  setRules(rules: readonly StyleRule[]): void {
    this.rules = rules;
    remember(rules);
    this.session.changed();
    void this.session.idle.during(this.redrawSoon(rules));
  }

  /** Redraws once after a burst of typing. */
  private async redrawSoon(rules: readonly StyleRule[]): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, TYPING_MS));
    if (this.rules === rules) this.session.redraw();
  }

  /** Takes a file of style rules or of node data, whichever it is. */
  async take(name: string, text: string): Promise<void> {
    try {
      const parsed = parse(name, text);
      if (Array.isArray(parsed)) {
        this.setRules(readRules(parsed));
        this.session.say(`${parsed.length} style ${parsed.length === 1 ? "rule" : "rules"} from ${name}`);
      } else await this.addData({ name, text });
    } catch (error) {
      this.session.say(error instanceof Error ? error.message : String(error));
    }
  }

  /** A program was loaded: match the data with it. */
  async loaded(): Promise<void> {
    this.runs = [];
    for (const file of this.files) {
      try {
        this.merge(await this.session.ask("nodeData", file));
      } catch (error) {
        this.session.say(error instanceof Error ? error.message : String(error));
      }
    }
  }

  private async addData(file: DataFile): Promise<void> {
    const fresh = await this.session.ask("nodeData", file);
    this.files.push(file);
    this.merge(fresh);
    const [first] = fresh;
    if (!first) return;
    const rest = first.unmatched ? `; ${countText(first.unmatched)} entries match no node of this program` : "";
    this.session.say(`${first.name}: values for ${countText(first.nodes)} nodes${rest}`);
    const colour = `${DATA}${first.name}`;
    if (colourOf(this.session.view) === colour) this.session.redraw();
    else this.session.change(colourBy(this.session.view, colour), { keepCamera: true });
  }

  private merge(fresh: readonly DataStatistics[]): void {
    const names = new Set(fresh.map((run) => run.name));
    this.runs = [...this.runs.filter((run) => !names.has(run.name)), ...fresh];
    this.session.changed();
  }
}

function parse(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${name} is not a style or node-data file (JSON). To view it: opscope view ${name}`);
  }
}

/** Pages in frames and from files may have no storage; their rules last as long as the page. */
function remembered(): readonly StyleRule[] {
  try {
    return readRules(JSON.parse(localStorage.getItem(PLACE) ?? "[]"));
  } catch {
    return [];
  }
}

function remember(rules: readonly StyleRule[]): void {
  try {
    localStorage.setItem(PLACE, JSON.stringify(rules));
  } catch {
    // The rules still apply to this page.
  }
}
