import { expect, test } from "bun:test";
import { parseConfig } from "./load-config.ts";

const secret = "canary-9f8e7d6c5b4a";

function upstreamOf(members: string, environment: Readonly<Record<string, string>> = {}) {
  const protocol = members.includes("protocol:") ? "" : "protocol: openai, ";
  const url = members.includes("url:") ? "" : 'url: "https://a.test/v1", ';
  const text = `upstreams: { a: { ${protocol}${url}${members} } }`;
  return parseConfig(text, "tollgate.yaml", environment).upstreams.get("a");
}

function refusalOf(members: string, environment?: Readonly<Record<string, string>>): string {
  try {
    upstreamOf(members, environment);
  } catch (error) {
    return error instanceof Error
      ? error.message.replace("tollgate.yaml cannot be used:\n  upstreams.a.", "")
      : "";
  }
  return "accepted";
}

test("headers, a header for the key and parameters are kept as they are sent", () => {
  expect(
    upstreamOf(
      'key: "${KEY}", key_header: Api-Key, headers: { X-Gate: "Token ${GATE}" }, query: { v: "1 2" }',
      {
        KEY: "k-1",
        GATE: "g-1",
      },
    ),
  ).toMatchObject({
    key: "k-1",
    keyHeader: "api-key",
    headers: { "x-gate": "Token g-1" },
    query: { text: "v=1%202" },
  });
  expect(upstreamOf("weight: 1")).toMatchObject({
    key: "",
    keyHeader: "authorization",
    headers: undefined,
    query: undefined,
    secrets: [],
  });
});

test("a name and a password in an address give access, as they are written, meant and sent", () => {
  const secretsOf = (user: string): readonly string[] =>
    upstreamOf(`url: "https://${user}@a.test/v1", key: k-1`)?.secrets ?? [];
  expect(secretsOf("ada:p%40ss")).toEqual(["k-1", "p%40ss", "p@ss", "YWRhOnBAc3M"]);
  expect(secretsOf("a-token")).toEqual(["k-1", "a-token", "YS10b2tlbjo"]);
  expect(secretsOf("ada:100%")).toEqual(["k-1", "100%", "YWRhOjEwMCU"]);
});

test("what gives access is told from what may stand in any answer", () => {
  const secretsOf = (members: string): readonly string[] => upstreamOf(members)?.secrets ?? [];
  expect(secretsOf('key: k-1, headers: { Cf-Aig-Authorization: "Bearer abc" }')).toEqual(["k-1", "abc"]);
  expect(secretsOf('headers: { X-Word: "sesame/Open0+sesame/Open0=" }')).toEqual([
    "sesame/Open0+sesame/Open0=",
    "sesame%2FOpen0%2Bsesame%2FOpen0%3D",
  ]);
  expect(secretsOf("query: { api_key: abc, api-version: '2024-10-21' }")).toEqual(["abc"]);
  for (const random of [
    "9f8e7d6c5b4a39281706f5e4d3c2b1a0",
    "0b9cf2f4-3d5e-4f7a-9b1c-2d3e4f5a6b7c",
    "MFRGGZDFMZTWQ2LKNNWG23TP",
  ])
    expect(secretsOf(`headers: { X-Gate: ${random} }`)).toEqual([random]);
  expect(secretsOf("query: { deployment: gpt-4o-mini-2024-07-18 }")).toEqual([]);
  expect(
    secretsOf(
      'headers: { HTTP-Referer: "https://Example9.example/of/some/length", X-Title: An example, x-portkey-provider: anthropic, anthropic-beta: context-1m-2025-08-07 }',
    ),
  ).toEqual([]);
});

test.each(
  "host content-length content-type transfer-encoding connection keep-alive proxy-authorization te trailer upgrade accept accept-encoding x-request-id idempotency-key anthropic-version range"
    .split(" ")
    .flatMap((name) => [name, name.replace(/^./, (first) => first.toUpperCase())]),
)("the gateway's own header %s is refused", (name) => {
  expect(refusalOf(`headers: { ${name}: x }`)).toBe(
    `headers.${name}: the gateway writes this header itself; remove it`,
  );
  expect(refusalOf(`key: k-1, key_header: ${name}`)).toBe(
    "key_header: the gateway writes this header itself; the key needs another one",
  );
});

test("the header that the key travels in cannot be written twice", () => {
  const twice = "the key travels in this header; remove it, or name another one as key_header";
  expect(refusalOf("key: k-1, headers: { Authorization: x }")).toBe(`headers.Authorization: ${twice}`);
  expect(refusalOf("protocol: anthropic, key: k-1, headers: { X-Api-Key: x }")).toBe(
    `headers.X-Api-Key: ${twice}`,
  );
  expect(refusalOf("key: k-1, key_header: Api-Key, headers: { api-key: x }")).toBe(
    `headers.api-key: ${twice}`,
  );
  expect(refusalOf("key: k-1, key_header: api-key, headers: { Authorization: x }")).toBe("accepted");
  expect(refusalOf("protocol: anthropic, key: k-1, headers: { Authorization: x }")).toBe("accepted");
  expect(refusalOf("headers: { X-A: x, x-a: y }")).toBe(
    "headers.x-a: written twice; the name of a header has no case",
  );
});

