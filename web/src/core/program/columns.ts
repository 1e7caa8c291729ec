/** Columns over nodes. Every producer of a program uses this table, so that a new column is added in one place. */
import type { Csr, Csr2, ProgramData } from "./types";

/** What the numbers of each column are: string numbers, numbers of operations, plain numbers, or numbers below 256. */
const NODE_COLUMNS = {
  nodeId: "text",
  nodeOp: "op",
  nodeText: "text",
  nodePlace: "number",
  nodeRole: "octet",
  nodeCategory: "octet",
} as const satisfies { readonly [name in keyof ProgramData]?: "text" | "op" | "number" | "octet" };

export type NodeColumns = Pick<ProgramData, keyof typeof NODE_COLUMNS>;
type Kind = (typeof NODE_COLUMNS)[keyof NodeColumns];

/** All columns, each created by its name. */
export function nodeColumns(make: (name: keyof NodeColumns, kind: Kind) => Int32Array | Uint8Array): NodeColumns {
  const names = Object.keys(NODE_COLUMNS) as (keyof NodeColumns)[];
  return Object.fromEntries(names.map((name) => [name, make(name, NODE_COLUMNS[name])])) as unknown as NodeColumns;
}

/** One column of numbers, in the array type of its kind. */
export function filledColumn(kind: Kind, length: number, at: (index: number) => number): Int32Array | Uint8Array {
  const column = kind === "octet" ? new Uint8Array(length) : new Int32Array(length);
  for (let i = 0; i < length; i++) column[i] = at(i);
  return column;
}

/** Rows of tables over nodes: those of one program. */
export interface Selection {
  readonly rows: Int32Array;
  /** All rows in order, as in a single program: its tables are used unchanged. */
  readonly isAll: boolean;
}

export function selection(rows: Int32Array, count: number): Selection {
  let isAll = rows.length === count;
  for (let i = 0; isAll && i < count; i++) isAll = rows[i] === i;
  return { rows, isAll };
}

/** The selected numbers of one column. */
export function pickedNumbers(column: Int32Array, { rows, isAll }: Selection): Int32Array {
  return isAll ? column : (filledColumn("number", rows.length, (i) => column[rows[i]]) as Int32Array);
}

/** The selected rows, as new columns. */
export function pickedColumns(table: NodeColumns, { rows, isAll }: Selection): NodeColumns {
  if (isAll) return table;
  return nodeColumns((name, kind) => filledColumn(kind, rows.length, (i) => table[name][rows[i]]));
}

/** The selected rows, as a new table whose values may be overwritten. */
export function pickedRows<Rows extends Csr | Csr2>(table: Rows, { rows, isAll }: Selection): Rows {
  if (isAll) return { ...table, value: table.value.slice() };
  const start = new Int32Array(rows.length + 1);
  for (let i = 0; i < rows.length; i++) start[i + 1] = start[i] + table.start[rows[i] + 1] - table.start[rows[i]];
  const value = new Int32Array(start[rows.length]);
  const extra = "extra" in table ? new Int32Array(value.length) : undefined;
  for (let i = 0; i < rows.length; i++) {
    for (let from = table.start[rows[i]], to = start[i]; to < start[i + 1]; from++, to++) {
      value[to] = table.value[from];
      if (extra) extra[to] = (table as Csr2).extra[from];
    }
  }
  return (extra ? { start, value, extra } : { start, value }) as Rows;
}
