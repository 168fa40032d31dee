import { growthToppedUpMicros } from "../../../limits/tiers.ts";
import { usdFromMicros } from "../../../platform/money.ts";
import { counted } from "../../pages/counted.ts";
import { html, type Html } from "../../pages/html.ts";
import { inline, tableHtml, type LinkTo } from "./blocks-html.ts";
import { blocksMarkdown } from "./blocks-markdown.ts";
import { text, type Block, type Table } from "./blocks.ts";
import type { Material, Page } from "./page.ts";
import {
  categories,
  modelPrices,
  operationPrices,
  sentence,
  tierLimits,
  videoModelPrices,
  type Search,
} from "./price-tables.ts";

/** Nobody looks for more; it bounds what a made-up address can make us do. */
const wordsCharactersMax = 100;

export function readSearch(query: URLSearchParams): Search {
  const wanted = query.get("category");
  return {
    words: (query.get("q") ?? "").trim().slice(0, wordsCharactersMax),
    category: categories.find((category) => category === wanted),
  };
}

/** Everything that is sold and for how much, what is compared most first. The search is a form, so it needs no script. */
export function pricesPage(material: Material, search: Search): Page {
  const { offer, link, twinLink } = material;
  const operations = operationPrices(offer, search);
  const models = modelPrices(offer, search);
  const videoModels = videoModelPrices(offer, search);
  const parts: readonly Part[] = [
    { id: "models", title: "Models", table: models, unit: "USD per 1,000,000 tokens." },
    { id: "video", title: "Video models", table: videoModels, unit: "USD per second." },
    { id: "operations", title: "Operations", table: operations },
    { id: "limits", title: "Limits", table: tierLimits(offer), rule: tiersRise },
  ];
  const shown = parts.filter(({ table }) => table.rows.length > 0);
  const found = foundWords(models.rows.length + videoModels.rows.length, operations.rows.length);
  const blocks: Block[] = [
    { kind: "text", text: about },
    ...(isSearch(search) ? [{ kind: "text", text: found } as const] : []),
    ...shown.flatMap(({ table, rule }) => [table, ...(rule === undefined ? [] : [text(rule)])]),
  ];
  return {
    path: "/prices",
    section: "prices",
    title: "Prices",
    description: "What every operation and every model costs.",
    markdown: blocksMarkdown(blocks, twinLink),
    main: html`<div class="page wide">
      <h1>Prices</h1>
      <p class="lead">${about}</p>
      ${searchForm(search, link("/prices"))}
      <p class="found" role="status">
        ${found}${isSearch(search) ? html` <a href="${link("/prices")}">Show everything</a>` : html``}
      </p>
      <nav class="on-this-page" aria-label="On this page">
        <ul>
          ${shown.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}
        </ul>
      </nav>
      ${shown.map((part) => partHtml(part, link))}
    </div>`,
  };
}

interface Part {
  readonly id: string;
  readonly title: string;
  readonly table: Table;
  /** What its figures are, where all of them are the same. */
  readonly unit?: string;
  /** What else has to be known of it. */
  readonly rule?: string;
}

/** A key may do what the tier of its account may. */
const tiersRise = `An account usually begins as Free. Its first payment makes it Starter, and ${usdFromMicros(growthToppedUpMicros)} USD paid in all Growth. Who needs more before that applies for it with \`POST /v1/limits/requests\`.`;

const about =
  "Published prices are estimates in USD. Ask for a quote to hear the price of your very call; its receipt says what it cost. A call that fails before it gave you anything is not charged.";

const isSearch = ({ words, category }: Search): boolean => words !== "" || category !== undefined;

const foundWords = (models: number, operations: number): string =>
  models + operations === 0
    ? "Nothing here fits your search."
    : `${counted(models, "model")}, ${counted(operations, "operation")}.`;

const searchForm = ({ words, category }: Search, action: string): Html =>
  html`<form class="search" role="search" action="${action}" method="get">
    <div>
      <label for="q">Search</label>
      <input
        id="q"
        name="q"
        type="search"
        value="${words}"
        placeholder="chat, comments, gpt…"
        autocomplete="off"
        maxlength="${wordsCharactersMax}"
      />
    </div>
    <div>
      <label for="category">Category</label>
      <select id="category" name="category">
        <option value="">All</option>
        ${categories.map(
          (one) =>
            html`<option value="${one}" ${one === category ? html` selected` : html``}>
              ${sentence(one)}
            </option>`,
        )}
      </select>
    </div>
    <button type="submit">Search</button>
  </form>`;

const partHtml = ({ id, title, table, unit, rule }: Part, link: LinkTo): Html =>
  html`<h2 id="${id}">${title}</h2>
    ${unit === undefined ? undefined : html`<p class="found">${unit}</p>`} ${tableHtml(table, link)}
    ${rule === undefined ? undefined : html`<p>${inline(rule, link)}</p>`}`;
