/** Lines of the text that a program was read from, out of templates (`recording/store/line_templates.py` makes them). */

const NAME_MARK = "\u0001";
const TEXT_MARK = "\u0002";
const MARK = new RegExp(`[${NAME_MARK}${TEXT_MARK}]\\d+`, "g");

/** A template that many lines are made of: its texts, and between each two of them a place among names or among texts. */
export interface LineTemplate {
  readonly texts: readonly string[];
  /** Of a name from 0 on, of a text from -1 down. */
  readonly places: Int32Array;
}

/** Marks are places among the names of a node and its operands, and among its attributes that are texts. */
export function lineTemplate(template: string): LineTemplate {
  const marks = template.match(MARK) ?? [];
  const places = Int32Array.from(marks, (mark) => (mark.startsWith(NAME_MARK) ? Number(mark.slice(1)) : -1 - Number(mark.slice(1))));
  return { texts: template.split(MARK), places };
}

type At = (place: number) => string | undefined;

export function lineOf({ texts, places }: LineTemplate, name: At, text: At): string {
  let line = texts[0];
  for (let i = 0; i < places.length; i++) line += (places[i] >= 0 ? name(places[i]) : text(-1 - places[i])) + texts[i + 1];
  return line;
}
