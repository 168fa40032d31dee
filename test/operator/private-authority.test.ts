// Vendors behind certificates of an authority of the operator's own, as the manual says they are trusted.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { projectFolder } from "../support/project-folder.ts";
import { runProgram } from "../support/run-tollgate.ts";

describe.skipIf(Bun.which("openssl") === null)("an authority of one's own (made by openssl)", () => {
  let folder: string;
  let vendor: ReturnType<typeof Bun.serve>;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "tollgate-authority-"));
    const words =
      "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=vendor";
    const made = Bun.spawnSync(
      [
        "openssl",
        ...words.split(" "),
        "-addext",
        "subjectAltName=IP:127.0.0.1",
        "-keyout",
        "key",
        "-out",
        "pem",
      ],
      { cwd: folder },
    );
    expect(made.exitCode).toBe(0);
    vendor = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      tls: { key: Bun.file(join(folder, "key")), cert: Bun.file(join(folder, "pem")) },
      fetch: () => Response.json({ object: "list", data: [] }),
    });
    writeFileSync(
      join(folder, "tollgate.yaml"),
      `upstreams: { own: { protocol: openai, url: "https://127.0.0.1:${vendor.port}/v1", models: [] } }\n`,
    );
  });
  afterAll(async () => {
    await vendor.stop(true);
    rmSync(folder, { recursive: true, force: true });
  });

  const isTrusted = async (environment: Readonly<Record<string, string>> = {}): Promise<boolean> => {
    const doctor = ["node", join(projectFolder, "bin/tollgate.mjs"), "doctor"];
    const { out } = await runProgram(doctor, { folder, environment });
    expect(out).toContain("own  ");
    return !out.includes("its certificate is not trusted");
  };

  test("is trusted from the environment and from a file .env, and the environment goes before", async () => {
    expect(await isTrusted()).toBe(false);
    expect(await isTrusted({ NODE_EXTRA_CA_CERTS: join(folder, "pem") })).toBe(true);
    writeFileSync(join(folder, ".env"), `OTHER=1\nNODE_EXTRA_CA_CERTS="${join(folder, "pem")}"\n`);
    expect(await isTrusted()).toBe(true);
    expect(await isTrusted({ NODE_EXTRA_CA_CERTS: join(folder, "nowhere.pem") })).toBe(false);
  });
});
