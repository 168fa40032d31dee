import { describe, expect, test } from "bun:test";
import { createSecrets } from "./secrets.ts";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

describe("secrets of an installation", () => {
  const secrets = createSecrets("one secret");

  test("hash a key the same way at every start", () => {
    expect(hex(createSecrets("one secret").hashKey("tgk_a"))).toBe(hex(secrets.hashKey("tgk_a")));
    expect(secrets.hashKey("tgk_a")).toHaveLength(32);
  });

  test("a stolen database is useless without them: another secret gives another hash", () => {
    const plain = new Bun.CryptoHasher("sha256").update("tgk_a").digest("hex");
    const hashes = [plain, hex(secrets.hashKey("tgk_a")), hex(createSecrets("another").hashKey("tgk_a"))];
    expect(new Set(hashes).size).toBe(3);
    expect(hex(secrets.hashKey("tgk_b"))).not.toBe(hex(secrets.hashKey("tgk_a")));
  });

  test("the fingerprint tells installations apart and does not tell the secret", () => {
    expect(secrets.fingerprint).toMatch(/^[0-9a-f]{32}$/);
    expect(createSecrets("one secret").fingerprint).toBe(secrets.fingerprint);
    expect(createSecrets("another").fingerprint).not.toBe(secrets.fingerprint);
    expect(hex(secrets.hashKey(""))).not.toContain(secrets.fingerprint);
  });
});
