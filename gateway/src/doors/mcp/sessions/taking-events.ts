const both = "application/json, text/event-stream";

/**
 * The protocol's library opens sessions only to clients that name both types in the protocol's own letters. Its answers
 * are streams of events: whoever takes those, or says nothing, or that anything will do, is understood as well.
 */
export function takingEvents(request: Request): Request {
  const accepted = request.headers.get("accept");
  if (accepted === both || !takesEvents(accepted)) return request;
  const headers = new Headers(request.headers);
  headers.set("accept", both);
  return new Request(request.url, { method: request.method, headers, signal: request.signal });
}

const takesEvents = (accepted: string | null): boolean =>
  accepted === null || /(?:^|,)\s*(?:\*\/\*|text\/(?:\*|event-stream))\s*(?:[;,]|$)/i.test(accepted);
