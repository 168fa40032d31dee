// Links that the sandbox hands out, followed under the gateway's own address.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { headerValues } from "../doubles/http-wire.ts";
import { openVendorDouble } from "../doubles/vendor-double.ts";
import { callerAt } from "../support/caller.ts";
import { openGatewayProcess } from "../support/gateway-process.ts";
import { openTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import { asynchronous, createPath, quick, taskPath, video, type Resource } from "../tasks/task-caller.ts";

let gateway: TestGateway;
let link: URL;

beforeAll(async () => {
  gateway = await openTestGateway();
  const headers = { authorization: "Bearer sandbox", "x-dashscope-async": "enable" };
  const vendor = `${gateway.sandbox.url}/dashscope`;
  const made = await fetch(`${vendor}/services/aigc/video-generation/video-synthesis`, {
    method: "POST",
    headers,
    body: JSON.stringify({ model: "wan2.6-t2v", input: { prompt: "[queued 0] [running 0]" } }),
  });
  const { output } = (await made.json()) as { output: { task_id: string } };
  const done = (await (await fetch(`${vendor}/tasks/${output.task_id}`, { headers })).json()) as {
    output: { video_url: string };
  };
  link = new URL(done.output.video_url.replace(`${gateway.sandbox.url}/public`, `${gateway.url}/sandbox`));
});
afterAll(() => gateway.close());

const headersOf = ({ headers }: Response) =>
  Object.fromEntries(
    ["content-type", "content-length", "content-range", "accept-ranges"].map((name) => [
      name,
      headers.get(name),
    ]),
  );

test("a video comes whole, or in the part that a player asks for, with its length", async () => {
  const whole = await fetch(link);
  const bytes = await whole.bytes();
  expect(whole.status).toBe(200);
  expect(headersOf(whole)).toEqual({
    "content-type": "video/mp4",
    "content-length": `${bytes.length}`,
    "content-range": null,
    "accept-ranges": "bytes",
  });

  const head = await fetch(link, { method: "HEAD" });
  expect([head.status, headersOf(head), (await head.bytes()).length]).toEqual([200, headersOf(whole), 0]);

  const part = await fetch(link, { headers: { range: "bytes=100-299" } });
  expect(part.status).toBe(206);
  expect(headersOf(part)).toEqual({
    "content-type": "video/mp4",
    "content-length": "200",
    "content-range": `bytes 100-299/${bytes.length}`,
    "accept-ranges": "bytes",
  });
  expect(await part.bytes()).toEqual(bytes.subarray(100, 300));

  const beyond = await fetch(link, { headers: { range: "bytes=999999-" } });
  expect([beyond.status, beyond.headers.get("content-range")]).toEqual([416, `bytes */${bytes.length}`]);
});

test("a link without its signature, or with another expiry, is denied", async () => {
  const later = new URL(link);
  later.searchParams.set("Expires", "9999999999");
  for (const altered of [new URL(link.pathname, link), later]) {
    const denied = await fetch(altered);
    expect([denied.status, denied.headers.get("content-type")]).toEqual([403, "application/xml"]);
    expect(await denied.text()).toContain("<Error>");
  }
});

test("of a caller's headers only the range travels", async () => {
  const double = await openVendorDouble({
    handlers: { "*": () => ({ status: 200, headers: { "set-cookie": "a=b", "x-odd": "1" }, body: "ok" }) },
  });
  const other = await openTestGateway({ parts: { sandboxUrl: double.url } });
  const answer = await fetch(`${other.url}/sandbox/video/a.mp4?Expires=1&Signature=%2B%2F`, {
    headers: { range: "bytes=0-", authorization: "Bearer tgk_secret", cookie: "session=1", "x-odd": "1" },
  });
  expect([answer.status, await answer.text()]).toEqual([200, "ok"]);
  expect([answer.headers.has("set-cookie"), answer.headers.has("x-odd")]).toEqual([false, false]);
  const [seen] = double.requests;
  expect(seen?.target).toBe("/public/video/a.mp4?Expires=1&Signature=%2B%2F");
  expect(headerValues(seen?.headers ?? [], "range")).toEqual(["bytes=0-"]);
  for (const name of ["authorization", "cookie", "x-odd"]) {
    expect(headerValues(seen?.headers ?? [], name)).toEqual([]);
  }
  await other.close();
  await double.close();
});

test("the video of a task made by the shipped program is served under its own address, as pasted", async () => {
  const dataFolder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  // A proxy that the environment names is not for what runs on this machine.
  const dead = "http://127.0.0.1:1";
  const program = await openGatewayProcess({
    dataFolder,
    environment: { HTTP_PROXY: dead, http_proxy: dead },
  });
  const caller = callerAt(program.url);
  const made = await caller.post(program, createPath, video(quick), asynchronous);
  const { task_id: taskId } = ((await made.json()) as Resource).output;
  let seen: Resource["output"] | undefined;
  for (let tries = 0; tries < 20 && seen?.task_status !== "SUCCEEDED"; tries++) {
    await Bun.sleep(600);
    const asked = await caller.call(program, taskPath(taskId));
    seen = ((await asked.json()) as Resource).output;
  }
  expect(seen?.video_url).toStartWith(`${program.url}/sandbox/video/`);
  const response = await fetch(seen?.video_url ?? "");
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "video/mp4"]);
  expect((await response.bytes()).length).toBeGreaterThan(1_000);
  const page = await fetch(`${program.url}/sandbox/x/oauth2/authorize`);
  expect(page.headers.get("content-type")).toStartWith("text/html");
  program.signal("SIGTERM");
  expect(await program.exited).toBe(0);
  rmSync(dataFolder, { recursive: true, force: true });
}, 30_000);

test("links into a sandbox that is gone are a 502 that can be named, and everything else goes on", async () => {
  const alone = await openTestGateway();
  alone.sandbox.stop();
  await until(() =>
    fetch(alone.sandbox.url).then(
      () => false,
      () => true,
    ),
  );
  const form = { "content-type": "application/x-www-form-urlencoded" };
  for (const [path, init] of [
    ["/sandbox/x/oauth2/authorize", {}],
    ["/sandbox/x/oauth2/authorize", { method: "POST", headers: form, body: "a=b" }],
    [link.pathname, {}],
  ] as const) {
    const response = await fetch(alone.url + path, init);
    expect(response.status).toBe(502);
    expect(await response.json()).toEqual({
      error: "provider request failed",
      code: "provider_request_failed",
      request_id: response.headers.get("x-request-id") ?? "",
    });
  }
  expect((await fetch(`${alone.url}/healthz`)).status).toBe(200);
  await alone.close();
});
