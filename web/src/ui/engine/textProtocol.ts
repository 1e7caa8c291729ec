/** What the page asks about the text of a program. */
import type { ListedWord } from "../../core/listing/listed";
import type { RowKind } from "../../core/listing/sideBySide";
import type { NodeName } from "./protocol";

/** A node's line. */
export interface SideText {
  readonly node: Pick<NodeName, "node" | "id" | "graph">;
  readonly words: readonly ListedWord[];
}

export type TextRowShown =
  | { readonly kind: "heading"; readonly name: string; readonly rows: number; readonly open: boolean }
  | { readonly kind: "fold"; readonly rows: number }
  | { readonly kind: RowKind; readonly row: number; readonly before?: SideText; readonly after?: SideText };

export interface TextSummary {
  /** Before and after are next to each other. */
  readonly sides: boolean;
  readonly lines: number;
}

/** Where something is in the text: a line, or -1, and how many there are now that it is not hidden. */
export interface TextPlace extends TextSummary {
  readonly line: number;
  readonly row: number;
}

export interface FoundRows {
  readonly rows: Int32Array;
  /** Where to go on; -1: all rows were looked at. */
  readonly next: number;
}

export interface TextMethods {
  /** Writes the program that is shown, or with `sides` what its pass did; the other questions are about it. */
  text(params: { readonly sides: boolean }): TextSummary;
  textRows(params: { readonly from: number; readonly to: number }): readonly TextRowShown[];
  /** Opens or closes the graph of a heading, or opens a fold. */
  textToggle(params: { readonly line: number }): TextSummary;
  /** Where a node of the shown program is, after opening what hides it. */
  textLine(params: { readonly node: number }): TextPlace;
  /** Where a row is, after opening what hides it. */
  textRow(params: { readonly row: number }): TextPlace;
  /** Of some rows from one on, those that contain a text, in any case. */
  textFind(params: { readonly text: string; readonly from: number }): FoundRows;
}
