// What a browser wants to hear before it lets a page talk to this door. Only pages whose origin was let in come here.

const methods = "POST, GET, DELETE";
const rememberedSeconds = 3600;

/** The question a browser asks before the page may call. Whoever calls brings a credential of their own, never a cookie. */
export function answerPreflight({ method, headers }: Request): Response | undefined {
  if (method !== "OPTIONS" || !headers.has("access-control-request-method")) return undefined;
  return new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-methods": methods,
      "access-control-allow-headers": headers.get("access-control-request-headers") ?? "authorization",
      "access-control-max-age": String(rememberedSeconds),
      vary: "access-control-request-headers",
    },
  });
}

/** Lets the page read the answer, with the headers that name its session and say where to sign in. */
export function showToPage({ headers }: Request, answer: Response): Response {
  const origin = headers.get("origin");
  if (origin === null) return answer;
  answer.headers.set("access-control-allow-origin", origin);
  answer.headers.set("access-control-expose-headers", "*");
  answer.headers.append("vary", "origin");
  return answer;
}
