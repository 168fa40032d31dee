import { html } from "../../pages/html.ts";
import { blocksHtml } from "./blocks-html.ts";
import { blocksMarkdown } from "./blocks-markdown.ts";
import { heading, type Block } from "./blocks.ts";
import type { Material, Page } from "./page.ts";
import { categories, sentence, sorted } from "./price-tables.ts";

/** The list of all operations, for whoever reads without a script. */
export function operationsPage({ offer, link, twinLink }: Material): Page {
  const blocks = listOperations(sorted(offer));
  return {
    path: "/docs/operations",
    section: "docs",
    title: "Operations",
    description: "Every operation of this gateway, each with a page of its own.",
    markdown: blocksMarkdown(blocks, twinLink),
    main: html`<div class="page">
      <h1>Operations</h1>
      <p class="lead">
        Every operation has a page of its own: parameters, body, answers, price and limits. The
        <a href="${link("/docs")}">API reference</a> has the same with a form to try each.
      </p>
      ${blocksHtml(blocks, link)}
    </div>`,
  };
}

export function listOperations(offered: ReturnType<typeof sorted>): Block[] {
  return categories.flatMap((category): Block[] => {
    const items = offered
      .filter(({ operation }) => operation.category === category)
      .map(
        ({ operation: { id, title, summary } }) => `[${title}](/docs/operations/${id}): ${summary} \`${id}\``,
      );
    return items.length === 0 ? [] : [heading(sentence(category)), { kind: "list", items }];
  });
}
