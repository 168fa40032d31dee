// Fetches a small public document from an address a stranger wrote, without becoming the stranger's hand inside our
// network: https alone, public addresses alone, looked up once and connected to only there, no redirects.

import { request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import { isGlobalAddress } from "../platform/global-address.ts";

interface Parts {
  /** Every address of a name. */
  readonly resolve: (hostname: string) => Promise<readonly string[]>;
  readonly isAllowed?: (address: string) => boolean;
  /** Given by tests, whose servers cannot have the usual port and a certificate everybody trusts. */
  readonly port?: number;
  readonly authority?: string;
}

const bytesMax = 5 * 1024;
const timeoutUsualMs = 2_500;
/** A stranger writes how many addresses a name has, and each is a connection of ours. */
const triesMax = 3;
/** A host that is well has usually answered by then. */
const silentMs = 500;

export function createDocumentFetch(
  parts: Parts,
  timeoutMs = timeoutUsualMs,
): (url: string) => Promise<Response> {
  const { isAllowed = isGlobalAddress } = parts;
  return async (written) => {
    const url = checkUrl(written);
    // The clock runs for the look-up, too.
    const deadline = AbortSignal.timeout(timeoutMs);
    const addresses = await Promise.race([parts.resolve(url.hostname), aborted(deadline)]);
    if (addresses.length === 0) throw new Error("The name of the document's host leads nowhere.");
    // One private address among public ones is an attempt to be sent there next time.
    if (!addresses.every(isAllowed)) throw new Error("The document's host is not on the public internet.");
    return await getFromAny(url, inTurn(addresses), deadline, parts);
  };
}

/** Many machines have addresses of IPv6 that lead nowhere, so the other family comes second. */
function inTurn(addresses: readonly string[]): string[] {
  const [first = ""] = addresses;
  const other = addresses.filter((address) => isIP(address) !== isIP(first));
  return [...new Set([first, ...other.slice(0, 1), ...addresses])].slice(0, triesMax);
}

/** Asks the next address when those before have failed, or are silent for a while; the first answer counts. */
async function getFromAny(
  url: URL,
  addresses: readonly string[],
  deadline: AbortSignal,
  parts: Parts,
): Promise<Response> {
  const answered = new AbortController();
  const signal = AbortSignal.any([deadline, answered.signal]);
  const asked: Promise<Response>[] = [];
  const first = (): Promise<Response> => Promise.any(asked);
  try {
    for (const address of addresses) {
      asked.push(get(url, address, signal, parts));
      const answer = await Promise.race([first().catch(() => undefined), Bun.sleep(silentMs)]);
      if (answer) return answer;
    }
    // Where all failed, what became of the one before all others is told.
    return await first().catch(() => Promise.race(asked));
  } finally {
    answered.abort();
  }
}

function checkUrl(written: string): URL {
  const url = URL.parse(written);
  if (!url || url.protocol !== "https:") throw new Error("A document is fetched by https only.");
  if (url.port !== "") throw new Error("A document is fetched from the usual port only.");
  if (url.username !== "" || url.password !== "") throw new Error("A document's address names no user.");
  if (isIP(url.hostname.replaceAll(/[[\]]/g, "")) !== 0) throw new Error("A document's host has a name.");
  return url;
}

const get = (
  url: URL,
  address: string,
  deadline: AbortSignal,
  { port = 443, authority }: Parts,
): Promise<Response> =>
  new Promise((resolve, reject) => {
    const asking = httpsRequest(
      {
        host: address,
        port,
        servername: url.hostname,
        path: url.pathname + url.search,
        method: "GET",
        // Nothing is unpacked: what counts as five kilobytes is what arrives.
        headers: { host: url.host, accept: "application/json", "accept-encoding": "identity" },
        agent: false,
        signal: deadline,
        ...(authority === undefined ? {} : { ca: authority }),
      },
      (answer) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        answer.on("data", (chunk: Buffer) => {
          bytes += chunk.length;
          chunks.push(chunk);
          if (bytes <= bytesMax) return;
          reject(new Error(`The document is larger than ${bytesMax} bytes.`));
          asking.destroy();
        });
        answer.on("error", reject);
        answer.on("end", () =>
          resolve(responseOf(answer.statusCode ?? 502, answer.headers, Buffer.concat(chunks))),
        );
      },
    );
    asking.on("error", reject);
    deadline.addEventListener("abort", () => {
      reject(new Error("The document did not come in time."));
      asking.destroy();
    });
    asking.end();
  });

function responseOf(
  status: number,
  from: Readonly<Record<string, string | readonly string[] | undefined>>,
  body: Buffer,
): Response {
  const headers = new Headers();
  for (const name of ["content-type", "cache-control", "expires"]) {
    const value = from[name];
    if (typeof value === "string") headers.set(name, value);
  }
  // A redirect is not followed, and what it says is of no interest.
  if (status < 200 || status > 599 || status === 204 || status === 304)
    return new Response(null, { status: 502 });
  return new Response(new Uint8Array(body), { status, headers });
}

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new Error("The document did not come in time.")));
  });
