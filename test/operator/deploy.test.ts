// The files in examples/deploy as they stand: nginx in front of a gateway, with only ports and certificates replaced.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { findFreePort } from "../support/free-port.ts";
import { completeAddresses } from "../../gateway/src/config/addresses.ts";
import { patienceUsualMs } from "../../gateway/src/host/drain.ts";
import { useTool } from "../agents/agent-client.ts";
import { openOpenAiDouble } from "../doubles/openai.ts";
import type { ModelDouble } from "../doubles/model-book.ts";
import { projectFolder } from "../support/project-folder.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";

const examples = join(projectFolder, "examples/deploy");
const textOf = (name: string): string => readFileSync(join(examples, name), "utf8");

const nginx = Bun.which("nginx");

describe.skipIf(nginx === null)("nginx in front, as in the example (skipped where there is no nginx)", () => {
  const name = "api.example.com";
  let folder: string;
  let gateway: TestGateway;
  let account: TestAccount;
  let openai: ModelDouble;
  let proxy: Bun.Subprocess;
  /** The same server twice: as the example has it, and without encryption for clients that would not believe it. */
  let encrypted: string;
  let plain: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "tollgate-deploy-"));
    openai = await openOpenAiDouble({ key: "vendor-key", models: ["gpt-4o-mini"] });
    const trusted = /^# +(trusted_proxies: .*)$/m.exec(textOf("nginx-site.conf"))?.[1] ?? "";
    gateway = await openTestGateway({
      config: `${trusted}\nupstreams: { openai: { protocol: openai, url: "${openai.url}", key: vendor-key } }`,
      parts: { addresses: completeAddresses(`https://${name}`) },
    });
    account = await gateway.openAccount();
    const [tls, open] = [await findFreePort(), await findFreePort()];
    [encrypted, plain] = [`https://127.0.0.1:${tls}`, `http://127.0.0.1:${open}`];
    writeCertificate(folder, name);
    const file = join(folder, "nginx.conf");
    writeFileSync(file, configuration(folder, { tls, open, gateway: gateway.port }));
    const words = ["nginx", "-c", file, "-p", folder, "-e", join(folder, "error.log")];
    const checked = Bun.spawnSync([...words, "-t"]);
    if (!checked.success) throw new Error(checked.stderr.toString());
    proxy = Bun.spawn(words, { stdout: "ignore", stderr: "inherit" });
    await until(() =>
      fetch(`${plain}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
  });
  afterAll(async () => {
    proxy.kill("SIGTERM");
    await proxy.exited;
    await gateway.close();
    await openai.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const headers = (): Record<string, string> => ({
    authorization: `Bearer ${account.key}`,
    "content-type": "application/json",
    host: name,
  });
  const chat = { model: "gpt-4o-mini", messages: [{ role: "user", content: "Hello." }], stream: true };

  test("a stream passes event by event, and ends with what it cost", async () => {
    // The vendor tells three events one by one, falls silent, and goes on only later.
    openai.answerNext({ kind: "stream", everyMs: 50, afterEvents: 3, fault: "stall", stallMs: 2_000 });
    const startedMs = performance.now();
    const response = await fetch(`${plain}/v1/chat/completions`, {
      method: "POST",
      headers: headers(),
      body: JSON.stringify(chat),
    });
    let early = "";
    let text = "";
    if (!response.body) throw new Error("The stream has no body.");
    for await (const piece of response.body as ReadableStream<Uint8Array>) {
      text += new TextDecoder().decode(piece);
      if (performance.now() - startedMs < 1_500) early = text;
    }
    expect(early.match(/^data: /gm)).toHaveLength(3);
    expect(performance.now() - startedMs).toBeGreaterThan(2_000);
    expect(text).toContain("data: [DONE]");
    expect(text).toMatch(/: tollgate \{"request_id":"[^"]+","cost_micros_usd":\d+\}/);
  });

  test("large requests pass, over HTTP/2 and TLS, and none beyond what the gateway takes", async () => {
    const file = join(folder, "large.json");
    const large = {
      ...chat,
      stream: false,
      messages: [{ role: "user", content: "a".repeat(5 * 1024 * 1024) }],
    };
    writeFileSync(file, JSON.stringify({ ...large, max_tokens: 5 }));
    const key = ["-H", `Authorization: Bearer ${account.key}`];
    const quoted = ["-H", "Content-Type: application/json", "-H", "X-Tollgate-Cost-Mode: quote"];
    const shown = ["-w", "\n%{http_version} %{http_code}"];
    const address = `${encrypted}/v1/chat/completions`;
    const asked = await curl("--http2", "-d", `@${file}`, ...key, ...quoted, ...shown, address);
    expect(asked.split("\n").at(-1)).toBe("2 200");
    expect(asked).toContain('"object":"cost_estimate"');
    const tooLarge = join(folder, "too-large.json");
    writeFileSync(tooLarge, "a".repeat(33 * 1024 * 1024));
    const refused = await curl(
      "-d",
      `@${tooLarge}`,
      "-w",
      "%{http_code}",
      `${encrypted}/v1/chat/completions`,
    );
    expect(refused).toEndWith("413");
  });

  test("agents find their door under the gateway's own name", async () => {
    const found = await useTool(
      `${plain}/mcp`,
      account.key,
      "search",
      { query: "rerank" },
      { headers: { host: name } },
    );
    expect(JSON.stringify(found.structuredContent)).toContain("rerank.create");
  });

  test("callers are told apart by their own addresses, whatever they write before them", async () => {
    const written = ["-H", "X-Forwarded-For: 203.0.113.7"];
    const shown = ["-o", "/dev/null", "-w", "%{http_code}\n"];
    const address = `${encrypted}/.well-known/oauth-authorization-server`;
    const ask = (from: string, times: number): Promise<string> =>
      curl("--interface", from, ...written, ...shown, `${address}?n=[1-${times}]`);
    const first = (await ask("127.0.0.2", 601)).trim().split("\n");
    expect([first[0], first.at(-1)]).toEqual(["200", "429"]);
    expect((await ask("127.0.0.3", 1)).trim()).toBe("200");
  });

  test("nobody reads the operator's figures through it, and its log has no queries", async () => {
    expect(await curl("-o", "/dev/null", "-w", "%{http_code}", `${encrypted}/metrics`)).toBe("403");
    await curl(`${encrypted}/healthz?code=secret-code`);
    const log = readFileSync(join(folder, "tollgate.log"), "utf8");
    expect(log).toContain('"GET /healthz" 200');
    expect(log).not.toContain("secret-code");
  });

  /** As the example's server is known to the world, from this machine. */
  async function curl(...words: readonly string[]): Promise<string> {
    const child = Bun.spawn(["curl", "-sk", "-H", `Host: ${name}`, ...words], { stdout: "pipe" });
    return new Response(child.stdout).text();
  }
});

test("neither systemd nor Docker kills the gateway before running calls were given their time", () => {
  const stopped = Number(/^TimeoutStopSec=(\d+)$/m.exec(textOf("tollgate.service"))?.[1]);
  expect(stopped * 1000).toBeGreaterThan(patienceUsualMs);
  const waited = Number(/docker stop -t (\d+)/.exec(textOf("Dockerfile"))?.[1]);
  expect(waited * 1000).toBeGreaterThan(patienceUsualMs);
});

test("a container that the manual starts comes up again after a reboot, which ends the gateway without an error", () => {
  expect(/docker run -d [^]*? --restart (\S+)/.exec(textOf("README.md"))?.[1]).toBe("unless-stopped");
});

test("in the image the program owns every folder that the manual puts a volume or a backup into", () => {
  const image = textOf("Dockerfile");
  const owned = (/^RUN install -d -m 700 -o node -g node (.*)$/m.exec(image)?.[1] ?? "").split(" ");
  const manual = textOf("README.md");
  const volumes = [...manual.matchAll(/-v [\w-]+:(\/\w+)/g)].map(([, folder = ""]) => folder);
  const backups = /backup (\/\w+) --keep/.exec(manual)?.[1] ?? "";
  expect(new Set([...volumes, backups])).toEqual(new Set(owned));
  expect(image).toMatch(/^USER node$/m);
});

test("the image holds whatever the program imports of its own", () => {
  const kept = [...textOf("Dockerfile.dockerignore").matchAll(/^!(.*)$/gm)].map(([, name = ""]) => name);
  for (const name of kept) expect([name, existsSync(join(projectFolder, name))]).toEqual([name, true]);
  const reached = new Set<string>();
  const follow = (file: string): void => {
    if (reached.has(file)) return;
    reached.add(file);
    const imports = readFileSync(join(projectFolder, file), "utf8").matchAll(
      /(?:from|import)\s*"(\.{1,2}\/[^"]+)"/g,
    );
    for (const [, target = ""] of imports) follow(join(dirname(file), target));
  };
  for (const start of ["bin/tollgate.mjs", "gateway/src/main.ts", "sandbox/src/main.ts"]) follow(start);
  const missing = [...reached].filter(
    (file) => !kept.includes(file.split("/")[0] ?? "") || file.includes(".test."),
  );
  expect(missing).toEqual([]);
  expect(reached.size).toBeGreaterThan(300);
});

function writeCertificate(folder: string, name: string): void {
  const words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", `/CN=${name}`];
  const out = ["-keyout", join(folder, "key.pem"), "-out", join(folder, "cert.pem")];
  if (!Bun.spawnSync(["openssl", ...words, ...out], { stderr: "ignore" }).success)
    throw new Error("no certificate");
}

function configuration(folder: string, ports: { tls: number; open: number; gateway: number }): string {
  const site = textOf("nginx-site.conf")
    .replace("server 127.0.0.1:8787;", `server 127.0.0.1:${ports.gateway};`)
    .replace(
      "listen 443 ssl http2;",
      `listen 127.0.0.1:${ports.tls} ssl http2; listen 127.0.0.1:${ports.open};`,
    )
    .replace("listen 80;", `listen unix:${folder}/http.sock;`)
    .replace("/etc/ssl/certs/api.example.com.pem", `${folder}/cert.pem`)
    .replace("/etc/ssl/private/api.example.com.key", `${folder}/key.pem`)
    .replace("/var/log/nginx/tollgate.log", `${folder}/tollgate.log`);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((kind) => `${kind}_temp_path ${folder}/${kind};`)
    .join("\n");
  // Where the tests run as root, the worker would become somebody who may not write there.
  const user = process.getuid?.() === 0 ? "user root;" : "";
  return `${user}\ndaemon off;\nworker_processes 1;\npid ${folder}/nginx.pid;\nevents {}\nhttp {\n${temporary}\n${site}\n}\n`;
}
