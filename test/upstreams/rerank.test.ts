// Three vendors that rerank, each in its own words, and one answer for the caller.

import { describe, expect, test } from "bun:test";
import { last } from "../doubles/vendor-double.ts";
import { ranking, textOf, useEveryVendor, vendors, type Vendor } from "./every-vendor.ts";

const { doubles, gateway, send } = await useEveryVendor();

describe("rerank", () => {
  const rerankers = vendors.filter(({ path }) => path === "/v1/rerank");

  const rerankWith = async (vendor: Vendor, extra: object = {}): Promise<Ranking> => {
    const response = await gateway.post(await gateway.openAccount(), "/v1/rerank", {
      ...vendor.body,
      ...extra,
    });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    return (await response.json()) as Ranking;
  };

  test("three vendors give one answer: best first, ties in input order, with the caller's own texts", async () => {
    for (const vendor of rerankers) {
      const { model, results, usage } = await rerankWith(vendor);
      expect(model).toBe((vendor.body as { model: string }).model);
      expect(usage.total_tokens).toBeGreaterThan(0);
      expect(results).toEqual(
        [
          [1, 1],
          [2, 0.5],
          [4, 0.5],
          [0, 0],
          [3, 0],
        ].map(([index = 0, score = 0]) => ({
          index,
          relevance_score: score,
          document: { text: ranking.documents[index] ?? "" },
        })),
      );
    }
  });

  test("a top_n of null, like none, asks for all documents", async () => {
    for (const vendor of rerankers) {
      const { results } = await rerankWith(vendor, { top_n: null });
      expect(results).toHaveLength(5);
      const sent = JSON.parse(textOf(last(doubles[vendor.name]).body)) as object;
      expect(Object.keys(sent).filter((name) => name.startsWith("top_"))).toEqual([]);
    }
  });

  test("a model of null, like none, is the one that usually serves", async () => {
    const account = await gateway.openAccount();
    const named = async (more: object): Promise<string> => {
      const response = await gateway.post(account, "/v1/rerank", { ...ranking, ...more });
      return ((await response.json()) as Ranking).model;
    };
    expect(await named({ model: null })).toBe(await named({}));
  });

  test("top_n travels under the vendor's own name, never larger than the number of documents", async () => {
    for (const vendor of rerankers) {
      const name = vendor.name === "voyage" ? "top_k" : "top_n";
      for (const [asked, sent] of [
        [2, 2],
        [1_000_000, 5],
      ] as const) {
        const { results } = await rerankWith(vendor, { top_n: asked });
        expect(results).toHaveLength(sent);
        expect(JSON.parse(textOf(last(doubles[vendor.name]).body))).toHaveProperty(name, sent);
      }
    }
  });

  test("a vendor that sorts badly and sends too much is put in order", async () => {
    const list = [
      [3, 0.5],
      [0, 0.9],
      [4, 0.5],
      [1, 0.5],
    ].map(([index, score]) => ({ index, relevance_score: score, document: "not the caller's" }));
    for (const vendor of rerankers) {
      doubles[vendor.name].answerNext({
        status: 200,
        body: JSON.stringify({
          [vendor.name === "voyage" ? "data" : "results"]: list,
          usage: { total_tokens: 7 },
        }),
      });
      const { results } = await rerankWith(vendor, { top_n: 3 });
      expect(results.map(({ index }) => index)).toEqual([0, 1, 3]);
      expect(results.map(({ document }) => document.text)).toEqual(
        [0, 1, 3].map((index) => ranking.documents[index] ?? ""),
      );
    }
  });

  test("what is no ranking of the caller's documents is passed on and not charged", async () => {
    for (const vendor of rerankers) {
      for (const list of [
        [{ index: 9, relevance_score: 1 }],
        [{ index: -1, relevance_score: 1 }],
        [{ index: 0.5, relevance_score: 1 }],
        [{ index: 0, relevance_score: "1" }],
        [
          { index: 0, relevance_score: 1 },
          { index: 0, relevance_score: 1 },
        ],
        "none",
      ]) {
        const account = await gateway.openAccount();
        const body = JSON.stringify({
          [vendor.name === "voyage" ? "data" : "results"]: list,
          usage: { total_tokens: 1_000_000 },
        });
        doubles[vendor.name].answerNext({ status: 200, body });
        const response = await send(account, vendor);
        expect([response.status, await response.text()]).toEqual([200, body]);
        expect(await gateway.balance(account)).toEqual({ balance: 2_000_000, held: 0 });
      }
    }
  });

  test("an error in place of a ranking is a failure, and withheld where it is about the operator", async () => {
    for (const vendor of rerankers) {
      const account = await gateway.openAccount();
      const hide = (error: object): Promise<Response> => {
        const body = JSON.stringify({ error: { ...error, message: "see vendor.example" } });
        doubles[vendor.name].answerNext({ status: 200, body });
        return send(account, vendor);
      };
      const failed = await hide({ code: 503 });
      expect(await failed.text()).toContain("vendor.example");
      expect(await gateway.receipt(account, failed)).toMatchObject({
        outcome: "failed",
        attempts: [{ outcome: "answered", status: 503 }],
      });
      const unpaid = await hide({ code: "insufficient_balance" });
      expect(unpaid.status).toBe(503);
      expect(await unpaid.text()).not.toContain("vendor.example");
      expect(await gateway.balance(account)).toEqual({ balance: 2_000_000, held: 0 });
    }
  });

  test("a vendor that counts no tokens is billed as it was quoted, and the receipt says so", async () => {
    const cohere = rerankers.find(({ name }) => name === "cohere");
    if (!cohere) throw new Error("no cohere");
    const account = await gateway.openAccount();
    const asked = await gateway.post(account, cohere.path, cohere.body, { "x-tollgate-cost-mode": "quote" });
    const quoted = (await asked.json()) as { readonly breakdown: readonly { readonly quantity: number }[] };
    const [{ quantity } = { quantity: 0 }] = quoted.breakdown;
    expect(quantity).toBeGreaterThan(0);
    const estimated = await send(account, cohere);
    expect(((await estimated.json()) as Ranking).usage).toEqual({ total_tokens: quantity });
    expect(await gateway.receipt(account, estimated)).toMatchObject({
      usage_source: "estimated",
      usage: { input_tokens: quantity },
    });

    const meta = { billed_units: { search_units: 1 }, tokens: { input_tokens: 41 } };
    doubles.cohere.answerNext({
      status: 200,
      body: JSON.stringify({ results: [{ index: 0, relevance_score: 1 }], meta }),
    });
    const counted = await send(account, cohere);
    expect(((await counted.json()) as Ranking).usage).toEqual({ total_tokens: 41 });
    expect(await gateway.receipt(account, counted)).toMatchObject({
      usage_source: "provider",
      usage: { input_tokens: 41 },
    });
  });
});

interface Ranking {
  readonly model: string;
  readonly results: readonly {
    readonly index: number;
    readonly relevance_score: number;
    readonly document: { readonly text: string };
  }[];
  readonly usage: { readonly total_tokens: number };
}
