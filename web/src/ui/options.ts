/** What a host gives a viewer. */
import type { StyleRule } from "../core/highlight/rules";
import type { StartEngine } from "./engine/client";
import type { DataFile, WireAt } from "./engine/protocol";
import type { FileServer } from "./files/fileServer";
import type { PageWriter } from "./files/saveHtml";
import type { DockPanel } from "./state/panels";
import type { ThemeChoice } from "./state/scheme";
import type { ViewState } from "./state/view";

export interface SourceEntry {
  readonly name: string;
  readonly at: WireAt;
  /** Where the memory of the program is, or of that after a pass; undefined: the host does not have it. */
  readonly memory?: (pass: number) => WireAt | undefined;
}

/** Rules that come with opscope, and the words on the button that applies them. */
export interface PredefinedStyle {
  readonly title: string;
  readonly rules: readonly StyleRule[];
}

export interface SessionOptions {
  readonly sources: readonly SourceEntry[];
  readonly start: StartEngine;
  readonly initial?: Partial<ViewState>;
  readonly theme?: ThemeChoice;
  /** Keep the state in the page's address. */
  readonly url?: boolean;
  /** Initial style rules (by default those of the last visit), those to choose from, and files of node data. */
  readonly styles?: unknown;
  readonly predefinedStyles: readonly PredefinedStyle[];
  readonly nodeData?: readonly DataFile[];
  /** Writes the page as a file. */
  readonly writePage?: PageWriter;
  /** The server that opens other files; a page from a file has none. */
  readonly files?: FileServer;
  /** Start with the side panels hidden (a notebook cell is small). */
  readonly compact?: boolean;
  /** Start with the outline. */
  readonly hasOutline?: boolean;
  /** It is a part of a longer page (a notebook), which the wheel scrolls. */
  readonly inlined?: boolean;
  /** Start with this panel open below the graph. */
  readonly dock?: DockPanel;
  /** Start with the table open, showing these rows. */
  readonly table?: "nodes" | "modules";
}
