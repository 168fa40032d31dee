import { firstCall } from "../../../offer/examples/first-call.ts";
import { listModels } from "../../../offer/list-models.ts";
import type { Offer } from "../../../offer/offer.ts";
import { isSold } from "../../../operation/operation.ts";
import { counted, grouped } from "../../pages/counted.ts";
import { html, type Html } from "../../pages/html.ts";
import { blocksMarkdown } from "./blocks-markdown.ts";
import { codeHtml, inline } from "./blocks-html.ts";
import { code, heading, text, type Block } from "./blocks.ts";
import { exampleCurl } from "./example-call.ts";
import type { Material, Page } from "./page.ts";
import { quickstartClients } from "./quickstart-page.ts";

/** What this is, in plain words, and the first call. */
export function landingPage(material: Material): Page {
  const { offer, addresses, link, twinLink } = material;
  const first = firstCall(offer);
  const call = first && exampleCurl(first, addresses, offer.names);
  const lead = leadOf(offer);
  const promises = promisesOf(offer);
  const doors = doorsOf(material);
  const blocks: Block[] = [
    text(lead),
    ...(hasSandbox(offer) ? [{ kind: "note", text: sandboxWords } as const] : []),
    ...(call === undefined ? [] : [heading("The first call"), code("curl", "sh", call)]),
    heading("What a key gives you"),
    { kind: "list", items: promises.map(({ title, words }) => `${title}. ${words}`) },
    heading("Where to go"),
    { kind: "list", items: doors.map(({ path, title, words }) => `[${title}](${path}): ${words}`) },
  ];
  return {
    path: "/",
    title: "Tollgate: one key, every call priced and proven",
    description: lead,
    markdown: blocksMarkdown(blocks, twinLink),
    main: html`<div class="hero">
        <div class="bar">
          <div class="pitch">
            <h1>One key. The price before, the proof after.</h1>
            <p class="lead">${lead}</p>
            <p class="actions">
              <a class="button" href="${link("/quickstart")}">Quick start</a>
              <a class="button plain" href="${link("/docs")}">API reference</a>
            </p>
          </div>
          ${call === undefined ? html`` : html`<div class="first">${codeHtml("The first call", `export TOLLGATE_KEY=tgk_…\n\n${call}`)}</div>`}
        </div>
      </div>
      <div class="page wide">
        ${hasSandbox(offer) ? html`<p class="note">${inline(sandboxWords, link)}</p>` : html``}
        <h2 id="promises">What a key gives you</h2>
        <div class="promises">${promises.map(promiseHtml(link))}</div>
        <h2 id="doors">Where to go</h2>
        <ul class="doors">
          ${doors.map(
            ({ path, title, words }) =>
              html`<li>
                <a href="${link(path)}">${title}</a>
                <p>${words}</p>
              </li>`,
          )}
        </ul>
      </div>`,
  };
}

interface Promised {
  readonly title: string;
  readonly words: string;
}

const promiseHtml =
  (link: (path: string) => string) =>
  ({ title, words }: Promised): Html =>
    html`<section>
      <h3>${title}</h3>
      <p>${inline(words, link)}</p>
    </section>`;

export function leadOf(offer: Offer): string {
  const models = listModels(offer).length;
  const conversing = countConversing(offer);
  const data = [...offer.operations.values()].filter(
    ({ operation }) => operation.category === "data" && isSold(operation),
  ).length;
  const goods = [
    ...(models > 0 ? [counted(models, "model") + conversingOf(conversing, models)] : []),
    ...(data > 0 ? [counted(data, "data operation")] : []),
  ];
  return `Tollgate is a metered API gateway. ${goods.length > 0 ? `One bearer key opens ${goods.join(" and ")}. ` : ""}You can ask what a call costs before you make it, cap it, repeat it safely, and read its receipt afterwards.`;
}

function conversingOf(conversing: number, models: number): string {
  if (conversing === 0) return "";
  return conversing === models
    ? " for conversation, in three dialects"
    : ` (${grouped(conversing)} for conversation, in three dialects)`;
}

const countConversing = (offer: Offer): number =>
  listModels(offer).filter(({ kind }) => kind === "chat").length;

const promisesOf = (offer: Offer): readonly Promised[] => [
  {
    title: "One key",
    words: `The same bearer key for every vendor.${countConversing(offer) > 0 ? ` ${dialectWords}` : ""}`,
  },
  {
    title: "A quote before spending",
    words: `Send \`X-${offer.names.provider}-Cost-Mode: quote\` with a call and you get its price instead of its result. Quotes are free.`,
  },
  {
    title: "Caps that hold",
    words: `\`X-${offer.names.provider}-Max-Price-USD\` caps a call, a budget caps a key. The most a call can cost is set aside before it leaves; what does not fit is refused.`,
  },
  {
    title: "Safe to repeat",
    words:
      "With an `Idempotency-Key` a call runs and is charged once, however often you send it, also when a connection or a process dies in between.",
  },
  {
    title: "One ledger",
    words:
      "Every charge is an entry in one double-entry ledger, in whole micro-USD. Usage report, balance and receipts are read from it, so they always agree.",
  },
  {
    title: "Receipts",
    words:
      "Each call that is sold has a [receipt](/docs/operations/requests.get): what was held, used and charged, at which prices, by which upstream, and why.",
  },
];

const dialectWords =
  "Official OpenAI, Anthropic and Google clients work, set up as the [quick start](/quickstart) shows; any model that converses can be called in any of their dialects.";

const doorsOf = (material: Material): readonly (Promised & { readonly path: string })[] => [
  {
    path: "/quickstart",
    title: "Quick start",
    words: `${quickstartClients(material)}.`,
  },
  { path: "/prices", title: "Prices", words: "Every model and every operation, searchable." },
  {
    path: "/docs",
    title: "API reference",
    words: "Every parameter and answer, with a form to try each call.",
  },
  { path: "/docs/operations", title: "Operations", words: "A page for each, readable without JavaScript." },
  {
    path: "/quickstart#mcp",
    title: "Agents",
    words: `An MCP server at ${material.addresses.mcpUrl}, with caps on what an agent may spend.`,
  },
  {
    path: "/llms.txt",
    title: "llms.txt",
    words: "The map of this site for language models; every page has a Markdown twin.",
  },
];

const hasSandbox = ({ operations }: Offer): boolean =>
  [...operations.values()].some(({ upstreams }) => upstreams.some(({ sandbox }) => sandbox));

const sandboxWords =
  "Some operations here are served by the built-in sandbox: made-up answers that behave like the vendors’. Such answers say so in a header.";
