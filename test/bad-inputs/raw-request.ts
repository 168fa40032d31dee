// Requests as bytes, for what no honest client sends.

import { sendRaw, type RawExchange } from "../doubles/raw-http.ts";
import type { TestAccount } from "../support/test-gateway.ts";

interface RawRequest {
  /** Default: `GET /v1/credits/balance HTTP/1.1`. */
  readonly line?: string;
  readonly host?: string | undefined;
  readonly key?: TestAccount | undefined;
  /** Further header lines, without their ends. */
  readonly lines?: readonly string[];
  readonly body?: string;
}

export const rawRequest = ({
  line = "GET /v1/credits/balance HTTP/1.1",
  key,
  lines = [],
  body = "",
  ...rest
}: RawRequest): string => {
  const host = "host" in rest ? rest.host : "gateway.test";
  const head = [
    line,
    ...(host === undefined ? [] : [`Host: ${host}`]),
    ...(key === undefined ? [] : [`Authorization: Bearer ${key.key}`]),
    ...lines,
  ];
  return `${head.join("\r\n")}\r\n\r\n${body}`;
};

/** One answer, and what became of the connection a moment later. */
export interface RawAnswer {
  readonly status: number | undefined;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly answers: number;
  readonly closed: boolean;
}

const summary = (exchange: RawExchange): RawAnswer => {
  const [first] = exchange.responses;
  return {
    status: first?.status,
    body: Buffer.from(first?.bodyBytes ?? []).toString("utf8"),
    headers: Object.fromEntries((first?.headers ?? []).map(([name, value]) => [name.toLowerCase(), value])),
    answers: exchange.responses.length,
    closed: exchange.closed,
  };
};

/** Sends and waits for the end of the connection; 300 ms without one count as kept open. */
export const sendUntilClosed = async (port: number, bytes: string | Uint8Array, waitMs = 300) =>
  summary(await sendRaw(port, bytes, { waitMs }));

/** Sends and waits for one answer. */
export const sendForOne = async (port: number, bytes: string | Uint8Array) =>
  summary(await sendRaw(port, bytes, { expectResponses: 1, waitMs: 5_000 }));
