// Asks a gateway in the same process, without a socket.

import type { Gateway } from "../../gateway/src/gateway.ts";
import type { PacedBody } from "../../gateway/src/platform/paced-body.ts";
import { isPaced, responseOf } from "../../gateway/src/platform/reply.ts";

export async function askDirectly(gateway: Gateway, request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const asked = {
    method: request.method,
    target: pathname + search,
    headers: {
      get: (name: string) => request.headers.get(name),
      has: (name: string) => request.headers.has(name),
      areMoreThan: (count: number) => request.headers.count > count,
    },
    fault: undefined,
    body: request.body,
    bytes: () => request.bytes(),
    toRequest: () => request,
  };
  const answer = await gateway.answer(asked);
  if (answer instanceof Response) return answer;
  if ("page" in answer) return answer.page;
  const { body } = answer;
  if (!isPaced(body)) return responseOf(answer);
  const { status, headers } = responseOf({ ...answer, body: "" });
  return new Response(streamOf(body), { status, headers });
}

const streamOf = (body: PacedBody): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start: async (controller) => {
      await body.write({
        send: (piece) => {
          controller.enqueue(typeof piece === "string" ? Buffer.from(piece) : piece);
          return undefined;
        },
      });
      controller.close();
    },
    cancel: () => body.cancel(),
  });
