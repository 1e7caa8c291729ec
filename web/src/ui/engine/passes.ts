/** The engine's recording: programs after passes, what passes did, and what became of nodes. */
import { once } from "../../core/base/memoized";
import { decodeDiff, sameDiff } from "../../core/program/recording/diff";
import { decodeProgram, decodeRecording } from "../../core/program/decode";
import { historyOf, type PassStep, resultsOf, sourcesOf } from "../../core/program/recording/history";
import { type Moment, markedProgram } from "../../core/program/recording/moment";
import type { Overlay } from "../../core/program/recording/mergedDiff";
import type { Code, PassDiff, PassRow, Reason, RecordingData } from "../../core/program/recording/types";
import type { ProgramData } from "../../core/program/types";
import { bytesOf } from "./bytes";
import { RemoteDetails } from "./details";
import type { SourceText } from "./kernelProtocol";
import type { WireAt } from "./protocol";

export type PassMode = Moment;

/** A program, and where to fetch its details if they did not come with it. */
export interface PassProgram {
  readonly program: ProgramData;
  readonly remote: RemoteDetails | undefined;
}

/** The text of a file that a node comes from, or why it is not there. */
export type SourceFile = (node: number, file: string) => Promise<SourceText>;

/** Where programs and diffs come from: the page itself, or the server. */
interface PassSource {
  readonly passes: readonly PassRow[];
  program(pass: number): Promise<PassProgram>;
  /** Undefined if the pass changed nothing: every node is itself. */
  diff(pass: number): Promise<PassDiff | undefined>;
  /** What the compiler noted about nodes. */
  reasons(): Promise<readonly Reason[]>;
  /** The code of a node's kernel, in the files of the dump. */
  codes(pass: number, node: string): Promise<readonly Code[]>;
  sourceFile(pass: number, node: number, file: string): Promise<SourceText>;
  /** Rows, as far as they are compared. */
  refresh?(peaks: boolean): Promise<readonly PassRow[]>;
}

/** The program of a recording that is shown. */
export interface PassShown {
  readonly pass: number;
  readonly mode: PassMode;
  readonly program: ProgramData;
  readonly remote: RemoteDetails | undefined;
  /** What happened to each node; undefined: unknown, or nothing happened. */
  readonly marks: Uint8Array | undefined;
  /** Those that the row of the pass counts. */
  readonly counted?: Uint8Array;
  /** How many nodes it changed. */
  readonly changed: number;
  readonly overlay: Overlay | undefined;
}

export interface Place {
  readonly pass: number;
  readonly nodes: readonly number[];
}

/** In all programs that are kept; the latest is kept whatever its size. */
const MOST_CACHED_NODES = 1_000_000;

export class Passes {
  /** By content, the least recently used first. */
  private readonly programs = new Map<number, { readonly nodes: number; readonly program: Promise<PassProgram> }>();
  private cachedNodes = 0;
  private readonly diffs = new Map<number, Promise<PassDiff>>();

  rows: readonly PassRow[];

  constructor(private readonly source: PassSource) {
    this.rows = source.passes;
  }

  /** A server that is still comparing passes has more rows every time. It computes `peaks` only for those who ask. */
  async refresh(peaks: boolean): Promise<readonly PassRow[]> {
    if (this.source.refresh) this.rows = await this.source.refresh(peaks);
    return this.rows;
  }

  /** What the compiler noted about nodes. */
  readonly reasons = once(() => this.source.reasons());

  /** The code of the kernel of a node of the program after a pass, in the files of the dump. */
  codes(pass: number, node: string): Promise<readonly Code[]> {
    return this.source.codes(pass, node);
  }

  /** The text of a file that a node of the program after a pass comes from. */
  sourceFile(pass: number, node: number, file: string): Promise<SourceText> {
    return this.source.sourceFile(pass, node, file);
  }

  valid(pass: number): number {
    return Math.max(0, Math.min(this.rows.length - 1, pass));
  }

