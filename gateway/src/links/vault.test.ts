import { expect, test } from "bun:test";
import { createSecrets } from "../keys/secrets.ts";
import { systemBytes } from "../platform/chance.ts";
import { createVault, saltBytes, type Row } from "./vault.ts";

const vault = createVault({ rowKey: createSecrets("a secret for tests").rowKey, randomBytes: systemBytes });
const row: Row = {
  table: "link",
  id: "lnk_1",
  accountId: "acc_1",
  keyId: "key_1",
  version: 1,
  salt: systemBytes(saltBytes),
};
const secret = "a token that nobody may read";

test("what is sealed opens where it was sealed, and shows nothing outside", () => {
  const sealed = vault(row).seal("access_token", secret);
  expect(vault({ ...row }).open("access_token", sealed)).toBe(secret);
  expect(Buffer.from(sealed).includes("token")).toBe(false);
});

test("the same secret never looks the same twice", () => {
  const seals = Array.from({ length: 50 }, () =>
    Buffer.from(vault(row).seal("access_token", secret)).toString("hex"),
  );
  expect(new Set(seals).size).toBe(50);
});

test("what is moved to another row, column, owner or version does not open", () => {
  const sealed = vault(row).seal("access_token", secret);
  const elsewhere: readonly Partial<Row>[] = [
    { table: "link_attempt" },
    { id: "lnk_2" },
    { accountId: "acc_2" },
    { keyId: "key_2" },
    { version: 2 },
    { salt: systemBytes(saltBytes) },
  ];
  for (const moved of elsewhere) {
    expect(() => vault({ ...row, ...moved }).open("access_token", sealed)).toThrow(
      "access_token was not sealed here.",
    );
  }
  expect(() => vault(row).open("refresh_token", sealed)).toThrow("refresh_token was not sealed here.");
  expect(vault({ ...row }).open("access_token", sealed)).toBe(secret);
});

test("a changed, cut or foreign value does not open", () => {
  const sealed = Buffer.from(vault(row).seal("access_token", secret));
  for (let at = 0; at < sealed.length; at++) {
    const changed = Buffer.from(sealed);
    changed.writeUInt8((changed.readUInt8(at) + 1) % 256, at);
    expect(() => vault(row).open("access_token", changed)).toThrow("was not sealed here.");
  }
  for (const length of [0, 1, 28, 29, sealed.length - 1]) {
    expect(() => vault(row).open("access_token", sealed.subarray(0, length))).toThrow("was not sealed here.");
  }
});

test("another installation's secret opens nothing", () => {
  const other = createVault({ rowKey: createSecrets("another secret").rowKey, randomBytes: systemBytes });
  const sealed = vault(row).seal("access_token", secret);
  expect(() => other(row).open("access_token", sealed)).toThrow("was not sealed here.");
});
