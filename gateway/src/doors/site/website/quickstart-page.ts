import { exampleCostMicros } from "../../../offer/examples/example-cost.ts";
import { exampleRequest } from "../../../offer/examples/example-request.ts";
import { firstCall } from "../../../offer/examples/first-call.ts";
import type { OfferedOperation } from "../../../offer/offer.ts";
import { takesIdempotencyKey } from "../../../operation/operation.ts";
import { usdFromMicros, type Micros } from "../../../platform/money.ts";
import { html } from "../../pages/html.ts";
import { blocksHtml, inline } from "./blocks-html.ts";
import { blocksMarkdown } from "./blocks-markdown.ts";
import { code, heading, text, type Block } from "./blocks.ts";
import { exampleCurl } from "./example-call.ts";
import { mcpSnippets } from "./mcp-snippets.ts";
import type { Material, Page } from "./page.ts";
import { appSnippets } from "./app-snippets.ts";
import { sdkSnippets, type ClientSnippets } from "./sdk-snippets.ts";

/** From a key to a paid call, in the reader's own language. */
export function quickstartPage(material: Material): Page {
  const { link, twinLink, addresses } = material;
  const parts: readonly Part[] = [
    { id: "curl", title: "curl", blocks: curl(material) },
    { id: "spend-safely", title: "Spend safely", blocks: spending(material) },
    ...[...sdkSnippets(material), ...appSnippets(material)].map(partOf),
    {
      id: "mcp",
      title: "Agents (MCP)",
      blocks: [
        text(
          `The tool server is at \`${addresses.mcpUrl}\`. It has five tools: \`search\`, \`get_details\` and \`list_categories\` are free; \`use\` and \`batch_use\` pay for a call, up to the \`max_price_usd\` you allow.`,
        ),
        ...mcpSnippets(addresses.mcpUrl).flatMap(({ title, blocks }): Block[] => [
          { kind: "heading", level: 3, text: title },
          ...blocks,
        ]),
      ],
    },
  ];
  const about = aboutFor(material);
  const blocks = parts.flatMap(({ id, title, blocks: own }) => [heading(title, id), ...own]);
  return {
    path: "/quickstart",
    section: "quickstart",
    title: "Quick start",
    description: `The first call with ${quickstartClients(material)}.`,
    markdown: `${about}\n\n${blocksMarkdown(blocks, twinLink)}`,
    main: html`<div class="page">
      <h1>Quick start</h1>
      <p class="lead">${inline(about, link)}</p>
      <nav class="on-this-page" aria-label="On this page">
        <ul>
          ${parts.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}
        </ul>
      </nav>
      ${blocksHtml(blocks, link)}
    </div>`,
  };
}

/** Whom the page is for, in words: only clients that can call something that is on offer. */
export const quickstartClients = (material: Material): string =>
  new Intl.ListFormat("en-US").format([
    "curl",
    ...sdkSnippets(material).map(({ title }) => `the ${title}`),
    "MCP clients",
  ]);

interface Part {
  readonly id: string;
  readonly title: string;
  readonly blocks: readonly Block[];
}

const aboutFor = (material: Material): string =>
  `Everything works with one key. Whoever runs this gateway issues it: the first start of a new one shows a key, and \`npx tollgate key issue\` makes others.${sdkSnippets(material).length > 0 ? " Official clients need their address and key changed, Google's also the version of the API." : ""}`;

const partOf = ({ title, blocks }: ClientSnippets): Part => ({
  id: title.toLowerCase().replaceAll(/[^a-z]+/g, "-"),
  title,
  blocks,
});

function curl({ offer, addresses }: Material): Block[] {
  const { baseUrl } = addresses;
  const first = firstCall(offer);
  const call = first && exampleCurl(first, addresses, offer.names);
  return [
    code("Put the key into the environment", "sh", "export TOLLGATE_KEY=tgk_…"),
    ...(call === undefined ? [] : [code("Make a call", "sh", call)]),
    code(
      "See what it cost",
      "sh",
      `curl "${baseUrl}/v1/credits/balance" -H "Authorization: Bearer $TOLLGATE_KEY"
curl "${baseUrl}/v1/requests?limit=5" -H "Authorization: Bearer $TOLLGATE_KEY"`,
    ),
  ];
}

function spending({ offer, addresses }: Material): Block[] {
  const { provider } = offer.names;
  const first = firstCall(offer);
  if (!first) return [];
  const withHeaders = (headers: Readonly<Record<string, string>>): string =>
    exampleCurl(first, addresses, offer.names, { headers }) ?? "";
  const cap = capFor(first, offer.names);
  const repeats = takesIdempotencyKey(first.operation);
  return [
    text(`Add \`X-${provider}-Cost-Mode: quote\` and the call is priced instead of made. Quotes are free.`),
    code("Ask first", "sh", withHeaders({ [`X-${provider}-Cost-Mode`]: "quote" })),
    text(
      `\`X-${provider}-Max-Price-USD\` refuses the call with 402 when it could cost more. An \`Idempotency-Key\` makes ${repeats ? "it" : "a POST"} safe to repeat: it runs and is charged once, and a repetition is told 409 with the first call’s id, status and charge.`,
    ),
    code(
      repeats ? "Cap it, and make it safe to repeat" : "Cap it",
      "sh",
      withHeaders({
        [`X-${provider}-Max-Price-USD`]: cap,
        ...(repeats ? { "Idempotency-Key": "order-1042" } : {}),
      }),
    ),
    text(
      `Every answer carries \`X-Request-ID\`, and \`X-${provider}-Cost-Micros-USD\` when it was billed. The [receipt](/docs/operations/requests.get) of that id says what was held, used and charged, at which prices, and why.`,
    ),
  ];
}

/** A round figure that the example fits into, or its readers would learn that caps refuse. */
function capFor(offered: OfferedOperation, names: Material["offer"]["names"]): string {
  const request = exampleRequest(offered, names);
  const atMost = (request && exampleCostMicros(offered, request)) ?? 0n;
  return usdFromMicros(atMost <= capUsualMicros ? capUsualMicros : roundedUp(atMost));
}

const capUsualMicros: Micros = 10_000n;

/** To one digit and zeros: 48,000 is 50,000. */
function roundedUp(micros: Micros): Micros {
  const one = 10n ** BigInt(`${micros}`.length - 1);
  return ((micros + one - 1n) / one) * one;
}
