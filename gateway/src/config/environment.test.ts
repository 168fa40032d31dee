import { describe, expect, test } from "bun:test";
import { readSettings } from "./environment.ts";

const written = "p%40ss%2Fword";
const meant = "p@ss/word";

describe.each(["TOLLGATE_STORE", "TOLLGATE_LIMITS"])("a server named by %s", (name) => {
  const scheme = name === "TOLLGATE_STORE" ? "postgres" : "redis";
  const read = (password: string) => {
    const url = `${scheme}://me:${password}@db.example:1234/1`;
    const { store, limits } = readSettings({ [name]: url }, "/nowhere");
    return { url, setting: name === "TOLLGATE_STORE" ? store : limits };
  };

  test("has its password hidden as it is written and as it is meant", () => {
    const { url, setting } = read(written);
    expect(setting).toMatchObject({ kind: scheme, url, secrets: [url, written, meant] });
  });

  test("whose password cannot be read is refused, and the password is not said again", () => {
    const refuse = () => read("half%2-a-secret");
    expect(refuse).toThrow(`${name} must be`);
    expect(refuse).not.toThrow("half");
  });

  // Up to such a character it could be taken for a host and a port, and be said where nobody answers there.
  test.each(["12/34", "Ge@h/eim", "12#34", "12?34", "a/b/c"])(
    "whose password %s has a character that ends an address is refused, and told how to write it",
    (password) => {
      expect(() => read(password)).toThrow(/^TOLLGATE_\w+ must be .* as %2F, %23, %3F, %25 and %40\.$/);
    },
  );
});

test.each(["sqlite:", "sqlite://"])("a store that is %s and no path is the usual file", (written) => {
  const { store } = readSettings({ TOLLGATE_STORE: written, TOLLGATE_DATA: "/there" }, "/nowhere");
  expect(store).toEqual({ kind: "sqlite", path: "/there/tollgate.db" });
});

test.each(["sqlite::memory:", "sqlite://:memory:"])(
  "a store that is %s is refused, because its books would be gone at the stop",
  (written) => {
    expect(() => readSettings({ TOLLGATE_STORE: written }, "/nowhere")).toThrow(
      "TOLLGATE_STORE must name a file: books in memory are gone when the server stops.",
    );
  },
);

test.each(["[::1]", "http://127.0.0.1", "127.0.0.1:80"])("a HOST of %s is refused by name", (host) => {
  expect(() => readSettings({ HOST: host }, "/nowhere")).toThrow("HOST must be");
});

test("a variable that is empty counts as one that is not set", () => {
  const names = [
    "HOST",
    "PORT",
    "TOLLGATE_BASE_URL",
    "TOLLGATE_SITE_URL",
    "TOLLGATE_MCP_URL",
    "TOLLGATE_DATA",
    "TOLLGATE_CONFIG",
    "TOLLGATE_STORE",
    "TOLLGATE_LIMITS",
    "TOLLGATE_SECRET",
    "TOLLGATE_LOG",
    "TOLLGATE_OPERATOR_TOKEN",
    "TOLLGATE_STOP_DELAY_SECONDS",
  ];
  const empty = Object.fromEntries(names.map((name) => [name, ""]));
  expect(readSettings(empty, "/nowhere")).toEqual(readSettings({}, "/nowhere"));
});

test("a base address with a path is refused by name: neither calls nor agents would be found under it", () => {
  const read = (url: string) => readSettings({ TOLLGATE_BASE_URL: url }, "/nowhere").baseUrl;
  for (const ending of ["/gw", "/gw/", "/v1", "?a=b", "/#here"]) {
    expect(() => read(`https://api.example.com${ending}`)).toThrow(
      "TOLLGATE_BASE_URL must be an address without a path",
    );
  }
  expect(read("https://api.example.com/")).toBe("https://api.example.com");
  const agents = readSettings({ TOLLGATE_MCP_URL: "https://agents.example.com/mcp" }, "/nowhere");
  expect(agents.mcpUrl).toBe("https://agents.example.com/mcp");
});

test.each(["token\n", " token", "to\u0007ken"])(
  "an operator's token %j, which no header can carry, is refused",
  (token) => {
    const read = () => readSettings({ TOLLGATE_OPERATOR_TOKEN: token }, "/nowhere");
    expect(read).toThrow(
      "TOLLGATE_OPERATOR_TOKEN has characters that cannot be sent; is there a line break at its end? Take it away.",
    );
  },
);

test("an operator's token may be any words", () => {
  const token = "the operator's\town token";
  expect(readSettings({ TOLLGATE_OPERATOR_TOKEN: token }, "/nowhere").operatorToken).toBe(token);
});

test("a data folder that is a file is refused by name", () => {
  expect(() => readSettings({ TOLLGATE_DATA: import.meta.path }, "/nowhere")).toThrow(
    `TOLLGATE_DATA must be a folder, and ${import.meta.path} is none.`,
  );
});
