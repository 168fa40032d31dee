import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "../../../../test/support/project-folder.ts";
import { startPrivateRedis, type PrivateRedis } from "../../../../test/services/redis.ts";
import { lookAtRedis } from "./look-at-redis.ts";

let redis: PrivateRedis;
beforeAll(async () => {
  redis = await startPrivateRedis();
});
afterAll(async () => {
  await redis.close();
});

/** What the doctor hears of it. */
const lookAt = (url: string): Promise<string> =>
  lookAtRedis({ url, monotonicMs: () => performance.now(), newId: () => Bun.randomUUIDv7() }).then(
    () => "can be used",
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );

const asUser = async (...rules: string[]): Promise<string> => {
  await redis.send("ACL", "SETUSER", "limited", "reset", "on", ">limited", ...rules);
  return redis.url.replace("://", "://limited:limited@");
};

test("a look at a Redis leaves nothing behind", async () => {
  const writes = async (): Promise<number> =>
    Number(/cmdstat_zadd:calls=(\d+)/.exec(String(await redis.send("INFO", "commandstats")))?.[1] ?? 0);
  const before = await writes();
  expect(await lookAt(redis.url)).toBe("can be used");
  expect(await writes()).toBeGreaterThan(before);
  expect(await redis.send("KEYS", "*")).toEqual([]);
});

test("a user who is allowed what the manual says is enough", async () => {
  const manual = readFileSync(join(projectFolder, "docs/running.md"), "utf8");
  const [, rules = ""] = /ours is allowed enough by\s+`([^`]+)`/.exec(manual) ?? [];
  expect(rules).toStartWith("~tollgate:*");
  expect(await lookAt(await asUser(...rules.split(" ")))).toBe("can be used");
});

test("a Redis in which no limit can be counted cannot be used, and it is said why", async () => {
  expect(await lookAt(await asUser("~*", "+@all", "-@scripting"))).toContain("NOPERM");
  // Whatever a script does, its user must be allowed to do; how that is said differs from version to version.
  expect(await lookAt(await asUser("~*", "+@all", "-zadd"))).toMatch(
    /NOPERM|ACL failure|can't run this command/,
  );
  expect(await lookAt(await asUser("~others:*", "+@all"))).toContain("NOPERM");
  await redis.send("REPLICAOF", "127.0.0.1", "1");
  expect(await lookAt(redis.url)).toContain("READONLY");
  await redis.send("REPLICAOF", "NO", "ONE");
  expect(await lookAt(redis.url)).toBe("can be used");
});
