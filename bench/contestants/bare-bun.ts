// The least a gateway on Bun can be: it parses both bodies, because nothing can be metered without that, and does
// nothing else. Run as a program it is the proxy; imported it is the contestant.

import { anyKeys, type Contestant } from "../rig/contestant.ts";
import { openBunProcess } from "../rig/bun-process.ts";
import { findFreePort } from "../../test/support/free-port.ts";

export const bareBun: Contestant = {
  name: "bare Bun proxy",
  open: async (upstream) => {
    const port = await findFreePort();
    const url = `http://127.0.0.1:${port}`;
    const environment = { PORT: String(port), UPSTREAM: `http://127.0.0.1:${upstream.port}` };
    const running = await openBunProcess([import.meta.path], environment, url);
    return { url, pid: running.pid, keys: anyKeys, compiles: true, close: running.close };
  },
};

if (import.meta.main) {
  const upstream = process.env["UPSTREAM"] ?? "";
  Bun.serve({
    hostname: "127.0.0.1",
    port: Number(process.env["PORT"]),
    idleTimeout: 60,
    fetch: (request) => {
      const { pathname, search } = new URL(request.url);
      return pathname === "/" ? new Response("ready") : forward(request, upstream + pathname + search);
    },
  });
}

async function forward(request: Request, url: string): Promise<Response> {
  const text = request.method === "POST" ? await request.text() : undefined;
  const asked = text === undefined ? {} : (JSON.parse(text) as { stream?: boolean });
  const response = await (text === undefined
    ? fetch(url)
    : fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: text }));
  const headers = { "content-type": response.headers.get("content-type") ?? "" };
  if (asked.stream === true) return new Response(response.body, { status: response.status, headers });
  const answer = await response.text();
  JSON.parse(answer);
  return new Response(answer, { status: response.status, headers });
}
