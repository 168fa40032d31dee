import type { Addresses } from "../../../config/addresses.ts";
import { exampleRequest } from "../../../offer/examples/example-request.ts";
import type { Offer, OfferedOperation } from "../../../offer/offer.ts";
import { isJsonObject } from "../../../platform/json.ts";

interface Extra {
  /** Headers beside those that the operation's own example has. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The operation's example as a command to paste; undefined when it has none. */
export function exampleCurl(
  offered: OfferedOperation,
  { baseUrl }: Pick<Addresses, "baseUrl">,
  names: Offer["names"],
  { headers = {} }: Extra = {},
): string | undefined {
  const request = exampleRequest(offered, names);
  if (!request) return undefined;
  const { target, headers: own, body } = request;
  const lines = [
    `curl ${quoted(`${baseUrl}${target}`)}`,
    `-H "Authorization: Bearer $TOLLGATE_KEY"`,
    ...Object.entries({ ...own, ...headers }).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body
      ? [`-H "Content-Type: application/json"`, `-d '${membersByLine(body).replaceAll("'", "'\\''")}'`]
      : []),
  ];
  return lines.join(" \\\n  ");
}

/** For a shell: double quotes, in which four characters still mean something. */
const quoted = (words: string): string => `"${words.replaceAll(/["\\$`]/g, "\\$&")}"`;

/** A member a line, and what is inside it on that line: readable, and not longer than it must be. */
function membersByLine(body: object): string {
  const lines = Object.entries(body).map(([name, value]) => `    ${JSON.stringify(name)}: ${spaced(value)}`);
  return `{\n${lines.join(",\n")}\n  }`;
}

function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(", ")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}: ${spaced(inner)}`);
  return `{ ${members.join(", ")} }`;
}
