import { leadOf } from "./landing-page.ts";
import type { Material } from "./page.ts";
import { categories, sentence, sorted } from "./price-tables.ts";
import { quickstartClients } from "./quickstart-page.ts";

/** The map of the site for language models, in the form of llmstxt.org. */
export function llmsText(material: Material): string {
  const { offer, addresses, twinLink } = material;
  const { baseUrl, mcpUrl } = addresses;
  const { provider } = offer.names;
  return [
    "# Tollgate",
    "",
    `> ${leadOf(offer)}`,
    "",
    `The API is at ${baseUrl}; send \`Authorization: Bearer <key>\`. Add \`X-${provider}-Cost-Mode: quote\` to any billed call to get its price instead of its result, and \`X-${provider}-Max-Price-USD\` to cap it. Paid calls need the user's approval of scope, rate and maximum exposure first. The MCP server is at ${mcpUrl} (streamable HTTP, OAuth or the same key).`,
    "",
    "## Start",
    "",
    `- [What this is](${twinLink("/")})`,
    `- [Quick start](${twinLink("/quickstart")}): ${quickstartClients(material)}`,
    `- [Prices](${twinLink("/prices")}): every operation, model and limit; \`?q=\` searches`,
    `- [OpenAPI version](${twinLink("/api/contracts/version")}): the hash under which \`/api/contracts/source?hash=…&bundled=1\` has the contract`,
    `- [OpenAPI 3.1](${twinLink("/openapi.json")}): the contract that is current, whole`,
    `- [Account and usage as OpenAPI 3.0.3](${twinLink("/openapi/account.json")})`,
    ...categories.flatMap((category) => [
      "",
      `## ${sentence(category)}`,
      "",
      ...sorted(offer)
        .filter(({ operation }) => operation.category === category)
        .map(
          ({ operation: { id, title, summary } }) =>
            `- [${title}](${twinLink(`/docs/operations/${id}`)}): ${summary}`,
        ),
    ]),
    "",
  ].join("\n");
}
