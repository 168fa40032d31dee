// Comments and quotes, page by page: what each page costs by what its vendor says, and what costs nothing.

import { describe, expect, test } from "bun:test";
import { flat, read } from "../bad-inputs/error-shapes.ts";
import { expectNothingHappened } from "../bad-inputs/nothing-happened.ts";
import {
  commentsPath,
  quotesPath,
  quoting,
  untouched,
  useDataDoubles,
  useSandboxed,
} from "./data-doubles.ts";

const { gateway, quoteFor, answeredWith } = await useDataDoubles();
const sandboxed = await useSandboxed();

describe("comments", () => {
  const target = `${commentsPath}?url=https://x.test/p/1`;

  test("need an address, once", async () => {
    const account = await gateway.openAccount();
    await expectNothingHappened(gateway, async () => {
      for (const query of ["", "?url=", "?cursor=a", "?url=a&url=b", "?url=a&cursor=b&cursor=c"]) {
        flat(400, "invalid_parameters")(await read(gateway.call(account, commentsPath + query)));
        const quoted = gateway.call(account, commentsPath + query, { headers: quoting });
        flat(400, "invalid_parameters")(await read(quoted));
      }
    });
  });

  test("are paid for only when the body says success", async () => {
    for (const success of [false, "true", 1, null, undefined]) {
      const receipt = await answeredWith("scrapecreators", target, { success, credits_charged: 1 });
      expect(receipt).toMatchObject({ outcome: "failed", charged_micros_usd: 0 });
    }
    const error = { success: false, error: "x", errorStatus: 404, message: "gone" };
    expect(await answeredWith("scrapecreators", target, error)).toMatchObject({ charged_micros_usd: 0 });
  });

  test("cost the credits the vendor says it took, 0 included, never more than was held", async () => {
    for (const [said, charged] of [
      [undefined, 1_880],
      [null, 1_880],
      [1, 1_880],
      [0, 0],
      [15, 1_880],
      [-1, 1_880],
      [0.5, 1_880],
      ["0", 1_880],
      [1e300, 1_880],
    ] as const) {
      const receipt = await answeredWith("scrapecreators", target, { success: true, credits_charged: said });
      expect([said, receipt.charged_micros_usd, receipt.held_micros_usd]).toEqual([said, charged, 1_880]);
      expect(receipt.outcome).toBe("succeeded");
    }
  });

  test("asked for with a parameter that may mean replies are held for 15 credits, and cost what was taken", async () => {
    const wider = `${target}&include_replies=true`;
    const account = await gateway.openAccount();
    expect(await quoteFor(account, wider)).toMatchObject({
      estimate_kind: "estimate",
      estimated_cost_micros_usd: 1_880,
      max_cost_micros_usd: 28_200,
      may_exceed_estimate: true,
    });
    for (const [said, charged] of [
      [undefined, 1_880],
      [15, 28_200],
      [16, 28_200],
      [2, 3_760],
    ] as const) {
      const receipt = await answeredWith("scrapecreators", wider, { success: true, credits_charged: said });
      expect([receipt.charged_micros_usd, receipt.held_micros_usd]).toEqual([charged, 28_200]);
    }
  });

  test("come page by page until the cursor is null, each page paid once", async () => {
    for (const [at, vendorTarget] of [
      [gateway, target],
      [sandboxed, `${commentsPath}?url=https://www.instagram.com/p/abc/`],
    ] as const) {
      const account = await at.openAccount();
      const ids: string[] = [];
      let pages = 0;
      for (let cursor: string | null = ""; cursor !== null; pages++) {
        const response = await at.call(account, `${vendorTarget}&cursor=${encodeURIComponent(cursor)}`);
        const page = (await response.json()) as { comments: { id: string }[]; cursor: string | null };
        ids.push(...page.comments.map(({ id }) => id));
        ({ cursor } = page);
        expect(pages).toBeLessThan(10);
      }
      expect(pages).toBeGreaterThan(1);
      expect(new Set(ids).size).toBe(ids.length);
      expect(await at.balance(account)).toEqual({ balance: 2_000_000 - pages * 1_880, held: 0 });
    }
  });
});

describe("quotes", () => {
  const target = `${quotesPath}?tweetId=7`;

  test("need a tweet", async () => {
    const account = await gateway.openAccount();
    await expectNothingHappened(gateway, async () => {
      for (const query of ["", "?tweetId=", "?cursor=a", "?tweetid=7", "?tweetId=7&tweetId=8"]) {
        flat(400, "invalid_parameters")(await read(gateway.call(account, quotesPath + query)));
      }
    });
  });

  test("that are an error cost nothing, whatever the HTTP status; an empty page is an answer", async () => {
    for (const [body, charged] of [
      [{ tweets: [], status: "error", message: "x" }, 0],
      [{ tweets: [{ id: "1" }], status: "error" }, 0],
      [{ status: "error", msg: "x" }, 0],
      [{ status: "success" }, 0],
      [{ status: "success", tweets: {} }, 0],
      [{ tweets: [], has_next_page: false, next_cursor: "", status: "success", message: "" }, 3_000],
      [{ tweets: [{ id: "1" }] }, 3_000],
    ] as const) {
      const receipt = await answeredWith("twitterapi", target, body);
      expect([JSON.stringify(body), receipt.charged_micros_usd]).toEqual([JSON.stringify(body), charged]);
      expect(receipt.outcome).toBe(charged === 0 ? "failed" : "succeeded");
    }
    const account = await gateway.openAccount();
    const response = await gateway.call(account, `${target}&cursor=unknown`);
    expect([response.status, ((await response.json()) as { status: string }).status]).toEqual([200, "error"]);
    expect(await gateway.balance(account)).toEqual(untouched);
  });

  test("come page by page, and the sandbox's pages end", async () => {
    const account = await sandboxed.openAccount();
    const ids: string[] = [];
    let pages = 0;
    for (let cursor = "", more = true; more; pages++) {
      const response = await sandboxed.call(account, `${target}&cursor=${encodeURIComponent(cursor)}`);
      expect(response.headers.get("x-tollgate-upstream")).toBe("sandbox");
      const page = (await response.json()) as {
        tweets: { id: string }[];
        has_next_page: boolean;
        next_cursor: string;
      };
      ids.push(...page.tweets.map(({ id }) => id));
      [cursor, more] = [page.next_cursor, page.has_next_page];
      expect(pages).toBeLessThan(10);
    }
    expect(pages).toBeGreaterThan(1);
    expect(new Set(ids).size).toBe(ids.length);
    expect(await sandboxed.balance(account)).toEqual({ balance: 2_000_000 - pages * 3_000, held: 0 });
  });
});
