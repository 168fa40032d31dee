// By what an operator sees that the gateway lives, and what it did: probes, metrics, request ids and logs.

import { describe, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findFreePort } from "../support/free-port.ts";
import { programEnvironment } from "../support/program-environment.ts";
import { projectFolder } from "../support/project-folder.ts";
import { openTestGateway } from "../support/test-gateway.ts";
import { useStarts } from "../operator/operator-starts.ts";
import { snapshotPath } from "../support/purchases.ts";

const starts = useStarts();
const { start } = starts;

describe("life signs", () => {
  test("whoever is ready to be called can be stopped in order, also before it greets", async () => {
    const port = await findFreePort();
    const child = Bun.spawn([process.execPath, join(projectFolder, "gateway/src/main.ts"), "serve"], {
      cwd: starts.folder,
      env: { ...programEnvironment, PORT: String(port), TOLLGATE_DATA: starts.folder },
      stdout: "ignore",
      stderr: "ignore",
    });
    const isReady = (): Promise<boolean> =>
      fetch(`http://127.0.0.1:${port}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    while (!(await isReady()));
    child.kill("SIGTERM");
    expect(await child.exited).toBe(0);
  });

  test("whoever comes while it starts waits for it, and is answered like everybody else", async () => {
    const port = await findFreePort();
    const starting = start({ port });
    const first = async (path: string): Promise<unknown[]> => {
      for (;;) {
        const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: "GET" }).catch(() => {});
        if (response) return [path, response.status, response.headers.get("x-request-id") !== null];
        await Bun.sleep(1);
      }
    };
    const expected = [
      ["/healthz", 200, true],
      ["/readyz", 200, true],
      ["/v1/models", 401, true],
      ["/v1beta/models", 401, true],
    ];
    expect(await Promise.all(expected.map(([path]) => first(String(path))))).toEqual(expected);
    await starting;
  });

  test("metrics are told to no proxy of this machine without the token, whichever header it writes", async () => {
    const token = "the operator's token";
    const open = await openTestGateway({ parts: { operatorToken: token } });
    const behind = await openTestGateway({
      config: "trusted_proxies: [127.0.0.1]",
      parts: { operatorToken: token },
    });
    try {
      const statusAt = async (url: string, headers: Record<string, string>): Promise<number> =>
        (await fetch(`${url}/metrics`, { headers })).status;
      const proxied = {
        "x-forwarded-for": "203.0.113.9",
        "x-forwarded-host": "api.example.com",
        "x-forwarded-proto": "https",
        "x-real-ip": "203.0.113.9",
        forwarded: "for=203.0.113.9",
        via: "1.1 proxy",
      };
      for (const [name, value] of Object.entries(proxied)) {
        expect([name, await statusAt(open.url, { [name]: value })]).toEqual([name, 403]);
        expect(await statusAt(open.url, { [name]: value, authorization: `Bearer ${token}` })).toBe(200);
      }
      expect(await statusAt(open.url, {})).toBe(200);
      expect(await statusAt(behind.url, {})).toBe(403);
      expect(await statusAt(behind.url, { authorization: `Bearer ${token}` })).toBe(200);
    } finally {
      await open.close();
      await behind.close();
    }
  });

  test("healthz, readyz and metrics need no key; metrics are for this machine or the operator's token", async () => {
    const tollgate = await openTestGateway({ parts: { operatorToken: "the operator's token" } });
    try {
      // Some load balancers look without reading.
      for (const page of ["/healthz", "/readyz", "/metrics"]) {
        expect((await fetch(tollgate.url + page, { method: "HEAD" })).status).toBe(200);
      }
      expect(await (await fetch(`${tollgate.url}/healthz`)).json()).toEqual({ status: "live" });
      expect(await (await fetch(`${tollgate.url}/readyz`)).json()).toEqual({ status: "ready" });
      const account = await tollgate.openAccount();
      await tollgate.call(account, snapshotPath);
      await tollgate.call(account, "/v1/nowhere");
      const metrics = await (await fetch(`${tollgate.url}/metrics`)).text();
      expect(metrics).toContain(
        'tollgate_calls_total{operation="financial.metrics.snapshot",status="200"} 1',
      );
      expect(metrics).toContain('tollgate_refusals_total{code="unknown_endpoint"} 1');
      expect(metrics).toContain(
        'tollgate_charged_micros_usd_total{operation="financial.metrics.snapshot"} 48000',
      );
      // Prometheus reads these as histograms: bounds that grow, counts that never fall, and all of them at last.
      const seconds = (of: string): (string | undefined)[] =>
        [...metrics.matchAll(new RegExp(`^${of}_bucket\\{[^}]*le="([^"]+)"\\} 1$`, "gm"))].map(
          ([, le]) => le,
        );
      expect(seconds("tollgate_call_seconds").at(-1)).toBe("+Inf");
      expect(seconds("tollgate_upstream_seconds")).toContain("60");
      expect(metrics).toMatch(
        /^tollgate_call_seconds_sum\{operation="financial.metrics.snapshot"\} [\d.]+$/m,
      );
      const forwarded = { "x-forwarded-for": "203.0.113.9" };
      expect((await fetch(`${tollgate.url}/metrics`, { headers: forwarded })).status).toBe(403);
      for (const [host, status] of [
        ["evil.example", 403],
        ["evil.example:8787", 403],
        ["localhost:8787", 200],
        ["[::1]:8787", 200],
      ] as const) {
        expect((await fetch(`${tollgate.url}/metrics`, { headers: { host } })).status).toBe(status);
      }
      for (const [authorization, status] of [
        ["Bearer the operator's token", 200],
        ["bearer the operator's token", 200],
        ["BEARER  the operator's token", 200],
        ["Bearer The Operator's Token", 403],
        ["the operator's token", 403],
        ["Basic the operator's token", 403],
        ["Bearer", 403],
      ] as const) {
        const headers = { ...forwarded, authorization };
        const answer = await fetch(`${tollgate.url}/metrics`, { headers });
        expect([authorization, answer.status]).toEqual([authorization, status]);
      }
    } finally {
      await tollgate.close();
    }
  });

  test("readyz names a door that could not be opened, until it can be; nobody has to restart anything", async () => {
    const broken = join(starts.folder, "broken");
    const preload = join(starts.folder, "break-loading.ts");
    // A disk, or a limit on open files, that does not give a library's file when it is first needed.
    writeFileSync(
      preload,
      `import { existsSync, readFileSync } from "node:fs";
       Bun.plugin({ name: "a bad disk", setup: (build) => void build.onLoad(
         { filter: /(@modelcontextprotocol\\/server\\/dist\\/index\\.mjs|oidc-provider\\/lib\\/index\\.js)$/ },
         ({ path }) => {
           if (existsSync(${JSON.stringify(broken)})) throw new Error("input/output error");
           return { contents: readFileSync(path, "utf8"), loader: "js" };
         },
       ) });`,
    );
    writeFileSync(broken, "");
    const { url } = await start({ environment: { BUN_OPTIONS: `--preload ${preload}` } });
    const readiness = async (): Promise<readonly unknown[]> => {
      const response = await fetch(`${url}/readyz`);
      return [response.status, await response.json()];
    };
    const ready = [200, { status: "ready" }];
    // What nobody has asked for is not missed.
    expect(await readiness()).toEqual(ready);
    for (const [path, failing, opened] of [
      ["/mcp", "agents", 401],
      ["/.well-known/oauth-authorization-server", "sign_in", 200],
    ] as const) {
      writeFileSync(broken, "");
      expect([path, (await fetch(url + path)).status]).toEqual([path, 500]);
      expect([path, (await fetch(url + path)).status]).toEqual([path, 500]);
      expect(await readiness()).toEqual([503, { status: "not ready", failing }]);
      rmSync(broken);
      // Where traffic follows readiness, nobody else would come and try.
      expect(await readiness()).toEqual(ready);
      expect([path, (await fetch(url + path)).status]).toEqual([path, opened]);
    }
  });

  test("every answer carries a request id, whoever makes it", async () => {
    const tollgate = await openTestGateway();
    const nameless: string[] = [];
    for (const path of [
      "/",
      "/docs",
      "/nowhere",
      "/healthz",
      "/readyz",
      "/metrics",
      "/mcp",
      "/oauth/grants",
      "/oauth/jwks",
      "/oauth/nowhere",
      "/account",
      "/account/nowhere",
      "/authorize",
      "/token",
      "/.well-known/oauth-authorization-server",
      "/.well-known/oauth-protected-resource/mcp",
      "/sandbox/x/nowhere",
      "/sandbox/nowhere",
      "/api/contracts/version",
      "/api/sales-api-data",
      "/openapi.json",
      "/openapi/account.json",
      "/v1/models",
    ]) {
      for (const method of ["GET", "HEAD", "POST"]) {
        for (const headers of [{}, { host: "evil.example" }]) {
          const response = await fetch(tollgate.url + path, { method, headers });
          if (!/^[0-9a-f-]{36}$/.test(response.headers.get("x-request-id") ?? ""))
            nameless.push(`${method} ${path}`);
        }
      }
    }
    await tollgate.close();
    expect(nameless).toEqual([]);
  });

  test("logs are one JSON object a line, with no body and no header in them", async () => {
    const tollgate = await openTestGateway();
    try {
      const account = await tollgate.openAccount();
      const rerank = (body: object) =>
        tollgate.post(account, "/v1/rerank", body, {
          "x-own": "a secret header",
          "idempotency-key": `a-secret-${crypto.randomUUID()}`,
          "user-agent": "a secret program",
        });
      const question = { query: "a secret question", documents: ["a secret document"] };
      const served = await rerank(question);
      expect(await served.text()).toContain("a secret document");
      expect((await rerank({ ...question, top_n: "a secret number" })).status).toBe(400);
      await tollgate.sandbox.fault({ vendor: "jina", status: 500, times: 1 });
      const failed = await rerank(question);
      expect(failed.status).toBe(500);

      const lines = tollgate.logged.map((line) => JSON.parse(line) as Record<string, unknown>);
      const told = lines.map(({ request_id: id }) => id);
      for (const { headers } of [served, failed]) expect(told).toContain(headers.get("x-request-id"));
      for (const entry of lines) {
        for (const field of ["time", "level", "event"]) expect(entry).toHaveProperty(field);
        expect(JSON.stringify(entry)).not.toMatch(/secret|authorization|user-agent|x-own/i);
      }
    } finally {
      await tollgate.close();
    }
  });
});
