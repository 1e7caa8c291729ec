/** The few things of Node.js that tests use: the project itself runs in pages, where none of Node's names may look available. */

declare module "node:child_process" {
  export function execFileSync(file: string, args: readonly string[], options: { env: Record<string, string | undefined> }): Uint8Array;
}
declare module "node:fs" {
  export function existsSync(path: string): boolean;
  export function mkdtempSync(prefix: string): string;
  export function readdirSync(path: string, options: { recursive: true }): string[];
  export function readFileSync(path: string): Uint8Array;
  export function readFileSync(path: string, encoding: "utf-8"): string;
}
declare module "node:os" {
  export function tmpdir(): string;
}
declare module "node:path" {
  export function dirname(path: string): string;
  export function join(...parts: string[]): string;
  export function relative(from: string, to: string): string;
}
declare const process: { readonly env: Record<string, string | undefined> };
interface ImportMeta {
  readonly dirname: string;
}
