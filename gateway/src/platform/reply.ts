import type { PacedBody } from "./paced-body.ts";

/**
 * The answer to a call, with no more than what has to be written: a `Response` costs as much as many a step of the call.
 * Pages, of which there are few, are answered with one.
 */
export interface Reply {
  readonly status: number;
  /** Lines as they are sent, each with its end: all but those about the body's length and the connection. */
  readonly headerLines: string;
  readonly body: string | Uint8Array | PacedBody;
  /** The connection ends with this answer. */
  readonly closes: boolean;
  /** Whose it is, where that is known: what owners leave unread is counted together. */
  readonly owner?: string | undefined;
}

/** A page, and the account that it was made for. */
export interface OwnedPage {
  readonly page: Response;
  readonly owner: string | undefined;
}

/** Whatever a request is answered with. */
export type Answered = Reply | Response | OwnedPage;

export const isPaced = (body: Reply["body"]): body is PacedBody =>
  typeof body !== "string" && !(body instanceof Uint8Array);

/** The same in the web's own form, where somebody has to add to it. Only of one that is here as a whole. */
export function responseOf({ status, headerLines, body, closes }: Reply): Response {
  if (isPaced(body)) throw new Error("A stream has no other form.");
  const headers = new Headers();
  for (const line of headerLines.split("\r\n").filter((each) => each !== "")) {
    const colon = line.indexOf(":");
    headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  if (closes) headers.set("connection", "close");
  return new Response(body, { status, headers });
}
