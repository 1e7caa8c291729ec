/** What a drop contains. A page cannot send a directory, so it has to say what to do with one. */

import { bytesText } from "../../core/text/quantities";

export interface Dropped {
  readonly files: readonly File[];
  readonly directories: readonly string[];
}

export function droppedOn(transfer: DataTransfer | null): Dropped {
  const files: File[] = [];
  const directories: string[] = [];
  for (const item of transfer?.items ?? []) {
    const entry = item.kind === "file" ? item.webkitGetAsEntry() : null;
    const file = item.kind === "file" ? item.getAsFile() : null;
    if (entry?.isDirectory) directories.push(entry.name);
    else if (file) files.push(file);
  }
  return { files, directories };
}

/** Does a drag carry files? A selected text can be dragged too. */
export function carriesFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes("Files") ?? false;
}

/** The command that opens files, as a shell takes it. */
export function viewCommand(names: readonly string[]): string {
  return `opscope view ${names.map(quoted).join(" ")}`;
}

export function directorySentence(name: string): string {
  return `${name} is a directory, which a page cannot send; run: ${viewCommand([name])}`;
}

export function tooLarge(file: File, mostBytes: number): string {
  return `${file.name} has ${bytesText(file.size)}, and a page can send ${bytesText(mostBytes)}; run: ${viewCommand([file.name])}`;
}

function quoted(name: string): string {
  return /^[\w.,@%+=:-]+$/.test(name) && !name.startsWith("-") ? name : `'${name.replaceAll("'", "'\\''")}'`;
}
