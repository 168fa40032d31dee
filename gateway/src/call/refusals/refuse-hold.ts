import type { HoldResult } from "../../ledger/ledger.ts";
import { refuseEarlier } from "../../ledger/refuse-earlier.ts";
import { toldOfLimit } from "../../limits/hit-limit.ts";
import { usdFromMicros, type Micros } from "../../platform/money.ts";
import { refuse } from "../../platform/refusals.ts";
import { checkEarlier } from "./check-earlier.ts";
import type { Gate } from "../gate.ts";
import type { PricedCall } from "../priced-call.ts";
import { expectedMicros } from "../call-price.ts";
import { returnCounted } from "../limits/return-counted.ts";
import { readBooks } from "../read-books.ts";
import { amounts, refuseUnpayable } from "./refuse-unpayable.ts";
import { coveredMicros } from "../covered-micros.ts";
import { refuseUnapproved } from "./refuse-unapproved.ts";
import { whatHelps } from "./what-helps.ts";

type NotHeld = Exclude<HoldResult, { kind: "held" }>;

/** Tells the caller why nothing could be held. */
export async function refuseHold(result: NotHeld, priced: PricedCall, gate: Gate): Promise<never> {
  const { call, operation, price, caller } = priced;
  const { atMostMicros } = price;
  switch (result.kind) {
    case "too_many_tasks":
      return refuseByTasks(priced, result.openMax, gate);
    case "idempotency_conflict":
      return refuseEarlier(result.earlier, operation.idempotency?.codePrefix);
    case "approval_required":
      call.known.expectedMicros = expectedMicros(price);
      return refuseUnapproved(result.reason, atMostMicros, coveredMicros(call, caller));
    default:
      return refuseUnpayable(result, {
        atMostMicros,
        named: "The call",
        atMs: call.receivedAtMs,
        whatHelps: (leftMicros) => whatHelps(priced, leftMicros),
      });
  }
}

/** Nobody knows when a task ends; most take less than a minute and a half. */
const taskRetryMs = 5_000;

async function refuseByTasks({ call }: PricedCall, openMax: number, gate: Gate): Promise<never> {
  await returnCounted(call, gate);
  return refuse(
    "quota_exceeded",
    `The number of tasks this key may have open at once is ${openMax}.`,
    toldOfLimit({ name: "concurrent_tasks", limit: openMax, retryInMs: taskRetryMs }, gate.clock.wallMs()),
  );
}

/** A repeated request, or too many open tasks, is told first. */
export async function refuseByCap(priced: PricedCall, capMicros: Micros, gate: Gate): Promise<never> {
  const { call, operation, caller } = priced;
  const { atMostMicros } = priced.price;
  await checkEarlier(priced, gate);
  const open = operation.task && (await readBooks(gate.tasks.countOpen(caller.keyId), call, gate));
  if (operation.task && open !== undefined && open >= operation.task.openMax) {
    await refuseByTasks(priced, operation.task.openMax, gate);
  }
  return refuse(
    "estimated_price_exceeds_max_price",
    `The call may cost ${usdFromMicros(atMostMicros)} USD; the cap is ${usdFromMicros(capMicros)} USD.` +
      whatHelps(priced, capMicros),
    {
      retryable: false,
      inError: amounts(atMostMicros, capMicros),
    },
  );
}
