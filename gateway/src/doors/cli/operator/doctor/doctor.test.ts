import { describe, expect, test } from "bun:test";
import { parseConfig } from "../../../../config/load-config.ts";
import { defineModel, defineOperation, fixed } from "../../../../for-catalogues.ts";
import { createOffer } from "../../../../offer/create-offer.ts";
import type { Catalogue } from "../../../../operation/catalogue.ts";
import { createTerminal, type Terminal } from "../../test-terminal.ts";

const snapshot = defineOperation({
  id: "financial.metrics.snapshot",
  title: "Snapshot",
  summary: "A snapshot of figures.",
  category: "data",
  method: "GET",
  path: "/apis/v1/financial/snapshot",
  price: fixed("0.048"),
  servedBy: { financialdatasets: { exchange: "forward_query", path: "/snapshot" } },
});

const unpriced = defineOperation({
  id: "reseller.tag",
  title: "Tag",
  summary: "A tag.",
  category: "data",
  method: "GET",
  path: "/apis/v1/reseller/tag",
  price: fixed("to be set"),
  servedBy: { tikhub: { exchange: "forward_query", path: "/tag" } },
});

const rerank = defineOperation({
  id: "rerank.create",
  title: "Rerank",
  summary: "Ranks documents.",
  category: "models",
  method: "POST",
  path: "/v1/rerank",
  price: { kind: "per_token", modelKind: "rerank", estimate: () => ({ expected: {}, atMost: {} }) },
  servedBy: { jina: { exchange: "rerank", path: "/rerank" } },
});

const reranker = defineModel({ id: "ranker", kind: "rerank", protocols: ["jina"], price: { input: "0.05" } });

const sound: Catalogue = { operations: [snapshot, rerank], models: [reranker] };

const vendorKey = "sk-vendor-secret-0123456789";

function doctorOn(
  yaml: string,
  { catalogue = sound, health = {} }: { catalogue?: Catalogue; health?: Record<string, string> } = {},
): Terminal & { probed: string[] } {
  const probed: string[] = [];
  const terminal = createTerminal({
    openStore: () => Promise.reject(new Error("The doctor needs no store.")),
    loadOffer: async () => {
      const config = parseConfig(yaml, "tollgate.yaml", { VENDOR_KEY: vendorKey });
      const sandboxUrl = config.sandbox === "off" ? undefined : "http://127.0.0.1:9999";
      return { config, offer: createOffer(catalogue, config, sandboxUrl) };
    },
    probe: async (url) => {
      probed.push(url);
      return health[url] ?? "reachable";
    },
  });
  return { ...terminal, probed };
}

const upstreams = `
upstreams:
  jina:    { protocol: jina, url: "https://api.jina.ai/v1", key: "\${VENDOR_KEY}" }
  findata: { protocol: financialdatasets, url: "https://user:hidden@data.example:8443/x", key: "\${VENDOR_KEY}" }
`;