test("what would never be sent is refused", () => {
  expect(refusalOf("key_header: api-key")).toBe(
    "key_header: there is no key to send in it; write key, or remove this",
  );
  expect(refusalOf("protocol: x, key: k-1, key_header: api-key")).toBe(
    "key_header: protocol x takes the tokens of linked accounts in authorization, and no key",
  );
  expect(refusalOf("protocol: x, headers: { Authorization: x }")).toBe(
    "headers.Authorization: the token of the linked account travels in this header; remove it",
  );
  expect(refusalOf("protocol: gemini, query: { alt: json }")).toBe(
    "query.alt: the gateway writes this parameter itself; remove it",
  );
  expect(refusalOf("query: { alt: json }")).toBe("accepted");
});

test("a key with what would make every vendor refuse it is refused, and not repeated", () => {
  const inQuotes =
    "stands in quotes, which would be sent with it; remove them (docker --env-file keeps them)";
  for (const quote of ['"', "'"]) {
    const environment = { KEY: `${quote}${secret}${quote}` };
    expect(refusalOf('key: "${KEY}"', environment)).toBe(`key: ${inQuotes}`);
    expect(refusalOf('client_secret: "${KEY}"', environment)).toBe(`client_secret: ${inQuotes}`);
  }
  expect(refusalOf(`key: "'${secret}"`)).toBe("accepted");

  const twice = "key: begins with Bearer, which the gateway writes itself; remove that word";
  expect(refusalOf(`key: Bearer ${secret}`)).toBe(twice);
  expect(refusalOf(`protocol: anthropic, key: bearer ${secret}, key_header: Authorization`)).toBe(twice);
  expect(refusalOf(`key: Bearer ${secret}, key_header: X-Gate`)).toBe("accepted");
});

test("names and values that cannot be sent are refused, and no value is repeated", () => {
  const unsendable = "has characters that cannot be sent; is there a line break at its end? Remove it";
  for (const bad of ["\n", "\r", "\r\nx-evil: 1", "\0", "\u0100", "\u{1F600}", "\u007f"]) {
    const said = refusalOf('headers: { X-Gate: "${GATE}" }', { GATE: `${secret}${bad}` });
    expect([bad, said]).toEqual([bad, `headers.X-Gate: ${unsendable}`]);
  }
  expect(refusalOf('headers: { X-Gate: "${GATE}" }', { GATE: "caf\u00e9\tau lait" })).toBe("accepted");
  expect(refusalOf('query: { v: "${GATE}" }', { GATE: `${secret}\n` })).toBe(`query.v: ${unsendable}`);
  expect(refusalOf('query: { v: "${GATE}" }', { GATE: "\u{1F600} \u0100" })).toBe("accepted");

  for (const [members, said] of [
    ['headers: { X-Gate: "" }', "headers.X-Gate: expected a value; is its environment variable set?"],
    [`headers: { X-Gate: " ${secret}" }`, "headers.X-Gate: begins or ends with a space; remove it"],
    ["headers: { X-Gate: 5 }", "headers.X-Gate: expected a text; put it in quotes"],
    ["query: { v: 2.10 }", "query.v: expected a text; put it in quotes"],
    [
      "headers: { X-Gate: $GATE }",
      "headers.X-Gate: looks like the name of an environment variable; write it as ${NAME}",
    ],
    ['headers: { "X Gate": x }', "headers.X Gate: expected the name of a header: letters, digits and -"],
    ['headers: { "X:Gate": x }', "headers.X:Gate: expected the name of a header: letters, digits and -"],
    ['headers: { "": x }', "headers.: expected the name of a header: letters, digits and -"],
    ['key: k-1, key_header: "a b"', "key_header: expected the name of a header: letters, digits and -"],
    ['query: { "": x }', "query.: expected the name of a parameter"],
    [`headers: { X-Gate: ${"x".repeat(4_097)} }`, "headers.X-Gate: expected at most 4096 characters"],
    [`headers: [${secret}]`, "headers: expected names and what they mean, as in { name: value }"],
  ] as const) {
    expect([members.slice(0, 40), refusalOf(members)]).toEqual([members.slice(0, 40), said]);
  }
});

test("there are at most 16 headers and 16 parameters", () => {
  const many = (count: number): string => Array.from({ length: count }, (_, at) => `x-${at}: "y"`).join(", ");
  expect(refusalOf(`headers: { ${many(16)} }, query: { ${many(16)} }`)).toBe("accepted");
  expect(refusalOf(`headers: { ${many(17)} }`)).toBe("headers: expected at most 16");
  expect(refusalOf(`query: { ${many(17)} }`)).toBe("query: expected at most 16");
});
