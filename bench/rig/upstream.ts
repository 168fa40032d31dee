import { findFreePort } from "../../test/support/free-port.ts";
import { openNginx } from "./nginx.ts";

export interface Upstream {
  readonly port: number;
  /** Up to where an OpenAI client would be pointed; the path of an endpoint follows. */
  readonly url: string;
  readonly close: () => Promise<void>;
}

/** An upstream that costs next to nothing: nginx with one answer for everything it is asked. */
export async function openUpstream(answer: { contentType: string; body: string }): Promise<Upstream> {
  const port = await findFreePort();
  if (answer.body.includes("$")) throw new Error("nginx would take a dollar sign for a variable.");
  const parts = (answer.body.match(partPattern) ?? []).map((part) =>
    part.replaceAll("\\", "\\\\").replaceAll("'", "\\'"),
  );
  const server = `
    server {
      listen 127.0.0.1:${port} backlog=4096;
      default_type ${answer.contentType};
      ${parts.map((part, at) => `set $part${at} '${part}';`).join("\n")}
      location / { return 200 "${parts.map((_, at) => `\${part${at}}`).join("")}"; }
    }`;
  const nginx = await openNginx(port, server);
  return { port, url: `http://127.0.0.1:${port}/v1`, close: nginx.close };
}

/** nginx reads no word longer than 4 KiB; backslashes before quotes make parts longer. */
const partPattern = /[^]{1,2000}/g;
