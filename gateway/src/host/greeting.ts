import type { Addresses } from "../config/addresses.ts";

interface Greeted {
  readonly addresses: Addresses;
  /** Where it listens, when that is not the address by which others know it. */
  readonly listensOn: string | undefined;
  readonly newKey: string | undefined;
  readonly sandbox: boolean;
}

/** What a person sees when the gateway is up. The key is shown here and nowhere else, and only when it was just made. */
export function greeting({ addresses: { baseUrl, siteUrl }, listensOn, newKey, sandbox }: Greeted): string {
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
    `curl -s ${baseUrl}/v1/rerank -H "Authorization: Bearer ${newKey}" -H "Content-Type: application/json" -d '{"query":"how do plants make food","documents":["Trains run on rails.","Plants make food from light by photosynthesis."]}'`,
    "",
    `curl -s "${baseUrl}/v1/usage?start_time=$(($(date +%s) - 86400))" -H "Authorization: Bearer ${newKey}"`,
    "",
    `curl -s ${baseUrl}/v1/credits/balance -H "Authorization: Bearer ${newKey}"`,
    "",
    `Documentation: ${siteUrl} (try calls at ${siteUrl}/docs). Point it at real vendors: tollgate.yaml.`,
  );
  return lines.join("\n");
}
