import type { Receipt } from "../../client/src/operations.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "./test-gateway.ts";
import { until } from "./until.ts";
import { asEvents, eventStream } from "./scripted-vendor.ts";

/** A vendor's stream that has begun with these events, and says no more. */
export const begunStream = (...events: readonly object[]): Response =>
  eventStream(
    new ReadableStream({
      start: (stream) => {
        for (const event of events) stream.enqueue(Buffer.from(asEvents([event])));
      },
    }),
  );

/** What the next start makes of a stream that was still open when the gateway died. */
export async function receiptOfDied(
  gateway: TestGateway,
  account: TestAccount,
  path: string,
  body: object,
): Promise<Receipt> {
  const { receipt, next } = await startAfterDeath(gateway, account, path, body);
  await next.close();
  return receipt;
}

/** The next start, and what it made of a stream that was still open when the gateway died. */
export async function startAfterDeath(
  gateway: TestGateway,
  account: TestAccount,
  path: string,
  body: object,
): Promise<{ readonly receipt: Receipt; readonly next: TestGateway }> {
  const leaving = new AbortController();
  const response = await gateway.call(account, path, {
    method: "POST",
    body: JSON.stringify(body),
    signal: leaving.signal,
  });
  await response.body?.getReader().read();
  leaving.abort();
  await until(async () => {
    // Whoever asks for a receipt has the books brought up to date.
    const { request_id: id } = await gateway.receipt(account, response);
    const noted = await gateway.data.query(`SELECT 1 FROM call WHERE id = '${id}' AND progress IS NOT NULL`);
    return noted.length > 0;
  });
  // To the next one, whoever has the file open is as good as dead.
  const next = await openTestGateway({ data: gateway.data });
  try {
    return { receipt: await next.receipt(account, response), next };
  } catch (error) {
    await next.close();
    throw error;
  }
}
