import { membersOf } from "./read-answer.ts";
import type { StreamEvent } from "./stream.ts";

/**
 * What an event says about the failure of its stream, in any dialect; undefined where it is not an error. By then the head
 * of the answer has said success, so only an event can tell.
 */
export function readStreamError({ event, data }: StreamEvent): unknown {
  // Most events are pieces of an answer, and are not parsed only to be passed on.
  if (event !== "error" && !/"(?:error|response\.failed)"/.test(data)) return undefined;
  const said = parsed(data);
  const { type, object, error, response } = membersOf(said);
  if (type === "response.failed") return response ?? said;
  const isError = event === "error" || type === "error" || object === "error" || saysSomething(error);
  return isError ? said : undefined;
}

/** Some vendors send the member with every piece, and nothing in it. */
const saysSomething = (error: unknown): boolean =>
  typeof error === "string" ? error !== "" : Object.keys(membersOf(error)).length > 0;

function parsed(data: string): unknown {
  try {
    return JSON.parse(data) as unknown;
  } catch {
    return data;
  }
}
