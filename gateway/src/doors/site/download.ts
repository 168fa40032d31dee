/** No caller waits for it, but a source that never answers must not keep us waiting for ever. */
const timeoutMs = 10_000;
/** A price list is some kilobytes; this bounds what a broken source can make us hold. */
const bytesMax = 5 * 1024 * 1024;

/** The bytes at an address of the operator's. Redirects are not followed: the address is what was agreed on. */
export async function download(url: string): Promise<Uint8Array> {
  const response = await fetch(url, {
    redirect: "manual",
    signal: AbortSignal.timeout(timeoutMs),
    headers: { accept: "application/json", "user-agent": "tollgate" },
  });
  if (response.status !== 200 || !response.body) {
    await response.body?.cancel();
    throw new Error(`The source answered ${response.status}.`);
  }
  const chunks: Uint8Array[] = [];
  let total = 0;
  // A response's body yields bytes; only its type does not say so.
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    total += chunk.byteLength;
    if (total > bytesMax) throw new Error(`The source sends more than ${bytesMax} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
