// Secrets as containers have them: each in a file, of which a variable says the name.

import { expect, test } from "bun:test";
import { existsSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openFinancialDatasetsDouble } from "../doubles/financialdatasets.ts";
import { callerAt } from "../support/caller.ts";
import { snapshotPath } from "../support/purchases.ts";
import { runTollgate, type Ran } from "../support/run-tollgate.ts";
import { until } from "../support/until.ts";
import { useStarts } from "./operator-starts.ts";

const starts = useStarts();

function writeSecret(name: string, text: string): string {
  const path = join(starts.folder, name);
  writeFileSync(path, text);
  return path;
}

test("a vendor's new key holds from a SIGHUP on, without a new start, and no mistake in its file ends the old one", async () => {
  const vendor = await openFinancialDatasetsDouble({ key: "the-new-key" });
  try {
    const file = writeSecret("vendor-key", "the-old-key\n");
    const gateway = await starts.start({
      config: `sandbox: off\nupstreams: { findata: { protocol: financialdatasets, url: "${vendor.url}", key: "\${FINDATA_KEY}" } }`,
      environment: { FINDATA_KEY_FILE: file },
    });
    const buy = async (): Promise<number> => (await callerAt(gateway.url).call(gateway, snapshotPath)).status;
    expect(await buy()).toBe(503);

    writeFileSync(file, "the-new-key\n");
    gateway.signal("SIGHUP");
    await until(async () => (await buy()) === 200);

    writeFileSync(file, "\n");
    gateway.signal("SIGHUP");
    await until(() => gateway.stderr().includes("the old one stays"));
    expect(gateway.stderr()).toContain(`upstreams.findata.key: FINDATA_KEY_FILE: ${file} is empty`);
    expect(await buy()).toBe(200);
    expect(gateway.stderr()).not.toContain("the-new-key");
  } finally {
    await vendor.close();
  }
});

test("a vendor's new key holds soon after its file was replaced, by a change of links as Kubernetes does it, without a signal", async () => {
  const vendor = await openFinancialDatasetsDouble({ key: "the-new-key" });
  try {
    const mounted = join(starts.folder, "mounted");
    const putInPlace = (version: string, key: string): void => {
      mkdirSync(join(mounted, version), { recursive: true });
      writeFileSync(join(mounted, version, "vendor-key"), key);
      symlinkSync(version, join(mounted, "..data_tmp"));
      renameSync(join(mounted, "..data_tmp"), join(mounted, "..data"));
    };
    const configWith = (key: string): string =>
      `sandbox: off\nupstreams: { findata: { protocol: financialdatasets, url: "${vendor.url}", key: "\${${key}}" } }`;
    putInPlace("..v1", "the-old-key");
    symlinkSync("..data/vendor-key", join(mounted, "vendor-key"));
    const gateway = await starts.start({
      config: configWith("FINDATA_KEY"),
      environment: {
        FINDATA_KEY_FILE: join(mounted, "vendor-key"),
        LATE_KEY_FILE: join(starts.folder, "late"),
      },
    });
    const buy = async (): Promise<number> => (await callerAt(gateway.url).call(gateway, snapshotPath)).status;
    expect(await buy()).toBe(503);
    putInPlace("..v2", "the-new-key");
    await until(async () => (await buy()) === 200);

    // A configuration that wants a secret which is not there yet is taken as soon as it is.
    const late = join(starts.folder, "late");
    writeFileSync(join(starts.folder, "tollgate.yaml"), configWith("LATE_KEY"));
    await until(() => gateway.stderr().includes(`LATE_KEY_FILE: ${late} is not there`));
    const reloads = (): number => gateway.stderr().split("configuration reloaded").length;
    const before = reloads();
    writeFileSync(late, "the-new-key");
    await until(() => reloads() > before);
  } finally {
    await vendor.close();
  }
});

test("an installation's own secrets may stand in files, whose last line break counts for nothing", async () => {
  const environment = {
    TOLLGATE_SECRET_FILE: writeSecret("own-secret", "a secret from a mounted file\n"),
    TOLLGATE_STORE_FILE: writeSecret("store", `sqlite:${join(starts.folder, "books.db")}\n`),
    TOLLGATE_OPERATOR_TOKEN_FILE: writeSecret("token", "the-token-of-the-operator\r\n"),
  };
  const gateway = await starts.start({ environment });
  const elsewhere = { "x-forwarded-for": "203.0.113.9" };
  const metrics = (token: string): Promise<Response> =>
    fetch(`${gateway.url}/metrics`, { headers: { ...elsewhere, authorization: `Bearer ${token}` } });
  expect((await metrics("the-token-of-the-operator")).status).toBe(200);
  expect((await metrics("another")).status).not.toBe(200);
  expect(existsSync(join(starts.folder, "books.db"))).toBe(true);
  expect(existsSync(join(starts.folder, "data/secret"))).toBe(false);

  // Whoever gives the same secret by itself meets the same installation.
  const list = (secret: Record<string, string>): Promise<Ran> =>
    runTollgate(["account", "list"], {
      folder: starts.folder,
      environment: { TOLLGATE_STORE: `sqlite:${join(starts.folder, "books.db")}`, ...secret },
    });
  expect((await list({ TOLLGATE_SECRET: "a secret from a mounted file" })).code).toBe(0);
  expect((await list({ TOLLGATE_SECRET: "a secret from another file" })).code).toBe(1);
});

test("a file that cannot be a secret is refused by the name of its variable", async () => {
  const folder = join(starts.folder, "folder");
  mkdirSync(folder);
  const good = writeSecret("good", "a secret of its own");
  const cases: [Record<string, string>, string][] = [
    [
      { TOLLGATE_SECRET_FILE: join(folder, "none") },
      `TOLLGATE_SECRET_FILE: ${join(folder, "none")} is not there`,
    ],
    [{ TOLLGATE_SECRET_FILE: folder }, `TOLLGATE_SECRET_FILE: ${folder} is no file`],
    [{ TOLLGATE_SECRET_FILE: writeSecret("empty", "") }, "empty is empty"],
    [{ TOLLGATE_SECRET_FILE: writeSecret("long", "x".repeat(64 * 1024 + 1)) }, "is too long for a secret"],
    [
      { TOLLGATE_SECRET_FILE: good, TOLLGATE_SECRET: "another secret of its own" },
      "TOLLGATE_SECRET and TOLLGATE_SECRET_FILE are both set",
    ],
  ];
  for (const [environment, sentence] of cases)
    expect(await starts.complaint(environment)).toContain(sentence);
});
