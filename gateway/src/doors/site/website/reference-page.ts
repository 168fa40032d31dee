import { html } from "../../pages/html.ts";
import { blocksHtml } from "./blocks-html.ts";
import { listOperations } from "./operations-page.ts";
import type { Material, Page } from "./page.ts";
import { priceWords, sorted } from "./price-tables.ts";

/** The interactive reference: Scalar, from here, over the contract of this very offer. */
export function referencePage(material: Material, contentHash: string, markdown: string): Page {
  const { offer, assets, link, apiApart } = material;
  const contract = link(`/api/contracts/source?hash=${contentHash}&bundled=1`);
  return {
    path: "/docs",
    section: "docs",
    bare: true,
    title: "API reference",
    description:
      "Every operation with its parameters, answers and errors, and a form to try it against this gateway.",
    markdown,
    head: html`<link rel="preload" as="fetch" crossorigin href="${contract}" />
      <script src="${link(assets.scalar.path)}" defer></script>
      <script src="${link(assets.reference.path)}" type="module"></script> `,
    main: html`<h1 class="unseen">API reference</h1>
      <div
        id="reference"
        data-contract="${contract}"
        ${apiApart === undefined ? "" : html`data-api="${apiApart}"`}
        data-prices="${JSON.stringify(pricesByOperation(material))}"
      >
        <p class="loading">Loading the reference…</p>
      </div>
      <noscript
        ><div class="page">
          <p class="lead">
            Trying calls here needs JavaScript. Everything there is to read is on these pages too:
          </p>
          ${blocksHtml(listOperations(sorted(offer)), link)}
        </div></noscript
      >`,
  };
}

/** Scalar shows no extensions, and the price is the first thing a reader asks for. */
const pricesByOperation = ({ offer, link }: Material): Record<string, string> =>
  Object.fromEntries(
    [...offer.operations.values()].map((offered) => [
      offered.operation.id,
      priceWords(offered).replaceAll(/\]\((\/[^)]*)\)/g, (_, path: string) => `](${link(path)})`),
    ]),
  );
