/** Nodes as Markdown, for an issue or a chat: one line each, with types and inputs; everything shown if nothing is selected. */
import type { Visible } from "../../core/program/types";
import type { ProgramIndex } from "../../core/program/programIndex";

const MOST_LINES = 400;

export function markdownOf(index: ProgramIndex, visible: Visible, nodes: readonly number[]): string {
  const chosen = nodes.length ? [...nodes] : [...new Set(visible.node)].filter((node) => node >= 0).slice(0, MOST_LINES + 1);
  const { program } = index;
  const lines = chosen.slice(0, MOST_LINES).map((node) => {
    const { start, value } = program.inputs;
    const operands = Array.from(value.subarray(start[node], Math.min(start[node + 1], start[node] + 12)), (from) => index.id(from));
    if (start[node + 1] - start[node] > 12) operands.push("…");
    return `| ${code(index.id(node))} | ${code(index.op(node))} | ${code(index.typeText(node))} | ${operands.map(code).join(", ")} |`;
  });
  const head = [`**${plain(program.name)}**`, "", "| id | op | type | inputs |", "|---|---|---|---|"];
  if (chosen.length > MOST_LINES) lines.push(`| … | | | |`);
  return [...head, ...lines, ""].join("\n");
}

function code(text: string): string {
  return text ? `\`${text.replaceAll("`", "'").replaceAll("|", "\\|").replaceAll("\n", " ")}\`` : "";
}

function plain(text: string): string {
  return text.replace(/[\\`*_{}[\]<>|#]/g, (sign) => `\\${sign}`);
}
