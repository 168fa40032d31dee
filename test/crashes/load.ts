// Callers that keep a gateway busy, and remember what they were told.

import { callerAt } from "../support/caller.ts";
import { chatBody, chatPath, snapshotPath, tagPath } from "../support/purchases.ts";

export interface Load {
  /** What callers were told, by request id. */
  readonly told: ReadonlyMap<string, number>;
  /** Calls that brought an idempotency key, answered or not. */
  readonly keyed: readonly KeyedCall[];
  /** The status of every answer that was not a good one; 0 where none came. */
  readonly refused: readonly number[];
  /** Lets the running calls end and starts no more. */
  readonly stop: () => Promise<void>;
}

interface KeyedCall {
  readonly turn: number;
  readonly idempotencyKey: string;
  /** The request id, where its caller was told one and a cost. */
  readonly callId: string | undefined;
}

/** Callers that call without pause until they are stopped or the gateway is gone. */
export function startLoad(url: string, key: string, callers: number): Load {
  const told = new Map<string, number>();
  const keyed: KeyedCall[] = [];
  const refused: number[] = [];
  let stopped = false;

  const callFor = async (caller: number): Promise<void> => {
    for (let turn = caller; !stopped; turn++) {
      const idempotencyKey = isPost(turn) ? crypto.randomUUID() : undefined;
      const response = await send(url, key, turn, idempotencyKey).catch(() => undefined);
      const cost = response?.headers.get("x-tollgate-cost-micros-usd") ?? null;
      const callId =
        response?.ok === true && cost !== null ? (response.headers.get("x-request-id") ?? "") : undefined;
      if (callId !== undefined) told.set(callId, Number(cost));
      if (response?.ok !== true) refused.push(response?.status ?? 0);
      if (idempotencyKey !== undefined) keyed.push({ turn, idempotencyKey, callId });
      if (!response) return;
      await response.arrayBuffer().catch(() => undefined);
    }
  };
  const calling = Promise.all(Array.from({ length: callers }, (_, caller) => callFor(caller)));
  return {
    told,
    keyed,
    refused,
    stop: async () => {
      stopped = true;
      await calling;
    },
  };
}

const isPost = (turn: number): boolean => turn % 4 > 1;

/**
 * One of four kinds of call, by turns: a fixed price, an envelope, and two that are priced by token, which may bring an
 * idempotency key.
 */
export function send(url: string, key: string, turn: number, idempotencyKey?: string): Promise<Response> {
  const { call, post } = callerAt(url);
  const headers = idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey };
  switch (turn % 4) {
    case 0:
      return call({ key }, snapshotPath, { headers });
    case 1:
      return call({ key }, tagPath, { headers });
    case 2: {
      const ranking = { query: `turn ${turn}`, documents: ["green tea", "a car", "a turn"] };
      return post({ key }, "/v1/rerank", ranking, headers);
    }
    default: {
      const messages = [{ role: "user", content: `Say ${turn}.` }];
      return post({ key }, chatPath, chatBody({ model: "gpt-4o-mini", messages, max_tokens: 30 }), headers);
    }
  }
}
