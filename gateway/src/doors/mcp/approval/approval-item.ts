import type { ApprovalItem } from "../../../approvals/approvals.ts";
import type { Micros } from "../../../platform/money.ts";
import { fitInto, jsonBytes, worthBytes } from "../calls/fit-result.ts";
import type { Cost } from "../calls/run-operation.ts";
import type { UseArguments } from "../tools/tool-shapes.ts";
import { sortMembers } from "../../../platform/sort-members.ts";

/** As much as a person reads before deciding. It grows with the number of members, because each must be seen. */
const summaryBytes = 600;
const summaryBytesMax = 4 * 1024;

/** For all calls of a question together, because every open question lies on disk. */
const argumentsBytesMax = 32 * 1024;

export interface AskedCall {
  readonly call: Pick<UseArguments, "operation_id" | "arguments">;
  readonly digest: Uint8Array;
  readonly cost: Cost;
}

/** Calls as a person is asked about them. Each may hold what it can cost now, which its cap allows. */
export function approvalItems(calls: readonly AskedCall[]): ApprovalItem[] {
  const roomBytes = Math.floor(argumentsBytesMax / calls.length);
  return calls.map(({ call, digest, cost }) => {
    const shown = fitInto(call.arguments, roomBytes);
    return {
      operationId: call.operation_id,
      digest,
      capMicros: cost.atMostMicros,
      expectedMicros: cost.expectedMicros,
      summary: plainly(fitInto(call.arguments, summaryRoom(call.arguments))),
      arguments: plainly(shown),
      argumentsCut: shown !== call.arguments,
    };
  });
}

/** An agent chooses the order of its members and how long they are: none may push another one out of sight. */
function summaryRoom(given: UseArguments["arguments"]): number {
  const names = Object.keys(given).reduce((sum, name) => sum + jsonBytes(name) + worthBytes, worthBytes * 2);
  return Math.min(Math.max(names, summaryBytes), summaryBytesMax);
}

/** Characters that nobody sees, but that change how others are read, are written as their codes. */
const plainly = (value: unknown): string =>
  JSON.stringify(value).replaceAll(/[\p{Cf}\p{Zl}\p{Zp}]/gu, (unseen) =>
    [...Array(unseen.length).keys()]
      .map((at) => `\\u${unseen.charCodeAt(at).toString(16).padStart(4, "0")}`)
      .join(""),
  );

/** Names these very arguments and this cap: an approval of them allows nothing else. */
export function callDigest(
  place: string,
  call: Pick<UseArguments, "operation_id" | "arguments">,
  capMicros: Micros,
): Uint8Array {
  const content = JSON.stringify([place, call.operation_id, sortMembers(call.arguments), String(capMicros)]);
  return new Bun.CryptoHasher("sha256").update(content).digest();
}
