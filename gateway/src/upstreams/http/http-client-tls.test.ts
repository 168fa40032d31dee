import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { AddressInfo, Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer, type TLSSocket } from "node:tls";

// Which authorities are trusted is decided when a process starts, so the client runs in a process of its own.
const program = `
  import { createHttpClient } from ${JSON.stringify(join(import.meta.dir, "http-client.ts"))};
  const client = createHttpClient();
  const outcomes = [];
  for (const url of process.argv.slice(1)) {
    const outcome = await client.send({ url, method: "POST", headers: { authorization: "Bearer secret" }, body: "{}", firstByteTimeoutMs: 2_000 });
    outcomes.push(outcome.kind === "answered" ? Buffer.from(outcome.body).toString() : outcome.reason + " " + outcome.sent);
  }
  console.log(JSON.stringify(outcomes));
`;

describe.skipIf(Bun.which("openssl") === null)(
  "upstreams over TLS (with certificates made by openssl)",
  () => {
    let folder: string;
    const servers: Server[] = [];

    const openssl = (words: string): void => {
      const made = Bun.spawnSync(["openssl", ...words.split(" ")], { cwd: folder });
      if (made.exitCode !== 0) throw new Error(made.stderr.toString());
    };

    /** A certificate that signs itself; an expired one has a day less than none. */
    const makeCertificate = (name: string, subject: string, days: number): void => {
      openssl(`ecparam -name prime256v1 -genkey -noout -out ${name}.key`);
      openssl(
        `req -new -key ${name}.key -subj /CN=${name} -addext subjectAltName=${subject} -out ${name}.csr`,
      );
      const signed = `-signkey ${name}.key -copy_extensions copyall -out ${name}.pem`;
      openssl(`x509 -req -in ${name}.csr -days ${days} ${signed}`);
    };

    const listen = async (server: Server): Promise<number> => {
      servers.push(server);
      await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
      return (server.address() as AddressInfo).port;
    };

    const openVendor = async (certificate: string, answer: (socket: TLSSocket) => void) => {
      let received = "";
      let connections = 0;
      const [key, cert] = ["key", "pem"].map((kind) => readFileSync(join(folder, `${certificate}.${kind}`)));
      const server = createServer({ key, cert, ALPNProtocols: ["h2", "http/1.1"] }, (socket) => {
        connections++;
        socket.on("error", () => {});
        socket.on("data", (bytes) => {
          received += bytes.toString();
          answer(socket);
        });
      });
      server.on("tlsClientError", () => {});
      return { port: await listen(server), received: () => received, connections: () => connections };
    };

    const ask = async (urls: readonly string[], environment: Record<string, string>): Promise<string[]> => {
      const child = Bun.spawn([process.execPath, "-e", program, ...urls], {
        env: { ...process.env, ...environment },
        stdout: "pipe",
      });
      return JSON.parse(await new Response(child.stdout).text()) as string[];
    };

    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), "tollgate-tls-"));
      makeCertificate("good", "DNS:localhost,IP:127.0.0.1", 2);
      makeCertificate("other", "DNS:other.example", 2);
      makeCertificate("expired", "DNS:localhost", -1);
    });

    afterAll(() => {
      for (const server of servers) server.close();
      rmSync(folder, { recursive: true, force: true });
    });

    const ok = (socket: TLSSocket): void => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n${String(socket.alpnProtocol)}`);
    };

    test("a vendor whose certificate is trusted is served, by name and by address, over connections that are kept", async () => {
      const vendor = await openVendor("good", ok);
      const trusting = { NODE_EXTRA_CA_CERTS: join(folder, "good.pem") };
      const [byName, byAddress] = [`https://localhost:${vendor.port}/`, `https://127.0.0.1:${vendor.port}/`];
      expect(await ask([byName, byName, byAddress], trusting)).toEqual(["http/1.1", "http/1.1", "http/1.1"]);
      expect(vendor.connections()).toBe(2);
      expect(vendor.received()).toContain(`\r\nhost: localhost:${vendor.port}\r\n`);
    });

    test.each([
      ["is signed by nobody we know", "good", {}],
      ["is another's", "other", { trusted: "other" }],
      ["has expired", "expired", { trusted: "expired" }],
      ["is signed by nobody we know, with checks turned off", "good", { NODE_TLS_REJECT_UNAUTHORIZED: "0" }],
    ])(
      "a vendor whose certificate %s gets not a byte",
      async (_what, certificate, { trusted, ...environment }: Record<string, string>) => {
        const vendor = await openVendor(certificate, ok);
        const trusting = trusted === undefined ? {} : { NODE_EXTRA_CA_CERTS: join(folder, `${trusted}.pem`) };
        const urls = [`https://localhost:${vendor.port}/`, `https://127.0.0.1:${vendor.port}/`];
        const refused = "unreachable false";
        expect(await ask(urls, { ...environment, ...trusting })).toEqual([refused, refused]);
        expect(vendor.received()).toBe("");
      },
    );

    test("a body that only the end of its connection frames is cut off: over TLS anybody on the way could have ended it", async () => {
      const vendor = await openVendor("good", (socket) => socket.end("HTTP/1.1 200 OK\r\n\r\nhello"));
      const trusting = { NODE_EXTRA_CA_CERTS: join(folder, "good.pem") };
      expect(await ask([`https://localhost:${vendor.port}/`], trusting)).toEqual(["cut_off true"]);
    });
  },
);
