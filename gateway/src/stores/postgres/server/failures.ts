import { SQL } from "bun";
import { InDoubt, NotWritten, StoreBusy, StoreFull, StoreRefuses } from "../../../ledger/store-errors.ts";
import { codeOf } from "../../../platform/error-code.ts";
import { messageOf } from "../../../platform/error-message.ts";

/** What the server said, as its five letters; empty when it did not get to say anything. */
const sqlState = (error: unknown): string => (error instanceof SQL.PostgresError ? (error.errno ?? "") : "");

/**
 * Whether the same again may work, a moment later: two transactions stood in each other's way, somebody has a lock, the
 * server is going down or coming up, or nobody could be reached.
 */
export const isPassing = (error: unknown): boolean =>
  passingStates.has(sqlState(error)) ||
  isConnectionLost(error) ||
  isReadOnly(error) ||
  error instanceof NoConnection;

/** Whoever wanted a connection gave up before there was one: all of them are taken, or the server lets nobody in. */
export class NoConnection extends Error {
  constructor() {
    super("There was no connection in time.");
    this.name = "NoConnection";
  }
}

/**
 * Whether the server takes no writes: after a fail-over it is the one that only listens now, or the connection leads to the
 * one that did before. Another connection may find the right one.
 */
export const isReadOnly = (error: unknown): boolean =>
  error instanceof ReadOnlyServer || sqlState(error) === "25006";

export class ReadOnlyServer extends Error {
  constructor() {
    super("The server takes no writes; it may have been replaced by another.");
    this.name = "ReadOnlyServer";
  }
}

/** Whether somebody else kept a lock for longer than anybody should. */
export const isLockedAway = (error: unknown): boolean => sqlState(error) === "55P03";

/** Whether it was in the way of another transaction, or another in its way. */
export const isInTheWay = (error: unknown): boolean => inTheWayStates.has(sqlState(error));

/** Whether the server has as many connections as it takes, or as many of ours. */
export const isWithoutPlace = (error: unknown): boolean => sqlState(error) === "53300";

/** Whether the connection is gone, and with it whatever it had begun. */
export function isConnectionLost(error: unknown): boolean {
  const state = sqlState(error);
  if (state.startsWith("08") || shutdownStates.has(state)) return true;
  // Without a word of the server's it is the driver's own: refused, closed, timed out, broken off.
  const code = codeOf(error);
  return state === "" && code.startsWith("ERR_POSTGRES_") && !ourMistakes.has(code) && !keptOut.has(code);
}

/** Whether not even a connection was made: the server is not there, or not at this address. */
export const isUnreached = (error: unknown): boolean =>
  error instanceof NoConnection || unreached.has(codeOf(error));

/**
 * Whether somebody between us and the server speaks, who shares its connections out: he knows no bounds that a connection asks
 * for, or has given our statements to another one.
 */
export const isPooler = (error: unknown): boolean =>
  lostStatementStates.has(sqlState(error)) ||
  (sqlState(error) === "08P01" && messageOf(error).includes("startup parameter"));

/**
 * Whether the server does not let us in, or not to the tables: a password was changed, a database dropped, a privilege taken
 * back, TLS is not what the address says. Trying again helps nobody before somebody has mended it.
 */
const isTurnedAway = (error: unknown): boolean =>
  sqlState(error).startsWith("28") || keptOutStates.has(sqlState(error)) || keptOut.has(codeOf(error));

/** Turns a Postgres error into one of ledger/store-errors.ts, so nobody else has to know the database. */
export function toldAs(error: unknown): unknown {
  if (error instanceof NotWritten || error instanceof InDoubt) return error;
  if (sqlState(error) === "53100") return new StoreFull();
  if (isTurnedAway(error)) return new StoreRefuses({ cause: error });
  return isPassing(error) ? new StoreBusy({ cause: error }) : error;
}

const shutdownStates = new Set(["57P01", "57P02", "57P03", "57P05"]);
/** Serialization, deadlock, a lock that took too long. */
const inTheWayStates = new Set(["40001", "40P01", "55P03"]);
/** A statement or a pause that took too long, too many connections. */
const passingStates = new Set([...inTheWayStates, "57014", "53300", "25P03"]);
/** There is one of this name already, or none. */
const lostStatementStates = new Set(["42P05", "26000"]);
/** The driver says no more than this of a host that nobody knows, a port where nobody listens, and one that hangs up. */
const unreached = new Set([
  "ERR_POSTGRES_CONNECTION_REFUSED",
  "ERR_POSTGRES_CONNECTION_FAILED",
  "ERR_POSTGRES_CONNECTION_TIMEOUT",
]);
/** No such database, no such schema, no privilege. */
const keptOutStates = new Set(["3D000", "3F000", "42501"]);
/** The server and the address do not agree on how to get in. */
const keptOut = new Set([
  "ERR_POSTGRES_TLS_NOT_AVAILABLE",
  "ERR_POSTGRES_UNKNOWN_AUTHENTICATION_METHOD",
  "ERR_POSTGRES_UNSUPPORTED_AUTHENTICATION_METHOD",
  "ERR_POSTGRES_SASL_NO_KNOWN_MECHANISM",
]);
/** The driver refuses what we wrote: trying again would never end. */
const ourMistakes = new Set(["ERR_POSTGRES_SYNTAX_ERROR", "ERR_POSTGRES_INVALID_QUERY_BINDING"]);
