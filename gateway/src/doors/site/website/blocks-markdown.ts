import { piecesOf, type Block, type Table } from "./blocks.ts";

/** The same blocks for agents. `link` makes whole addresses, because a text may be read far from its site. */
export const blocksMarkdown = (blocks: readonly Block[], link: (path: string) => string): string =>
  blocks.map((block) => `${blockMarkdown(block, link)}\n`).join("\n");

function blockMarkdown(block: Block, link: (path: string) => string): string {
  switch (block.kind) {
    case "heading":
      return `${"#".repeat(block.level)} ${inline(block.text, link)}`;
    case "text":
      return inline(block.text, link);
    case "note":
      return `> ${inline(block.text, link)}`;
    case "list":
      return block.items.map((item) => `- ${inline(item, link)}`).join("\n");
    case "code":
      return `${block.label}:\n\n\`\`\`${block.language}\n${block.code}\n\`\`\``;
    case "table":
      return tableMarkdown(block, link);
  }
}

function tableMarkdown({ caption, columns, rows }: Table, link: (path: string) => string): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const cell = (written: string): string =>
    inline(written, link).replaceAll("|", "\\|").replaceAll(/\s+/g, " ");
  return [
    `${inline(caption, link)}:\n`,
    line(columns),
    line(columns.map(() => "---")),
    ...rows.map((row) => line(row.map(cell))),
  ].join("\n");
}

const inline = (written: string, link: (path: string) => string): string =>
  piecesOf(written)
    .map(({ words, code, href }) => {
      if (code) return `\`${words}\``;
      return href === undefined ? words : `[${words}](${link(href)})`;
    })
    .join("");
