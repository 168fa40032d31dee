import { expect, test } from "bun:test";
import { askDirectly } from "./ask-directly.ts";

test("who does not answer, or not to the end, is given up", async () => {
  using silent = Bun.serve({ port: 0, fetch: () => new Promise<Response>(() => {}) });
  using slow = Bun.serve({
    port: 0,
    fetch: () =>
      new Response(
        new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode("begun")) }),
      ),
  });
  for (const { url } of [silent, slow]) {
    const asking = askDirectly(url.href, { method: "GET", headers: {}, timeoutMs: 200 });
    expect(await asking.catch(() => "given up")).toBe("given up");
  }
});
