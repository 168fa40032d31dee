import { describe, expect, test } from "bun:test";
import { testUpstream } from "../operation/test-upstream.ts";
import type { Upstream } from "../operation/upstream.ts";
import { orderUpstreams } from "./order-upstreams.ts";

describe("who comes first", () => {
  const of = (name: string, weight: number): Upstream => testUpstream({ name, weight });
  const upstreams = [of("a", 1), of("b", 6), of("c", 3)];
  const names = (order: readonly Upstream[]): string => order.map(({ name }) => name).join("");
  const nobody = (): boolean => false;

  test("is whom `via` names first, whatever the weights, and never somebody who rests, unless all do", () => {
    const always = (): number => 0.999;
    expect(names(orderUpstreams({ upstreams, ordered: true }, nobody, always))).toBe("abc");
    expect(names(orderUpstreams({ upstreams, ordered: true }, (name) => name === "a", always))).toBe("bca");

    const chance = seeded(8);
    for (let draw = 0; draw < 100; draw++) {
      const order = names(orderUpstreams({ upstreams, ordered: false }, (name) => name !== "c", chance));
      expect(order[0]).toBe("c");
      expect([...order].toSorted().join("")).toBe("abc");
    }
  });

  test("is drawn by weight without `via`, and so is who comes next", () => {
    const chance = seeded(7);
    const first = new Map<string, number>();
    const behindB = new Map<string, number>();
    const draws = 20_000;
    for (let draw = 0; draw < draws; draw++) {
      const [one = "", two = ""] = names(orderUpstreams({ upstreams, ordered: false }, nobody, chance));
      first.set(one, (first.get(one) ?? 0) + 1);
      if (one === "b") behindB.set(two, (behindB.get(two) ?? 0) + 1);
    }
    const share = (counts: ReadonlyMap<string, number>, name: string): number => {
      const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
      return (counts.get(name) ?? 0) / total;
    };
    for (const { name, weight } of upstreams) expect(share(first, name)).toBeCloseTo(weight / 10, 1);
    expect(Math.abs(share(first, "b") - 0.6)).toBeLessThan(0.015);
    expect(Math.abs(share(behindB, "c") - 0.75)).toBeLessThan(0.015);
  });

  test("costs nothing to find out where there is one upstream", () => {
    const one = [of("a", 1)];
    const never = (): never => {
      throw new Error("nobody should ask");
    };
    expect(orderUpstreams({ upstreams: one, ordered: false }, never, never)).toBe(one);
  });
});

/** Mulberry32: small, and the same everywhere. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
