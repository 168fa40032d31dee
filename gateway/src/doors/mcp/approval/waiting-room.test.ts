import { expect, test } from "bun:test";
import { createWaitingRoom } from "./waiting-room.ts";

const never = (): Promise<string> => new Promise(() => {});
const small = (accountId: string) => ({ accountId, messageBytes: 300 });

test("alone, an account has 256 short requests that wait, and leaves room to others", async () => {
  const room = createWaitingRoom();
  const waiting = Array.from({ length: 256 }, () => room.wait(small("a"), never));
  expect(await room.wait(small("a"), never)).toBeUndefined();
  expect(await room.wait(small("b"), async () => "asked")).toBe("asked");
  expect(await Promise.race([...waiting, Promise.resolve("all of them wait")])).toBe("all of them wait");
});

test("a place is free again when its request waits no more, however that ended", async () => {
  const room = createWaitingRoom();
  const large = { accountId: "a", messageBytes: 16 * 1024 * 1024 };
  const { promise, reject } = Promise.withResolvers<string>();
  const waiting = room.wait(large, () => promise);
  expect(await room.wait(small("a"), never)).toBeUndefined();
  reject(new Error("out of order"));
  expect(await waiting.catch(String)).toBe("Error: out of order");
  expect(await room.wait(large, async () => "asked")).toBe("asked");
});