  program(pass: number): Promise<PassProgram> {
    const { content, nodes } = this.rows[pass];
    let latest = this.programs.get(content);
    if (!latest) {
      latest = { nodes, program: this.source.program(pass) };
      this.cachedNodes += nodes;
    }
    this.programs.delete(content);
    this.programs.set(content, latest);
    for (const [oldest, cached] of this.programs) {
      if (this.cachedNodes <= MOST_CACHED_NODES || cached === latest) break;
      this.programs.delete(oldest);
      this.cachedNodes -= cached.nodes;
    }
    return latest.program;
  }

  /** What a pass did; undefined for the first of a module. */
  async diff(pass: number): Promise<PassDiff | undefined> {
    const row = this.rows[pass];
    if (row.before < 0) return undefined;
    if (this.rows[row.before].content === row.content) return sameDiff(row.nodes);
    const diff = this.diffs.get(pass) ?? this.source.diff(pass).then((answer) => answer ?? sameDiff(row.nodes));
    this.diffs.set(pass, diff);
    return diff;
  }

  async show(index: number, mode: PassMode): Promise<PassShown> {
    const pass = this.valid(index);
    const [now, diff] = await Promise.all([this.program(pass), this.diff(pass)]);
    const { before } = this.rows[pass];
    if (before < 0 || !diff)
      return { pass, mode, program: now.program, remote: now.remote, marks: undefined, changed: 0, overlay: undefined };
    const old = await this.program(before);
    if (mode === "overlay") await Promise.all([now.remote?.need(0, now.program.nodeCount), old.remote?.need(0, old.program.nodeCount)]);
    const shown = markedProgram(old.program, now.program, diff, mode);
    return {
      pass,
      mode,
      changed: diff.changed.length,
      overlay: undefined,
      ...shown,
      remote: mode === "overlay" ? undefined : mode === "before" ? old.remote : now.remote,
    };
  }

  /** A node of the shown program, as a node of the program after a pass. */
  placeOf(shown: PassShown, node: number): { pass: number; node: number } {
    const { before } = this.rows[shown.pass];
    if (shown.overlay) {
      const after = shown.overlay.after[node];
      return after >= 0 ? { pass: shown.pass, node: after } : { pass: before, node: shown.overlay.before[node] };
    }
    return { pass: shown.mode === "before" && before >= 0 ? before : shown.pass, node };
  }

  /** What nodes of the program after one pass are in the program after another pass of the same module. */
  async follow(from: Place, to: number): Promise<number[]> {
    let { nodes } = from;
    if (this.rows[from.pass].module !== this.rows[to].module) return [];
    for (let pass = from.pass; pass > to && nodes.length; pass = this.rows[pass].before) {
      const diff = await this.diff(pass);
      nodes = diff ? sourcesOf(diff, nodes) : [];
    }
    if (to > from.pass) for (const pass of this.between(from.pass, to)) nodes = resultsOf((await this.diff(pass))!, nodes);
    return [...nodes];
  }

  /** The counterpart in `was` of each node of `now`, or -1: what stays when another pass is shown. */
  async counterparts(was: PassShown, now: PassShown): Promise<Int32Array | undefined> {
    if (this.rows[was.pass].module !== this.rows[now.pass].module) return undefined;
    const from = this.snapshotOf(was),
      to = this.snapshotOf(now);
    let counterparts = Int32Array.from({ length: this.rows[to].nodes }, (_, node) => node);
    if (from < to) {
      for (const pass of this.between(from, to).reverse()) {
        const { counterpart } = (await this.diff(pass))!;
        counterparts = counterparts.map((node) => (node < 0 ? -1 : counterpart[node]));
      }
    } else {
      for (const pass of this.between(to, from)) {
        const { back } = (await this.diff(pass))!;
        counterparts = counterparts.map((node) => (node < 0 ? -1 : back[node]));
      }
    }
    if (was.overlay) {
      const number = new Int32Array(this.rows[from].nodes).fill(-1);
      was.overlay.after.forEach((node, i) => {
        if (node >= 0) number[node] = i;
      });
      counterparts = counterparts.map((node) => (node < 0 ? -1 : number[node]));
    }
    return now.overlay ? now.overlay.after.map((node) => (node < 0 ? -1 : counterparts[node])) : counterparts;
  }

