// Starts Scalar over this gateway's own contract. Nothing is asked from anywhere else: no fonts, no proxy, no
// telemetry, no assistant. The key a reader types stays in the page.

const place = document.getElementById("reference");
const order = ["models", "data", "account"];
const prices = JSON.parse(place.dataset.prices);

const response = await fetch(place.dataset.contract);
if (!response.ok) {
  place.textContent =
    "The contract cannot be had right now. The pages of the operations have the same to read.";
  throw new Error(`The contract cannot be had: ${response.status}.`);
}
const contract = await response.json();

switchOffChoices(contract.components.parameters);
for (const tag of contract.tags) {
  tag["x-displayName"] = tag.name.slice(0, 1).toUpperCase() + tag.name.slice(1);
}
for (const methods of Object.values(contract.paths)) {
  for (const operation of Object.values(methods)) {
    switchOffChoices(operation.parameters);
    operation.description += `\n\n**Price:** ${prices[operation.operationId]}.`;
  }
}
contract.info.description += `\n\n[The contract as OpenAPI 3.1](${place.dataset.contract})`;

// Scalar would take what stands here for a page it rendered before.
place.replaceChildren();
window.Scalar.createApiReference(place, {
  content: contract,
  // Whatever name this page was opened under, calls go back to where it came from; unless that is a website of its own,
  // which is not to be told anybody's key.
  servers: [{ url: place.dataset.api ?? location.origin }],
  authentication: { preferredSecurityScheme: "bearer" },
  persistAuth: false,
  proxyUrl: "",
  telemetry: false,
  withDefaultFonts: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: "never",
  hideClientButton: true,
  documentDownloadType: "none",
  // Schemas stand with the operations that use them.
  hideModels: true,
  tagsSorter: (a, b) => order.indexOf(a.name) - order.indexOf(b.name),
  theme: "none",
  defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
  operationTitleSource: "summary",
});

/**
 * Scalar would fill in the first word that a parameter can be. A quote, or only the calls that are held, is what a reader
 * can ask for, not what a first try should be: such a parameter is offered, and off.
 */
function switchOffChoices(parameters) {
  for (const parameter of Object.values(parameters ?? {})) {
    const [first] = parameter.schema?.enum ?? [];
    if (first !== undefined && !parameter.required && parameter.example === undefined) {
      parameter.examples ??= { default: { value: first, "x-disabled": true } };
    }
  }
}
