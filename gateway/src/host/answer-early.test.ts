import { expect, test } from "bun:test";
import { answerEarly } from "./answer-early.ts";
import { createListen } from "./listen.ts";

test("what a caller asked who did not wait for the start is never done; those who wait are served", async () => {
  const opening = Promise.withResolvers<Parameters<typeof answerEarly>[2]>();
  const done: string[] = [];
  const gateway = {
    answer: async ({ target }: { readonly target: string }) => {
      done.push(target);
      return new Response("served");
    },
  };
  const starting = { opening: opening.promise.then(() => gateway), newId: () => "id" };
  const listener = createListen()({
    host: "127.0.0.1",
    port: 0,
    answer: (request, peer) => answerEarly(request, peer, starting),
  });
  const ask = (path: string, signal?: AbortSignal) =>
    fetch(`http://127.0.0.1:${listener.port}${path}`, { method: "POST", body: "{}", signal: signal ?? null });
  try {
    const waits = ask("/waits");
    expect(await ask("/leaves", AbortSignal.timeout(100)).catch(() => "left")).toBe("left");
    await Bun.sleep(50);
    opening.resolve(starting);
    expect(await (await waits).text()).toBe("served");
    expect(done).toEqual(["/waits"]);
  } finally {
    await listener.stop(true);
  }
});

test("nobody waits for ever for a start that is held up", async () => {
  const starting = { opening: new Promise<never>(() => {}), newId: () => "id", patienceMs: 20 };
  const listener = createListen()({
    host: "127.0.0.1",
    port: 0,
    answer: (request, peer) => answerEarly(request, peer, starting),
  });
  try {
    const { status, headers } = await fetch(`http://127.0.0.1:${listener.port}/`);
    expect([status, headers.get("x-request-id"), headers.get("retry-after")]).toEqual([503, "id", "1"]);
  } finally {
    await listener.stop(true);
  }
});
