import { afterAll, expect, test } from "bun:test";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { probe } from "./probe.ts";

const closings: (() => unknown)[] = [];
afterAll(() => closings.forEach((close) => void close()));

/** Answers with these bytes, whatever it is asked. */
async function openVendor(answer: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end(answer));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  closings.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const empty = "Content-Length: 0\r\n\r\n";

test.each([
  ["a page", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"],
  ["that nothing is there", `HTTP/1.1 404 Not Found\r\n${empty}`],
  ["that it wants a key", `HTTP/1.1 401 Unauthorized\r\n${empty}`],
  ["with the way to another place", `HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n${empty}`],
  ["with more than anybody wants to know", `HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n`],
])("a vendor that answers %s is reachable", async (_what, answer) => {
  expect(await probe(await openVendor(answer))).toBe("reachable");
});

test("of one that is not, it is said why", async () => {
  expect(await probe("http://127.0.0.1:1")).toContain("no connection");
  expect(await probe(await openVendor("SSH-2.0-x\r\n"))).toContain("not HTTP/1.1");
  expect(await probe(await openVendor(""))).toContain("breaks off");
});

test("a vendor is asked as calls ask it, and not through a proxy that the environment names", async () => {
  const vendor = await openVendor(`HTTP/1.1 404 Not Found\r\n${empty}`);
  const dead = "http://127.0.0.1:1";
  // Where proxies are is read when a process starts.
  const program = `import { probe } from ${JSON.stringify(join(import.meta.dir, "probe.ts"))};
    console.log(await probe(${JSON.stringify(vendor)}));`;
  const child = Bun.spawn([process.execPath, "-e", program], {
    env: { ...process.env, HTTP_PROXY: dead, http_proxy: dead },
    stdout: "pipe",
  });
  expect(await new Response(child.stdout).text()).toBe("reachable\n");
});
