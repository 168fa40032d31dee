import { createRequestStateCodec, type RequestStateCodec } from "@modelcontextprotocol/server";

/** What a client carries while its person is asked: which approval, how it was asked, and for which arguments. */
export interface AskedState {
  readonly approval: string;
  readonly mode: "form" | "url";
  readonly question: string;
}

export type RequestStates = RequestStateCodec<AskedState>;

/** As long as the approval behind it can be given. */
const ttlSeconds = 15 * 60;

/** Sealed under the installation's secret and bound to who asked; that it works only once is the approval's matter. */
export const createRequestStates = (key: Uint8Array): RequestStates =>
  createRequestStateCodec<AskedState>({
    key,
    ttlSeconds,
    bind: (ctx) => `${ctx.mcpReq.method}\0${ctx.http?.authInfo?.clientId ?? ""}`,
  });
