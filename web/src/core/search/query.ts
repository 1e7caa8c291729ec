/**
 * Queries as people type them.
 *
 *     softmax                     anywhere: id, op, type, scope, value
 *     "layer norm"                with a space in it
 *     /fusion\.\d+$/              a regular expression
 *     op:dot shape:1024           fields; several terms must all hold
 *     scope:/layer_[0-3]\b/       a field with a regular expression
 *     op:=add                     exactly this
 *     attr.backend_config:cublas  an attribute by its name (or the end of it) and a part of its value; attr.sharding: has the attribute
 *     -role:constant              not this
 */

import { readExpression } from "../base/expression";
import { nearest } from "./nearest";

const FIELDS = ["id", "op", "shape", "type", "scope", "role", "category", "graph", "text", "source"] as const;
export type Field = (typeof FIELDS)[number] | "any" | "attr";

export interface Term {
  readonly field: Field;
  /** Name of the attribute if the field is `attr`. */
  readonly key: string;
  readonly negated: boolean;
  /** Tests lower-case text, or, for regular expressions, the text as it is. */
  readonly test: (text: string) => boolean;
  readonly lowerCase: boolean;
}

export interface Query {
  readonly terms: readonly Term[];
  /** What is wrong with the query, for the person; there are no terms then. */
  readonly problem?: string;
  /** Why it may match nothing: it has a field that does not exist, so "shpe:1024" was taken as text. */
  readonly doubt?: string;
}

const ALIASES: Record<string, Field> = {
  name: "id",
  group: "scope",
  module: "scope",
  dtype: "type",
  value: "text",
  file: "source",
  line: "source",
};
const TOKEN = /(-?)(?:([A-Za-z][\w.-]*):)?(?:\/((?:[^/\\]|\\.)*)(\/([gimsuy]*))?(?=\s|$)|"([^"]*)"?|(\S*))/y;

export function compileQuery(text: string): Query {
  const terms: Term[] = [];
  let doubt: string | undefined;
  let at = 0;
  while (at < text.length) {
    if (/\s/.test(text[at])) {
      at++;
      continue;
    }
    TOKEN.lastIndex = at;
    const token = TOKEN.exec(text);
    if (!token || token[0] === "") break;
    at = TOKEN.lastIndex;
    const [whole, minus, name, pattern, closed, flags, quoted, bare] = token;
    const { field, key, exists } = readField(name);
    if (!exists) doubt ??= unknownField(name);
    const negated = minus === "-" && whole.length > 1;
    if (exists && pattern !== undefined && (closed !== undefined || pattern !== "")) {
      const test = regularTest(pattern, flags ?? "");
      if (typeof test === "string") return { terms: [], problem: test };
      terms.push({ field, key, negated, test, lowerCase: false });
      continue;
    }
    const plain = exists ? (quoted ?? bare ?? "") : whole.slice(minus.length);
    if (plain === "" && field !== "attr") continue;
    terms.push({ field, key, negated, test: plainTest(field, plain.toLowerCase()), lowerCase: true });
  }
  return doubt ? { terms, doubt } : { terms };
}

function unknownField(name: string): string {
  const meant = nearest(name.toLowerCase(), [...FIELDS, ...Object.keys(ALIASES)]);
  const fields = `fields are ${FIELDS.join(", ")} and attr.NAME`;
  return `There is no field "${name}"; ${meant ? `did you mean ${meant}:?` : fields}`;
}

function readField(name: string | undefined): { field: Field; key: string; exists: boolean } {
  if (name === undefined) return { field: "any", key: "", exists: true };
  const lower = name.toLowerCase();
  if (lower.startsWith("attr.")) return { field: "attr", key: lower.slice(5), exists: true };
  const field = ALIASES[lower] ?? FIELDS.find((one) => one === lower);
  return field ? { field, key: "", exists: true } : { field: "any", key: "", exists: false };
}

function regularTest(pattern: string, flags: string): ((text: string) => boolean) | string {
  const insensitive = flags.includes("i") ? "i" : "";
  let reason = "";
  for (const each of [`${insensitive}u`, insensitive])
    try {
      const expression = readExpression(pattern, each);
      return (text) => expression.test(text);
    } catch (error) {
      reason = error instanceof Error ? error.message.replace(/^Invalid regular expression:\s*/, "").replace(/^\/.*\/[a-z]*:\s*/, "") : "";
    }
  return `Invalid regular expression${reason ? `: ${reason}` : ""}`;
}

/** "f32[2,32]" or "f32[2, 32]{1,0}", or the beginning of one: HLO writes types without spaces and with a layout. */
const TYPE_LIKE = /^=?\w+\[[\d\s,<=?*]*(?:\]?$|\](?:\{[^}]*\}?)$)/;

function plainTest(field: Field, plain: string): (text: string) => boolean {
  if ((field === "any" || field === "type" || field === "shape") && TYPE_LIKE.test(plain)) {
    const exact = plain.startsWith("=");
    const type = plain.slice(exact ? 1 : 0).replace(/\s+|\{.*$/g, "");
    return (text) => {
      const close = text.replace(/,\s+/g, ",");
      return exact ? close === type : close.includes(type);
    };
  }
  if (plain.startsWith("=") && plain.length > 1) {
    const exact = plain.slice(1);
    return (text) => text === exact;
  }
  if (field === "shape") {
    const dimensions = plain.replace(/[\s[\]]/g, "").split(/[,x×]/);
    if (dimensions.every((size) => /^\d+$/.test(size))) {
      const inside = new RegExp(`(?:^|[^\\d.])${dimensions.join(", ?")}(?!\\d)`);
      return (text) => inside.test(text.slice(text.indexOf("[")));
    }
  }
  return (text) => text.includes(plain);
}
