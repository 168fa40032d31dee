import { listIn, objectIn, operationsOf, resolve } from "../../../contract/contract-document.ts";
import { priceOf } from "../../../contract/price-of.ts";
import { refusalsByStatus, upstreamMeaning } from "../../../contract/refusals-by-status.ts";
import { hearsUpstream } from "../../../contract/refusals-of.ts";
import type { OfferedOperation } from "../../../offer/offer.ts";
import { isSold, type Operation } from "../../../operation/operation.ts";
import type { JsonObject } from "../../../platform/json.ts";
import { html } from "../../pages/html.ts";
import { blocksHtml } from "./blocks-html.ts";
import { blocksMarkdown } from "./blocks-markdown.ts";
import { code, heading, text, type Block } from "./blocks.ts";
import { exampleCurl } from "./example-call.ts";
import type { Material, Page, ReadContract } from "./page.ts";
import { priceWords, sentence } from "./price-tables.ts";
import { describe, schemaRows, typeWords, type SchemaRow } from "./schema-rows.ts";

/** Everything about one operation, as its contract has it, readable without a script. */
export function operationPage(offered: OfferedOperation, material: Material, contract: ReadContract): Page {
  const { operation, path } = offered;
  const { link, twinLink } = material;
  const { id, title, summary, method } = operation;
  const described = operationsOf(contract.document).find((one) => one.id === id)?.described ?? {};
  const own = `/docs/operations/${id}`;
  const blocks: Block[] = [
    ...about(operation),
    ...price(offered),
    ...example(offered, material),
    ...parameters(described, contract.document),
    ...body(offered, described, contract.document),
    ...answer(operation, described, contract.document),
    ...refusals(operation),
    ...limits(operation),
    heading("More"),
    {
      kind: "list",
      items: [
        `[Try it in the API reference](${referencePath(operation, path)})`,
        `[Its contract as OpenAPI](/api/contracts/source?hash=${contract.contentHash}&operation_id=${id})`,
        "[All operations](/docs/operations)",
      ],
    },
  ];
  return {
    path: own,
    section: "docs",
    title,
    description: summary,
    markdown: `${summary}\n\n\`${method} ${path}\` · operation id \`${id}\`\n\n${blocksMarkdown(blocks, twinLink)}`,
    main: html`<div class="page">
      <nav class="crumbs" aria-label="Breadcrumb">
        <ol>
          <li><a href="${link("/docs/operations")}">Operations</a></li>
          <li>${sentence(operation.category)}</li>
        </ol>
      </nav>
      <h1>${title}</h1>
      <p class="lead">${summary}</p>
      <p class="request">
        <span class="method ${method.toLowerCase()}">${method}</span> <code>${path}</code>
      </p>
      <p class="id">Operation id <code>${id}</code></p>
      ${blocksHtml(blocks, link)}
    </div>`,
  };
}

/** Where the interactive reference shows this operation. */
const referencePath = ({ category, method }: Operation, path: string): string =>
  `/docs#tag/${category}/${method}${path}`;

function about({ notes, definition }: Operation): Block[] {
  const pending: Block = {
    kind: "note",
    text: "This definition is pending: its parameters are not described yet. What you send is forwarded as it comes; do not invent fields.",
  };
  return [...(definition === "pending" ? [pending] : []), ...(notes === undefined ? [] : [text(notes)])];
}

function price(offered: OfferedOperation): Block[] {
  const blocks = [heading("Price"), text(`${priceWords(offered)}.`)];
  const published = priceOf(offered);
  if (published.kind === "free") return blocks;
  if (published.kind === "per_token" && published.default_model !== null) {
    blocks.push(text(`Without a \`model\`, \`${published.default_model}\` serves.`));
  }
  blocks.push(
    text(
      "A quote tells what your very call would cost: [ask first, cap, repeat safely](/quickstart#spend-safely).",
    ),
  );
  return blocks;
}

function example(offered: OfferedOperation, { addresses, offer }: Material): Block[] {
  const curl = exampleCurl(offered, addresses, offer.names);
  const response = offered.operation.example?.response;
  return [
    ...(curl === undefined ? [] : [heading("Example"), code("Call", "sh", curl)]),
    ...(response === undefined ? [] : [code("Answer", "json", JSON.stringify(response, null, 2))]),
  ];
}