  /** Everything that passes did to a node of the program after a pass. */
  async history(pass: number, node: number): Promise<readonly PassStep[]> {
    const walk = historyOf(this.rows, pass, node);
    let next = walk.next();
    while (!next.done) next = walk.next(await this.diff(next.value));
    return next.value;
  }

  /** The passes of the same module after one. */
  following(from: number): number[] {
    const module = this.rows[from]?.module;
    return this.rows.flatMap((row, pass) => (pass > from && row.module === module && row.before >= 0 ? [pass] : []));
  }

  private snapshotOf(shown: PassShown): number {
    const { before } = this.rows[shown.pass];
    return shown.mode === "before" && before >= 0 ? before : shown.pass;
  }

  /** Passes of a module after `from`, up to `to`. */
  private between(from: number, to: number): number[] {
    return this.following(from).filter((pass) => pass <= to);
  }
}

/** What was opened: the passes of a recording, or a single program. */
export type Opened = { readonly passes: Passes } | (PassProgram & { readonly sourceFile: SourceFile });

/** Fetches, unpacks and decodes what is at an address. */
export async function open(at: WireAt, progress: (part: number) => void): Promise<Opened> {
  if (at.kind === "recording") return { passes: new Passes(await remoteRecording(at.url)) };
  const bytes = await bytesOf(at, progress);
  const remote = at.kind === "url" && at.detailsUrl ? new RemoteDetails(at.detailsUrl) : undefined;
  const recording = decodeRecording(bytes, remote);
  if (recording.passes.length) return { passes: new Passes(embedded(recording)) };
  const url = at.kind === "url" ? at.sourceUrl : undefined;
  const sourceFile: SourceFile = async (node, file) =>
    url ? ((await (await fetch(`${url}?${sourceQuery(node, file)}`)).json()) as SourceText) : embeddedSource(recording, file);
  return { program: recording.program(0), remote, sourceFile };
}

const sourceQuery = (node: number, file: string): string => `node=${node}&file=${encodeURIComponent(file)}`;

function embeddedSource({ sources }: RecordingData, file: string): SourceText {
  return file in sources
    ? { text: sources[file] }
    : { problem: `${file} is not in this page; opscope export --source-files, or opscope.record(…, sources=True), puts it there` };
}

/** A recording that came with the page. */
function embedded(recording: RecordingData): PassSource {
  return {
    passes: recording.passes,
    program: (pass) => Promise.resolve({ program: recording.program(recording.passes[pass].content), remote: undefined }),
    diff: (pass) => Promise.resolve(recording.diff(pass)),
    reasons: () => Promise.resolve(recording.reasons),
    codes: (pass, node) =>
      Promise.resolve(recording.codes.filter((code) => code.node === node && code.module === recording.passes[pass].module)),
    sourceFile: (_, __, file) => Promise.resolve(embeddedSource(recording, file)),
  };
}

/** A recording on a server: everything is fetched when it is first needed. */
async function remoteRecording(address: string): Promise<PassSource> {
  const get = async (path: string): Promise<Response> => {
    const response = await fetch(`${address}/${path}`);
    if (response.status === 422) throw new Error(await response.text());
    if (!response.ok) throw new Error("the server no longer answers; start `opscope view` again");
    return response;
  };
  const bytes = async (path: string): Promise<Uint8Array> => new Uint8Array(await (await get(path)).arrayBuffer());
  const refresh = async (peaks: boolean): Promise<readonly PassRow[]> =>
    ((await (await get(peaks ? "peaks" : "passes")).json()) as { passes: PassRow[] }).passes;
  return {
    passes: await refresh(false),
    refresh,
    program: async (pass) => {
      const remote = new RemoteDetails(`${address}/details/${pass}`);
      return { program: decodeProgram(await bytes(`wire/${pass}`), remote), remote };
    },
    diff: async (pass) => {
      const answer = await bytes(`diff/${pass}`);
      return answer.length ? decodeDiff(answer) : undefined;
    },
    reasons: async () => (await (await get("reasons")).json()) as Reason[],
    codes: async (pass, node) => (await (await get(`code/${pass}?node=${encodeURIComponent(node)}`)).json()) as Code[],
    sourceFile: async (pass, node, file) => (await (await get(`source/${pass}?${sourceQuery(node, file)}`)).json()) as SourceText,
  };
}
