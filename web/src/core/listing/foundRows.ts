/** Looking for a text in the lines of a program, or of both sides of a pass. */
import type { ProgramData } from "../program/types";
import { nodeLine } from "./nodeLine";
import type { TextRow } from "./sideBySide";

/** Of some rows, those with a text in one of their lines, in any case. */
export function foundRows(
  text: string,
  rows: { readonly from: number; readonly to: number; readonly at: (row: number) => TextRow },
  after: ProgramData,
  before?: ProgramData,
): Int32Array {
  const wanted = text.toLowerCase();
  const has = (program: ProgramData | undefined, node: number): boolean =>
    program !== undefined && node >= 0 && nodeLine(program, node).toLowerCase().includes(wanted);
  const found: number[] = [];
  for (let row = rows.from; row < rows.to; row++) {
    const at = rows.at(row);
    if (has(after, at.after) || has(before, at.before)) found.push(row);
  }
  return Int32Array.from(found);
}