function parameters(described: JsonObject, document: JsonObject): Block[] {
  const rows = listIn(described, "parameters").map((written) => {
    const parameter = resolve(document, written);
    const schema = parameter["schema"];
    const words = [parameter["description"], describe(document, schema)].filter(
      (one) => typeof one === "string",
    );
    return [
      `\`${String(parameter["name"])}\``,
      String(parameter["in"]),
      `${typeWords(document, schema, 0)}${parameter["required"] === true ? ", required" : ""}`,
      [...new Set(words)].join(" ").trim(),
    ];
  });
  const forwarded = typeof described["x-further-query-parameters"] === "string";
  return [
    heading("Parameters"),
    ...(rows.length === 0
      ? [text("None.")]
      : [
          { kind: "table", caption: "Parameters", columns: ["Name", "In", "Type", "Meaning"], rows } as const,
        ]),
    ...(forwarded ? [text("Further query parameters travel to the vendor as they come.")] : []),
  ];
}

function body({ conventions }: OfferedOperation, described: JsonObject, document: JsonObject): Block[] {
  const schema = jsonSchemaOf(objectIn(described, "requestBody"));
  if (schema === undefined) return [];
  const strict = resolve(document, schema)["additionalProperties"] === false;
  const further = conventions.dialect === "plain" ? "" : " Other members of the dialect travel on.";
  return [
    heading("Body"),
    text(`JSON.${strict ? " Other members are refused." : further}`),
    ...members("Members of the body", schemaRows(document, schema)),
  ];
}

function answer(operation: Operation, described: JsonObject, document: JsonObject): Block[] {
  const success = resolve(document, objectIn(described, "responses")["200"]);
  const schema = jsonSchemaOf(success);
  // A billed operation answers a quote instead when asked to; its own answer stands first.
  const [own = schema] = operation.price.kind === "free" ? [] : listIn(schema ?? {}, "anyOf");
  const rows = own === undefined ? [] : schemaRows(document, own);
  const streamed = isSold(operation) && operation.streams ? " It can be streamed as server-sent events." : "";
  return [
    heading("Answer"),
    text(`\`200\` with JSON.${streamed}`),
    ...(rows.length === 0 ? [] : members("Members of the answer", rows)),
  ];
}

function refusals(operation: Operation): Block[] {
  const rows = refusalsByStatus(operation).map(({ status, meaning, codes }) => [
    `\`${status}\``,
    meaning,
    codes.map((one) => `\`${one}\``).join(" "),
  ]);
  if (hearsUpstream(operation)) rows.push(["Other", upstreamMeaning, ""]);
  return [
    heading("When it says no"),
    { kind: "table", caption: "Statuses and codes", columns: ["Status", "Meaning", "Codes"], rows },
  ];
}

function limits(operation: Operation): Block[] {
  const { limits: own, price, bodyBytesMax, body: schema } = operation;
  const task = isSold(operation) ? operation.task : undefined;
  const items = [
    "Requests a minute, by the [tier](/prices#limits) of the key.",
    ...(own?.rpm ? [`${own.rpm.limit} requests a minute for this kind of call.`] : []),
    ...(price.kind === "per_token" ? ["Tokens a minute, by the tier of the key."] : []),
    ...(task ? [`${task.openMax} tasks of a key open at once.`] : []),
    ...(own?.slot === "always" ? ["Takes one of the key’s places while it runs."] : []),
    ...(own?.slot === "streaming" ? ["Takes one of the key’s places while it streams."] : []),
    ...(schema ? [`A body of at most ${(bodyBytesMax / 1024 / 1024).toLocaleString("en-US")} MiB.`] : []),
  ];
  return [heading("Limits"), { kind: "list", items }];
}

/** Where nothing is said about any of them, there is no column for it. */
function members(caption: string, rows: readonly SchemaRow[]): Block[] {
  const areExplained = rows.some(({ description }) => description !== "");
  return [
    {
      kind: "table",
      caption,
      columns: ["Name", "Type", ...(areExplained ? ["Meaning"] : [])],
      rows: rows.map(({ name, type, required, description }) => [
        `\`${name}\``,
        `${type}${required ? ", required" : ""}`,
        ...(areExplained ? [description] : []),
      ]),
    },
  ];
}

function jsonSchemaOf(holder: JsonObject): JsonObject | undefined {
  const media = objectIn(objectIn(holder, "content"), "application/json");
  return "schema" in media ? objectIn(media, "schema") : undefined;
}
