import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:https";
import { once } from "node:events";
import { createServer as listen, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expectWithin } from "../platform/test-within.ts";
import { createDocumentFetch } from "./fetch-document.ts";

describe.skipIf(Bun.which("openssl") === null)(
  "fetching a document (with a certificate made by openssl)",
  () => {
    let folder: string;
    let server: Server;
    let port: number;
    let authority: string;
    /** What reached the machine that must not be reached: hosts asked for, by connection. */
    let reached: string[] = [];
    let answer: { status: number; headers?: Record<string, string>; body: string; delayMs?: number };

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), "tollgate-documents-"));
      const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
      const making =
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=client.example " +
        "-addext subjectAltName=DNS:client.example";
      const made = Bun.spawnSync(["openssl", ...making.split(" "), "-keyout", key, "-out", certificate]);
      if (made.exitCode !== 0) throw new Error(made.stderr.toString());
      authority = readFileSync(certificate, "utf8");
      server = createServer({ key: readFileSync(key), cert: authority }, (request, response) => {
        reached.push(`${request.headers.host}${request.url}`);
        setTimeout(() => {
          response.writeHead(answer.status, { "content-type": "application/json", ...answer.headers });
          response.end(answer.body);
        }, answer.delayMs ?? 0);
      });
      await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
      port = (server.address() as AddressInfo).port;
    });

    afterAll(() => {
      server.close();
      server.closeAllConnections();
      rmSync(folder, { recursive: true, force: true });
    });

    beforeEach(() => {
      reached = [];
      answer = { status: 200, body: '{"client_id":"x"}' };
    });

    /** Lets the test's own server pass for a public one. */
    const friendly = (timeoutMs?: number, addresses = ["127.0.0.1"]) =>
      createDocumentFetch(
        { resolve: async () => addresses, isAllowed: () => true, port, authority },
        timeoutMs,
      );

    /** As shipped, but for where names lead. */
    const strict = (...addresses: string[]) =>
      createDocumentFetch({ resolve: async () => addresses, port, authority });

    const failure = (fetching: Promise<Response>): Promise<string> =>
      fetching.then(
        () => "fetched",
        (error: unknown) => String(error),
      );

    test("a document is fetched from the address that was looked up, under the name that was asked for", async () => {
      const response = await friendly()("https://client.example/meta.json?v=1");
      expect(response.status).toBe(200);
      expect(await response.json()).toEqual({ client_id: "x" });
      expect(reached).toEqual(["client.example/meta.json?v=1"]);
    });

    test("a document is fetched although its host's first address does not answer, of one family or the other", async () => {
      // Nobody listens there.
      for (const dead of [["127.0.0.2"], ["::1"], ["::1", "::2", "::3", "::4"]]) {
        const response = await friendly(20_000, [...dead, "127.0.0.1"])("https://client.example/meta.json");
        expect(response.status).toBe(200);
      }
      expect(reached).toHaveLength(3);
    });

    test("a document is fetched although its host's first address is silent", async () => {
      const silent = listen(() => {}).listen(port, "127.0.0.2");
      await once(silent, "listening");
      const response = await friendly(20_000, ["127.0.0.2", "127.0.0.1"])("https://client.example/meta.json");
      expect(response.status).toBe(200);
      silent.close();
    });

    test("no more than three addresses of a host are tried", async () => {
      const dead = ["127.0.0.2", "127.0.0.3", "127.0.0.4"];
      const fetched = failure(friendly(20_000, [...dead, "127.0.0.1"])("https://client.example/meta.json"));
      expect(await fetched).not.toBe("fetched");
      expect(reached).toEqual([]);
    });

    test("a server that cannot prove the name is not believed", async () => {
      expect(await failure(friendly()("https://other.example/meta.json"))).toContain("altnames");
      expect(reached).toEqual([]);
    });

    test.each([
      "127.0.0.1",
      "127.8.8.8",
      "169.254.169.254",
      "10.0.0.1",
      "::1",
      "::ffff:127.0.0.1",
      "::ffff:7f00:1",
      "fd00::1",
      "0.0.0.0",
      "93.184.216.34 127.0.0.1",
    ])("a name that leads to %s is not followed", async (addresses) => {
      expect(await failure(strict(...addresses.split(" "))("https://client.example/x"))).toContain(
        "public internet",
      );
      expect(reached).toEqual([]);
    });

    test.each([
      "http://client.example/x",
      "https://client.example:8443/x",
      "https://user@client.example/x",
      "https://127.0.0.1/x",
      "https://[::1]/x",
      "https://[::ffff:127.0.0.1]/x",
      "https://0x7f000001/x",
      "https://2130706433/x",
      "https://169.254.169.254/latest/meta-data",
      "ftp://client.example/x",
      "file:///etc/passwd",
      "not an address",
    ])("%s is not fetched", async (url) => {
      expect(await failure(friendly()(url))).toStartWith("Error: A document");
      expect(reached).toEqual([]);
    });

    test("a redirect is handed back as it is, and nobody goes there", async () => {
      answer = { status: 302, headers: { location: "https://127.0.0.1/secret" }, body: "" };
      const response = await friendly()("https://client.example/moved");
      expect(response.status).toBe(302);
      expect(reached).toEqual(["client.example/moved"]);
    });

    test("a document of more than five kilobytes is given up", async () => {
      answer = { status: 200, body: "x".repeat(5 * 1024) };
      expect((await friendly()("https://client.example/fits")).status).toBe(200);
      answer = { status: 200, body: "x".repeat(5 * 1024 + 1) };
      expect(await failure(friendly()("https://client.example/large"))).toContain("larger than");
    });

    test("a slow document is given up in time, and so is a slow look-up", async () => {
      answer = { status: 200, body: "{}", delayMs: 20_000 };
      const never = createDocumentFetch({ resolve: () => new Promise(() => {}) }, 150);
      await expectWithin(1_500, async () => {
        expect(await failure(friendly(150)("https://client.example/slow"))).not.toBe("fetched");
        expect(await failure(never("https://client.example/slow"))).toContain("in time");
      });
    });
  },
);
