/** The requests of a page to the server that it came from: send files, open what the server offers. */

export interface ServerSettings {
  /** The server's address, as seen from the page. */
  readonly base: string;
  /** The server's number of the page. */
  readonly page: number;
  /** The largest file that the server takes. */
  readonly mostBytes: number;
}

/** What a page can name. The server refuses anything else. */
export type FileSource =
  | { readonly upload: number }
  | { readonly directory: number; readonly path: string }
  | { readonly recent: string }
  | { readonly example: string };

export interface ListedEntry {
  readonly name: string;
  /** A dump is a directory that can be opened as a whole. */
  readonly kind: "directory" | "dump" | "file";
  readonly bytes: number;
  /** Seconds since 1970. */
  readonly modified: number;
}

export interface Listing {
  readonly entries: readonly ListedEntry[];
  readonly left_out: number;
}

/** The page of what was opened, or what is wrong with each source (empty: nothing). */
export type Opened = { readonly page: string } | { readonly problems: readonly string[] };

export class FileServer {
  private readonly address: URL;

  constructor(private readonly settings: ServerSettings) {
    this.address = new URL(settings.base || ".", location.href);
  }

  /** The page with everything that can be opened. */
  get home(): string {
    return this.url("home");
  }

  get mostBytes(): number {
    return this.settings.mostBytes;
  }

  async upload(file: File): Promise<FileSource> {
    return (await this.ask(`upload?name=${encodeURIComponent(file.name)}`, "POST", file)) as { upload: number };
  }

  async open(sources: readonly FileSource[]): Promise<Opened> {
    return this.opened(await this.ask("open", "POST", JSON.stringify({ sources })));
  }

  /** Compares two sources, or a program of this page (of a recording: after a pass) with one. */
  async compare(sources: readonly FileSource[], shown?: { readonly program: number; readonly pass?: number }): Promise<Opened> {
    const body = { sources, ...(shown ? { shown: { page: this.settings.page, ...shown } } : {}) };
    return this.opened(await this.ask("compare", "POST", JSON.stringify(body)));
  }

  async list(directory: number, path: string): Promise<Listing> {
    return (await this.ask(`browse?directory=${directory}&path=${encodeURIComponent(path)}`, "GET")) as Listing;
  }

  async forgetRecent(): Promise<void> {
    await this.ask("recent", "DELETE");
  }

  private opened(answer: unknown): Opened {
    const opened = answer as Opened;
    return "page" in opened ? { page: this.url(opened.page) } : opened;
  }

  private url(path: string): string {
    return new URL(path, this.address).href;
  }

  /** The answer as JSON. Refusals are errors with the server's sentence; those about single sources are part of the answer. */
  private async ask(path: string, method: string, body?: BodyInit): Promise<unknown> {
    const response = await fetch(this.url(path), { method, ...(body === undefined ? {} : { body }) }).catch(() => {
      throw new Error("The server does not answer; if it was stopped, run `opscope view` again");
    });
    if (response.headers.get("Content-Type")?.startsWith("application/json")) return response.json();
    throw new Error((await response.text()) || `the server answered ${response.status}`);
  }
}
