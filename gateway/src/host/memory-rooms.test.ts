import { expect, test } from "bun:test";
import { bodyRoomBytesUsual, unreadRoomBytesUsual } from "./memory-rooms.ts";

const MiB = 1024 * 1024;

test("bodies may take an eighth of the memory there is, and always four of the largest", () => {
  expect(bodyRoomBytesUsual(16_384 * MiB)).toBe(2_048 * MiB);
  expect(bodyRoomBytesUsual(512 * MiB)).toBe(128 * MiB);
});

test("answers that nobody reads may take an eighth of it too, always two of the largest, and never more than four", () => {
  expect(unreadRoomBytesUsual(16_384 * MiB)).toBe(256 * MiB);
  expect(unreadRoomBytesUsual(1_536 * MiB)).toBe(192 * MiB);
  expect(unreadRoomBytesUsual(512 * MiB)).toBe(128 * MiB);
});
