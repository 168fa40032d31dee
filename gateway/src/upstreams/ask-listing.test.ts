import { expect, test } from "bun:test";
import { openVendorDouble, type VendorDouble } from "../../../test/doubles/vendor-double.ts";
import { createKeeper } from "../../../test/doubles/exchange.ts";
import type { ScriptedAnswer } from "../../../test/doubles/scripted-answer.ts";
import { testUpstream } from "../operation/test-upstream.ts";
import type { Upstream } from "../operation/upstream.ts";
import { createListingAsker } from "./ask-listing.ts";
import { protocols } from "./protocols.ts";

const keep = createKeeper();
const askListing = createListingAsker(protocols, 300);

const upstreamAt = ({ url }: VendorDouble, protocol: string): Upstream =>
  testUpstream({ protocol, url, key: "an-operator-key-of-tests" });

const json = { "content-type": "application/json" };

/** What is made of an answer; whoever asks a second time, without the key, is refused. */
async function listingFor(answer: ScriptedAnswer, protocol = "openai") {
  const vendor = await keep(openVendorDouble({ handlers: { "*": () => ({ status: 401 }) } }));
  vendor.answerNext(answer);
  const startedMs = performance.now();
  const listing = await askListing(upstreamAt(vendor, protocol));
  expect(performance.now() - startedMs).toBeLessThan(3_000);
  return listing;
}

test("a vendor that is silent, trickles, breaks off or sends elsewhere is given up on in time", async () => {
  for (const [answer, why] of [
    [{ kind: "hang" }, "it takes too long to answer"],
    [{ kind: "endless", chunk: " ", everyMs: 50 }, "it takes too long to answer"],
    [{ kind: "reset" }, "it breaks off its answer"],
    [{ kind: "garbage" }, "its answer is not HTTP"],
    [
      { status: 302, headers: { location: "http://127.0.0.1:9/" } },
      "it redirects elsewhere, and no key is sent there",
    ],
  ] as const) {
    expect(await listingFor(answer)).toEqual({ kind: "unclear", why });
  }
});

test("only a list of models is taken for one", async () => {
  for (const body of ["<h1>hello</h1>", "[]", '{"data":{}}', '{"models":[]}', "null", ""]) {
    expect(await listingFor({ status: 200, headers: json, body })).toEqual({
      kind: "unclear",
      why: "what it answers is no list of models",
    });
  }
  expect(
    await listingFor({
      status: 200,
      headers: json,
      body: '{"data":[{"id":"a"},null,{"id":5},"b",{"id":"c"}]}',
    }),
  ).toEqual({ kind: "listed", models: new Set(["a", "c"]), complete: true, forAnybody: false });
});

test("a page of a longer list is not taken for the whole", async () => {
  for (const [protocol, body] of [
    ["anthropic", '{"data":[{"id":"a"}],"has_more":true}'],
    ["gemini", '{"models":[{"name":"models/a"}],"nextPageToken":"next"}'],
  ] as const) {
    expect(await listingFor({ status: 200, headers: json, body }, protocol)).toMatchObject({
      models: new Set(["a"]),
      complete: false,
    });
  }
});

test("vendors of other protocols are not asked at all", async () => {
  const vendor = await keep(openVendorDouble({ handlers: {} }));
  for (const protocol of Object.keys(protocols)) {
    if (["openai", "anthropic", "gemini"].includes(protocol)) continue;
    expect(await askListing(upstreamAt(vendor, protocol))).toEqual({ kind: "no_listing" });
  }
  expect(vendor.connections().opened).toBe(0);
});
