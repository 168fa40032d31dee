// How the journal is written: one JSON array for each thing that happened to a call, in the order it happened.

import type { Quantities } from "../../operation/quantities.ts";
import type { CallRows } from "./call-rows.ts";
import type { CallEnd, HeldCall, Sheet } from "./sheet.ts";

/** Written by hand, because every call waits for this line. */
export function heldLine(call: HeldCall): string {
  const { heldMicros, multiplierPpm, budgetDayMs, runId, createdAtMs, claim } = call;
  const claimed = claim ? `,"${textOf(claim.keyHash)}","${textOf(claim.fingerprint)}"` : "";
  return (
    `["held",${JSON.stringify(call.callId)},${quoted(call.accountId)},${quoted(call.keyId)},${quoted(call.operationId)},` +
    `${quotedOrNull(call.model)},"${heldMicros}",${quoted(call.priceVersion)},"${multiplierPpm}",${budgetDayMs},` +
    `${quotedOrNull(call.grantId)},"${runId}",${createdAtMs}${claimed}]`
  );
}

export const sentLine = (callId: string, atMs: number): string => JSON.stringify(["sent", callId, atMs]);

export const progressLine = (callId: string, used: Quantities): string =>
  JSON.stringify(["progress", callId, used]);

/** The call's own row says how it ended; what the account carries on stands nowhere else. */
export const endLine = (callId: string, { carry, freedKeyHash }: CallEnd): string =>
  JSON.stringify([
    "end",
    callId,
    String(carry.chargeAtto),
    String(carry.valuePico),
    ...(freedKeyHash ? [textOf(freedKeyHash)] : []),
  ] satisfies EndWords);

/** Puts what a commit wrote on the sheet again. */
export function readLines(text: string, sheet: Sheet, rows: Pick<CallRows, "findHeld" | "findEnd">): void {
  // Our own programs wrote these lines, in the shapes named here.
  for (const words of JSON.parse(text) as (HeldWords | SentWords | ProgressWords | EndWords)[]) {
    const [kind, callId] = words;
    if (kind === "held") {
      sheet.hold(heldOf(words));
      continue;
    }
    const call = sheet.open.get(callId)?.held ?? rows.findHeld(callId);
    if (kind === "sent") sheet.send(call, words[2]);
    else if (kind === "progress") sheet.progress(call, words[2]);
    else sheet.end(call, { ...rows.findEnd(callId), ...restOfEnd(words) });
  }
}

/** As JSON writes it. Names of accounts, keys, operations and models come again and again, so they are remembered. */
function quoted(name: string): string {
  let words = quotedNames.get(name);
  if (words === undefined) {
    if (quotedNames.size >= quotedNamesMax) quotedNames.clear();
    quotedNames.set(name, (words = JSON.stringify(name)));
  }
  return words;
}
const quotedNames = new Map<string, string>();
const quotedNamesMax = 10_000;

const quotedOrNull = (name: string | null): string | null => (name === null ? null : quoted(name));

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
type SentWords = ["sent", callId: string, atMs: number];
type ProgressWords = ["progress", callId: string, used: Quantities];
type EndWords = ["end", callId: string, chargeAtto: string, valuePico: string, ...freedKeyHash: string[]];

const heldOf = (words: HeldWords): HeldCall => {
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
};

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
