/** Attributes by name. */

/** Is `key` (lower case) the attribute's name, or the end of it after a dot? */
export function attributeNamed(name: string, key: string): boolean {
  const lower = name.toLowerCase();
  return lower === key || lower.endsWith(`.${key}`);
}
