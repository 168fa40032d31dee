// How the journal is written: one JSON array for each thing that happened to a call, in the order it happened.

import type { Quantities } from "../../../prices/quantities.ts";
import type { CallRows } from "./call-rows.ts";
import type { CallEnd, HeldCall } from "../../held-call.ts";
import type { Sheet } from "./sheet.ts";

/** Written by hand, because every call waits for this line. */
export function heldLine(call: HeldCall): string {
  const { callId, heldMicros, createdAtMs, claim } = call;
  const { who, how } = wordsInCommon(call);
  const claimed = claim ? `,"${textOf(claim.keyHash)}","${textOf(claim.fingerprint)}"` : "";
  return `["held",${JSON.stringify(callId)},${who},"${heldMicros}",${how},${createdAtMs}${claimed}]`;
}

/** By the word that the files of earlier programs have for it, which are read too. */
export const dispatchedLine = (callId: string, atMs: number): string =>
  JSON.stringify(["sent", callId, atMs]);

export const progressLine = (callId: string, used: Quantities): string =>
  JSON.stringify(["progress", callId, used]);

/** The call's own row says how it ended; what the account carries on stands nowhere else. */
export function endLine(callId: string, { carry, freedKeyHash }: CallEnd): string {
  const freed = freedKeyHash ? `,"${textOf(freedKeyHash)}"` : "";
  return `["end",${JSON.stringify(callId)},"${carry.chargeAtto}","${carry.valuePico}"${freed}]`;
}

/** Puts what a commit wrote on the sheet again. */
export function readLines(text: string, sheet: Sheet, rows: Pick<CallRows, "findHeld" | "findEnd">): void {
  // Our own programs wrote these lines, in the shapes named here.
  for (const words of JSON.parse(text) as (HeldWords | DispatchedWords | ProgressWords | EndWords)[]) {
    const [kind, callId] = words;
    if (kind === "held") {
      sheet.hold(heldOf(words));
      continue;
    }
    const call = sheet.open.get(callId)?.held ?? rows.findHeld(callId);
    if (kind === "sent") sheet.dispatch(call, words[2]);
    else if (kind === "progress") sheet.progress(call, words[2]);
    else sheet.end(call, { ...rows.findEnd(callId), ...restOfEnd(words) });
  }
}

/** Most of what a line says, the line of its key's last call said too. */
function wordsInCommon(call: HeldCall): InCommon {
  const last = lastOfKeys.get(call.keyId);
  if (last && sayTheSame(last.call, call)) return last;
  const { accountId, keyId, operationId, model, priceVersion, multiplierPpm, budgetDayMs, grantId, runId } =
    call;
  const who = JSON.stringify([accountId, keyId, operationId, model]).slice(1, -1);
  const how = JSON.stringify([priceVersion, `${multiplierPpm}`, budgetDayMs, grantId, `${runId}`]).slice(
    1,
    -1,
  );
  const words = { call, who, how };
  if (lastOfKeys.size >= lastOfKeysMax) lastOfKeys.clear();
  lastOfKeys.set(keyId, words);
  return words;
}

interface InCommon {
  readonly call: HeldCall;
  readonly who: string;
  readonly how: string;
}
const lastOfKeys = new Map<string, InCommon>();
const lastOfKeysMax = 10_000;

const sayTheSame = (one: HeldCall, other: HeldCall): boolean =>
  one.accountId === other.accountId &&
  one.operationId === other.operationId &&
  one.model === other.model &&
  one.priceVersion === other.priceVersion &&
  one.multiplierPpm === other.multiplierPpm &&
  one.budgetDayMs === other.budgetDayMs &&
  one.grantId === other.grantId &&
  one.runId === other.runId;

type HeldWords = [
  "held",
  callId: string,
  accountId: string,
  keyId: string,
  operationId: string,
  model: string | null,
  heldMicros: string,
  priceVersion: string,
  multiplierPpm: string,
  budgetDayMs: number | null,
  grantId: string | null,
  runId: string,
  createdAtMs: number,
  ...claim: string[],
];
type DispatchedWords = ["sent", callId: string, atMs: number];
type ProgressWords = ["progress", callId: string, used: Quantities];
type EndWords = ["end", callId: string, chargeAtto: string, valuePico: string, ...freedKeyHash: string[]];

function heldOf(words: HeldWords): HeldCall {
  const [, callId, accountId, keyId, operationId, model, heldMicros, priceVersion, multiplierPpm] = words;
  const [, , , , , , , , , budgetDayMs, grantId, runId, createdAtMs, keyHash, fingerprint] = words;
  return {
    callId,
    accountId,
    keyId,
    operationId,
    model,
    heldMicros: BigInt(heldMicros),
    priceVersion,
    multiplierPpm: BigInt(multiplierPpm),
    budgetDayMs,
    grantId,
    runId: BigInt(runId),
    createdAtMs,
    claim:
      keyHash === undefined || fingerprint === undefined
        ? undefined
        : { keyHash: bytesOf(keyHash), fingerprint: bytesOf(fingerprint) },
  };
}

const restOfEnd = ([, , chargeAtto, valuePico, freed]: EndWords): Pick<
  CallEnd,
  "carry" | "freedKeyHash"
> => ({
  carry: { chargeAtto: BigInt(chargeAtto), valuePico: BigInt(valuePico) },
  freedKeyHash: freed === undefined ? undefined : bytesOf(freed),
});

const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
const bytesOf = (text: string): Uint8Array => Buffer.from(text, "base64");
