import type { HoldRequest, HoldResult, Release, Resolved, Settlement } from "../../../ledger/ledger.ts";

/** One thing that the ledger is told to do. */
export type LedgerCommand =
  | { readonly kind: "hold"; readonly request: HoldRequest }
  | { readonly kind: "settle"; readonly settlement: Settlement }
  | { readonly kind: "release"; readonly release: Release };

export type AnswerTo<Command extends LedgerCommand> = Command extends { readonly kind: "hold" }
  ? HoldResult
  : Resolved;

/** What came of a command. One that fails leaves no trace, and the others of its batch stand. */
export type CommandAnswer = { readonly result: HoldResult | Resolved } | { readonly failure: unknown };

/** Postponed is a command that would have had to wait for somebody else, and its whole batch with it. */
export type Decided = CommandAnswer | { readonly postponed: true };

export const callIdOf = (command: LedgerCommand): string =>
  command.kind === "hold"
    ? command.request.callId
    : command.kind === "settle"
      ? command.settlement.callId
      : command.release.callId;
