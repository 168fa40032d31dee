import type { Addresses } from "../../../config/addresses.ts";
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
  const { operation, path } = offered;
  const { example } = operation;
  if (!example) return undefined;
  const model = exampleModel(offered);
  const params: Readonly<Record<string, string>> = {
    ...example.params,
    ...(model !== undefined && example.params?.["model"] !== undefined ? { model } : {}),
  };
  const filled = path.replace(/\{(\w+)\}/g, (whole, name: string) => params[name] ?? whole);
  const query = new URLSearchParams(example.query ?? {}).toString();
  const body =
    example.body &&
    (model === undefined || !("model" in example.body) ? example.body : { ...example.body, model });
  const own = Object.fromEntries(
    Object.entries(example.headers ?? {}).map(([name, value]) => [
      name.replaceAll("{provider}", names.provider),
      value,
    ]),
  );
  const lines = [
    `curl ${quoted(`${baseUrl}${filled}${query === "" ? "" : `?${query}`}`)}`,
    `-H "Authorization: Bearer $TOLLGATE_KEY"`,
    ...Object.entries({ ...own, ...headers }).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body
      ? [`-H "Content-Type: application/json"`, `-d '${membersByLine(body).replaceAll("'", "'\\''")}'`]
      : []),
  ];
  return lines.join(" \\\n  ");
}

/** The model of the example when it is on offer, otherwise one that is: nobody should paste a 404. */
export function exampleModel({ operation, models, defaultModel }: OfferedOperation): string | undefined {
  const { params, body } = operation.example ?? {};
  const written = params?.["model"] ?? (isJsonObject(body) ? body["model"] : undefined);
  if (typeof written === "string" && models.has(written)) return written;
  return defaultModel?.id ?? [...models.keys()][0];
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
