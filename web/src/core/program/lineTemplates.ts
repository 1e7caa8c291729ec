/** Lines of the text that a program was read from, out of templates (`recording/store/line_templates.py` makes them). */

const NAME_MARK = "\u0001";
const TEXT_MARK = "\u0002";
const NAME = new RegExp(`${NAME_MARK}(\\d+)`, "g");
const TEXT = new RegExp(`${TEXT_MARK}(\\d+)`, "g");

/** The line of a template: its marks are places among the names of a node and its operands, and among its attributes that are texts. */
export function lineOf(template: string, names: readonly string[], texts: () => readonly string[]): string {
  const line = template.replace(NAME, (_, place: string) => names[Number(place)]);
  return line.includes(TEXT_MARK) ? line.replace(TEXT, (_, place: string) => texts()[Number(place)]) : line;
}
