import { isSameSecret } from "../../keys/is-same-secret.ts";
import { isIP } from "node:net";
import type { IsProxy } from "../../platform/caller-address.ts";
import type { AnswerVisit, Door } from "../../platform/door.ts";
import { isGetOrHead } from "../../platform/http-request.ts";
import type { Metrics } from "../../platform/metrics.ts";

/** Names what the gateway cannot do without right now; undefined when it is ready. */
type Readiness = () => Promise<string | undefined>;

interface Parts {
  readonly metrics: Metrics;
  readonly readiness: Readiness;
  /** Lets the operator read metrics from elsewhere than this machine. */
  readonly operatorToken: string | undefined;
  readonly isProxy: IsProxy;
}

/** Life signs and figures for whoever runs the gateway. No caller's key opens or closes them. */
export function createOperatorPages({ metrics, readiness, ...operator }: Parts): Door {
  const pages: Readonly<Record<string, AnswerVisit>> = {
    "/healthz": async () => Response.json({ status: "live" }),
    "/readyz": async () => {
      const failing = await readiness();
      return failing === undefined
        ? Response.json({ status: "ready" })
        : Response.json({ status: "not ready", failing }, { status: 503 });
    },
    "/metrics": async ({ request, visitor }) => {
      if (!isOperator(request, visitor.address(), operator)) {
        return Response.json({ error: "metrics are for the operator", code: "forbidden" }, { status: 403 });
      }
      return new Response(metrics.render(), { headers: { "content-type": "text/plain; version=0.0.4" } });
    },
  };
  return {
    name: "a page",
    find: (request, path) => (isGetOrHead(request) && Object.hasOwn(pages, path) ? pages[path] : undefined),
  };
}

const loopback = /^(127\.|::1$|::ffff:127\.)/;

/** Every usual proxy writes at least one of these. One that writes none looks like this machine itself. */
const writtenByProxies = [
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-real-ip",
  "forwarded",
  "via",
];

/** The token is whatever the operator chose, spaces included. */
const bearer = /^bearer +(.+)$/i;

/** A request from this machine itself, unless a proxy on this machine passed it on for somebody else. */
function isOperator(
  request: Request,
  address: string | undefined,
  { operatorToken: token, isProxy }: Pick<Parts, "operatorToken" | "isProxy">,
): boolean {
  const presented = bearer.exec(request.headers.get("authorization") ?? "")?.[1];
  if (token !== undefined && presented !== undefined && isSameSecret(presented, token)) return true;
  if (address === undefined || !loopback.test(address) || isProxy(address)) return false;
  return !writtenByProxies.some((name) => request.headers.has(name)) && namesThisMachine(request);
}

/** A web page in the operator's browser can reach us under a name that it points here, but never by number. */
function namesThisMachine(request: Request): boolean {
  const host = (request.headers.get("host") ?? "").replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1");
  return host === "" || host === "localhost" || isIP(host) !== 0;
}
