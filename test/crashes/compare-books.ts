// What callers were told, what the ledger says and what the vendors served, compared.

import type { Installation } from "./installation.ts";
import { send, type Load } from "./load.ts";

/** What must not be there once a restarted gateway is idle. */
export async function leftoversOf({ read, post }: Installation): Promise<string[]> {
  await post();
  const integrity = read<{ integrity_check: string }>("PRAGMA integrity_check");
  const held = read<{ id: string }>("SELECT id FROM account WHERE held_micros <> 0");
  const open = read<{ id: string }>("SELECT id FROM call WHERE settled_at_ms IS NULL");
  return [
    ...integrity.filter((row) => row.integrity_check !== "ok").map((row) => row.integrity_check),
    ...held.map(({ id }) => `account ${id} still holds money`),
    ...open.map(({ id }) => `call ${id} is still open`),
  ];
}

interface Booked {
  readonly charges: number;
  readonly charged: number | undefined;
}

/** How each call is booked: how many charges, and how much. A charge of 0 has no entry. */
export function bookedCalls({ read }: Installation): (callId: string) => Booked {
  const calls = read<{ id: string; account: string; charged: number }>(
    "SELECT id, account_id AS account, charged_micros AS charged FROM call WHERE state = 'settled'",
  );
  const entries = read<{ id: string; party: string; charges: number; booked: number }>(
    `SELECT transfer_id AS id, party, count(*) AS charges, -sum(amount_micros) AS booked FROM entry
     WHERE kind = 'charge' GROUP BY transfer_id, party`,
  );
  const entriesOf = new Map(entries.map((entry) => [`${entry.id} ${entry.party}`, entry]));
  const booked = new Map(
    calls.map(({ id, account, charged }): [string, Booked] => {
      const { charges, booked } = entriesOf.get(`${id} ${account}`) ?? { charges: 0, booked: 0 };
      return [id, { charges, charged: charged === booked ? charged : undefined }];
    }),
  );
  return (callId) => booked.get(callId) ?? { charges: 0, charged: undefined };
}

/** How many calls were cut off by a kill and released by a later start. */
export const releasedIn = ({ read }: Installation): number =>
  read<{ n: number }>("SELECT count(*) AS n FROM call WHERE state = 'released' AND outcome = 'unknown'")[0]
    ?.n ?? 0;

/** Compares the vendors' book with ours: nothing sent twice or without a hold, nothing charged that was never sent. */
export async function sentTwiceOrNever(
  installation: Installation,
): Promise<{ twice: string[]; never: string[] }> {
  const sent = new Map<string, number>();
  for (const { request_id: id } of await installation.sandbox.book()) {
    if (id !== null) sent.set(id, (sent.get(id) ?? 0) + 1);
  }
  const calls = installation.read<{ id: string; charged: number }>(
    "SELECT id, charged_micros AS charged FROM call",
  );
  const booked = new Set(calls.map(({ id }) => id));
  const charged = calls.filter((call) => call.charged > 0);
  return {
    twice: [...sent].filter(([, times]) => times > 1).map(([id, times]) => `${id} was sent ${times} times`),
    never: [
      ...charged.map(({ id }) => id).filter((id) => !sent.has(id)),
      ...[...sent.keys()].filter((id) => !booked.has(id)).map((id) => `${id} was sent, and is in no book`),
    ],
  };
}

/**
 * Repeats what was asked under a key. Who was answered before must be told of that call; who was cut off is told so, or
 * served for the first time if nothing had left, which the vendors' book shows.
 */
export async function madeAgain(url: string, key: string, { keyed }: Load): Promise<string[]> {
  const repeated = keyed.map(async ({ turn, idempotencyKey, callId }) => {
    const response = await send(url, key, turn, idempotencyKey);
    // In the model dialects what is beside the error elsewhere stands inside it.
    const { original, error } = (await response.json()) as Conflict & { error?: Conflict };
    if (callId === undefined) return [];
    const isTold = response.status === 409 && (original ?? error?.original)?.request_id === callId;
    return isTold ? [] : [`${callId} was made again under its key, or forgotten (${response.status})`];
  });
  return (await Promise.all(repeated)).flat();
}

interface Conflict {
  readonly original?: { readonly request_id: string };
}
