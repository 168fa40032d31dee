import type { Addresses } from "../config/addresses.ts";
import type { ExampleRequest } from "../offer/examples/example-request.ts";

interface Greeted {
  readonly addresses: Addresses;
  /** Where it listens, when that is not the address by which others know it. */
  readonly listensOn: string | undefined;
  readonly newKey: string | undefined;
  readonly sandbox: boolean;
  /** A paid call that can be made here; undefined when nothing is sold yet that the new account can pay for. */
  readonly firstCall: ExampleRequest | undefined;
}

/** What a person sees when the gateway is up. The key is shown here and nowhere else, and only when it was just made. */
export function greeting({ addresses, listensOn, newKey, sandbox, firstCall }: Greeted): string {
  const { baseUrl, siteUrl } = addresses;
  const lines = [`Tollgate is open at ${baseUrl}`];
  if (listensOn !== undefined) lines.push(`It listens on ${listensOn}`);
  if (sandbox) lines.push("Operations without an upstream of their own are served by the built-in sandbox.");
  if (newKey === undefined) {
    lines.push("Keys: npx tollgate key list · new one: npx tollgate key issue --account ID");
    lines.push(`Documentation: ${siteUrl}`);
    return lines.join("\n");
  }
  lines.push(
    "",
    "A demo account was made. This is its key; it is shown only once:",
    "",
    `  ${newKey}`,
    "",
    "Try it:",
    "",
    ...(firstCall ? [curlOf(firstCall, baseUrl, newKey), ""] : []),
    `curl -s "${baseUrl}/v1/usage?start_time=$(($(date +%s) - 86400))" -H "Authorization: Bearer ${newKey}"`,
    "",
    `curl -s ${baseUrl}/v1/credits/balance -H "Authorization: Bearer ${newKey}"`,
    "",
    `Documentation: ${siteUrl} (try calls at ${siteUrl}/docs). Point it at real vendors: tollgate.yaml.`,
  );
  return lines.join("\n");
}

/** On one line, which every terminal takes as one command. */
function curlOf({ target, headers, body }: ExampleRequest, baseUrl: string, key: string): string {
  const all = {
    Authorization: `Bearer ${key}`,
    ...headers,
    ...(body ? { "Content-Type": "application/json" } : {}),
  };
  return [
    `curl -s ${quoted(baseUrl + target)}`,
    ...Object.entries(all).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body ? [`-d ${quoted(JSON.stringify(body))}`] : []),
  ].join(" ");
}

/** For a shell, in which nothing means anything between single quotes. */
const quoted = (words: string): string => `'${words.replaceAll("'", "'\\''")}'`;
