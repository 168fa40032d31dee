import { expect, test } from "bun:test";
import { takingEvents } from "./taking-events.ts";

test("whoever says nothing of what they take, takes events", () => {
  const url = "http://gateway.test/mcp";
  const understood = takingEvents(new Request(url, { method: "DELETE", headers: { "mcp-session-id": "a" } }));
  expect(understood.headers.get("accept")).toBe("application/json, text/event-stream");
  expect([understood.method, understood.url, understood.headers.get("mcp-session-id")]).toEqual([
    "DELETE",
    url,
    "a",
  ]);
});