describe("doctor", () => {
  test("without a configuration everything is served by the sandbox, which is not asked", async () => {
    const terminal = doctorOn("");
    const shown = await terminal.run("doctor");
    expect(shown).toMatchObject({ exitCode: 0, errors: [] });
    expect(shown.out[0]).toBe("The configuration is valid; 2 operations are served.");
    expect(shown.out.join("\n")).toMatch(/sandbox +all +built in +2 +sandbox/);
    expect(shown.out.at(-1)).toBe("Everything configured can be used.");
    expect(terminal.probed).toEqual([]);
  });

  test("each upstream is asked at its origin, and no key or password is shown", async () => {
    const terminal = doctorOn(`${upstreams}\nsandbox: off`);
    expect(await terminal.json("doctor")).toEqual({
      usable: true,
      config: { valid: true, file: "/etc/tollgate.yaml" },
      operations_served: 2,
      gaps: [],
      notes: [],
      operations_without_price: [],
      models_without_price: [],
      upstreams: [
        {
          name: "jina",
          protocol: "jina",
          origin: "https://api.jina.ai",
          url: "https://api.jina.ai/v1",
          operations: 1,
          health: "reachable",
        },
        {
          name: "findata",
          protocol: "financialdatasets",
          origin: "https://data.example:8443",
          url: "https://data.example:8443/x",
          operations: 1,
          health: "reachable",
        },
      ],
      installation: {
        start: { usable: true, sentence: "nothing in the settings prevents it." },
        store: {
          usable: true,
          sentence: "there is no data at the data of tests yet; the first start makes it.",
        },
        limits: { usable: true, sentence: "counted in memory." },
      },
      uncertain: [],
    });
    expect(terminal.probed).toEqual(["https://api.jina.ai", "https://data.example:8443"]);
    const text = [
      ...(await terminal.run("doctor")).out,
      ...(await terminal.run("doctor", "--json")).out,
    ].join("\n");
    expect(text).not.toContain(vendorKey);
    expect(text).not.toContain("hidden");
  });

  test("an upstream that cannot be reached is named with the reason", async () => {
    const terminal = doctorOn(upstreams, { health: { "https://api.jina.ai": "connection refused" } });
    const shown = await terminal.run("doctor");
    expect(shown.exitCode).toBe(1);
    expect(shown.out.join("\n")).toMatch(/jina +jina +https:\/\/api\.jina\.ai\/v1 +1 +connection refused/);
    expect(shown.out.at(-1)).toBe("Something configured cannot be used.");
  });

  test("a failing probe says why instead of ending the examination", async () => {
    const terminal = createTerminal({
      openStore: () => Promise.reject(new Error("no")),
      loadOffer: async () => {
        const config = parseConfig(upstreams, "tollgate.yaml", { VENDOR_KEY: vendorKey });
        return { config, offer: createOffer(sound, config, undefined) };
      },
      probe: () => Promise.reject(new Error("no route to host")),
    });
    const shown = await terminal.run("doctor");
    expect(shown).toMatchObject({ exitCode: 1, errors: [] });
    expect(shown.out.join("\n")).toContain("no route to host");
  });

  test("operations and models without a price are named", async () => {
    const yaml = "models: { gpt-x: { max_output_tokens: 10 } }";
    const terminal = doctorOn(yaml, { catalogue: { operations: [snapshot, unpriced, rerank], models: [] } });
    const shown = await terminal.run("doctor");
    expect(shown.exitCode).toBe(1);
    const text = shown.out.join("\n");
    expect(text).toContain("Gap: reseller.tag: no price.");
    expect(text).toContain("No price: operation reseller.tag; its calls are refused.");
    expect(text).toContain("No price: operation rerank.create; its calls are refused.");
    expect(text).toContain("No price: model gpt-x; it is not offered.");
    const json = await terminal.run("doctor", "--json");
    expect(JSON.parse(json.out[0] ?? "")).toMatchObject({
      usable: false,
      operations_without_price: ["reseller.tag", "rerank.create"],
      models_without_price: ["gpt-x"],
    });
  });

  test("an upstream that serves nothing is a mistake", async () => {
    const terminal = doctorOn(`upstreams: { chat: { protocol: anthropic, url: "https://a.example" } }`);
    const shown = await terminal.run("doctor");
    expect(shown.exitCode).toBe(1);
    expect(shown.out.join("\n")).toMatch(
      /chat +anthropic +https:\/\/a\.example +0 +reachable, serves no operation/,
    );
  });

  test("selling less than everything is a choice, a setting for nothing is not", async () => {
    const some = `sandbox: off\nupstreams: { j: { protocol: jina, url: "https://j.example" } }`;
    const chosen = await doctorOn(some).run("doctor");
    expect(chosen.exitCode).toBe(0);
    expect(chosen.out.join("\n")).toContain("Gap: financial.metrics.snapshot: no upstream serves it");
    const mistaken = await doctorOn(`${some}\noperations: { no.such: { price_usd: 1 } }`).run("doctor");
    expect(mistaken.exitCode).toBe(1);
    expect(mistaken.out.join("\n")).toContain("Gap: operations.no.such: there is no such operation.");
  });

  test("taking models from sale is a choice, also the last one of an operation whose tasks go on", async () => {
    const video = defineOperation({
      id: "video.create",
      title: "Video",
      summary: "Makes a video.",
      category: "models",
      method: "POST",
      path: "/apis/v1/video",
      price: {
        kind: "per_second",
        modelKind: "video",
        requested: () => ({ seconds: 5, resolution: 720 }),
        secondsMax: 15,
      },
      task: { openMax: 3 },
      servedBy: { dashscope: { exchange: "video_create", path: "/video", tasksPath: "/tasks" } },
    });
    const film = defineModel({
      id: "film",
      kind: "video",
      protocols: ["dashscope"],
      price: { second_720p: "0.1" },
    });
    const yaml = `sandbox: off
upstreams: { video: { protocol: dashscope, url: "https://dashscope-intl.aliyuncs.com/api/v1" } }
models: { film: off }`;
    const shown = await doctorOn(yaml, { catalogue: { operations: [video], models: [film] } }).run("doctor");
    expect(shown.out.join("\n")).toContain("Gap: video.create: all of its models are off.");
    expect(shown.exitCode).toBe(0);
  });

  test("an embedding of one's own is mentioned, because a price for output may be missing, and is no mistake", async () => {
    const embeddings = defineOperation({
      id: "embeddings.create",
      title: "Embeddings",
      summary: "Embeds.",
      category: "models",
      method: "POST",
      path: "/v1/embeddings",
      price: { kind: "per_token", modelKind: "embedding", estimate: () => ({ expected: {}, atMost: {} }) },
      servedBy: { openai: { exchange: "embeddings", path: "/embeddings" } },
    });
    const yaml = `
upstreams: { openai: { protocol: openai, url: "https://o.example" } }
models: { embedder: { via: [openai], price: { input: 1 } } }`;
    const catalogue = { operations: [embeddings], models: [] };
    const shown = await doctorOn(yaml, { catalogue }).run("doctor");
    expect(shown.exitCode).toBe(0);
    expect(shown.out.join("\n")).toContain(
      "Note: models.embedder: no price for output, so it is offered for embeddings only.",
    );
  });

  test("a way to an upstream that cannot serve is a configuration that cannot be used", async () => {
    const yaml = `${upstreams}\noperations: { financial.metrics.snapshot: { via: [jina] } }`;
    const shown = await doctorOn(yaml).run("doctor");
    expect(shown.exitCode).toBe(1);
    expect(shown.out).toEqual([
      "tollgate.yaml cannot be used:",
      '  operations.financial.metrics.snapshot.via: upstream "jina" (protocol jina) cannot serve it; protocols that can: financialdatasets',
    ]);
  });

  test("a configuration that cannot be used is reported place by place, with exit code 1", async () => {
    const terminal = doctorOn("tiers: { gold: 1 }\nsignup_credit_usd: -2");
    const shown = await terminal.run("doctor");
    expect(shown.exitCode).toBe(1);
    expect(shown.out[0]).toBe("tollgate.yaml cannot be used:");
    expect(shown.out.join("\n")).toContain("signup_credit_usd: expected USD");
    const json = JSON.parse((await terminal.run("doctor", "--json")).out[0] ?? "") as Record<string, unknown>;
    expect(json).toMatchObject({ usable: false, config: { valid: false } });
  });
});

test("a platform at which nobody can link an account is a gap that says what is missing", async () => {
  const follow = defineOperation({
    id: "social_a.follow",
    title: "Follow",
    summary: "Follows.",
    category: "data",
    method: "POST",
    path: "/apis/v1/social_a/follow",
    price: fixed("0.01"),
    link: { scopes: ["follows.write"] },
    servedBy: { x: { exchange: "forward_body", path: "/users/{user_id}/following" } },
  });
  const catalogue = { operations: [follow], models: [] };
  const bare = 'protocol: x, url: "https://api.x.test/2"';
  const whole = `${bare}, authorize_url: "https://x.test/authorize", token_url: "https://api.x.test/token"`;
  const lacking = doctorOn(`upstreams: { platform: { ${whole} } }`, { catalogue });
  const shown = await lacking.run("doctor");
  expect(shown.out.join("\n")).toContain(
    "Gap: upstreams.platform: protocol x needs authorize_url, token_url and client_id",
  );
  expect(shown.exitCode).toBe(1);
  const complete = doctorOn(`upstreams: { platform: { ${whole}, client_id: app } }`, { catalogue });
  expect((await complete.run("doctor")).exitCode).toBe(0);
});
