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

test.each(["[::1]", "http://127.0.0.1", "127.0.0.1:80", "127.0.0.1 ", " ", "me@here"])(
  "a HOST of %j is refused by name",
  (host) => {
    expect(() => readSettings({ HOST: host }, "/nowhere")).toThrow("HOST must be");
  },
);

test.each(["127.0.0.1", "0.0.0.0", "::", "::1", "fd00::2", "localhost", "gate_1.internal"])(
  "a HOST of %s is taken as it is",
  (host) => {
    expect(readSettings({ HOST: host }, "/nowhere").host).toBe(host);
  },
);

test("a HOST with a zone needs another address for links, and is refused by name without", () => {
  const zoned = { HOST: "fe80::1%eth0" };
  expect(() => readSettings(zoned, "/nowhere")).toThrow(/^HOST has a zone, .* Set TOLLGATE_BASE_URL, too/);
  const named = readSettings({ ...zoned, TOLLGATE_BASE_URL: "https://api.example.com" }, "/nowhere");
  expect(named.host).toBe("fe80::1%eth0");
});

test.each([" ", "0x50", "8e3", "80.0", "-1", "65536", "8787\n"])(
  "a PORT of %j is refused by name",
  (port) => {
    expect(() => readSettings({ PORT: port }, "/nowhere")).toThrow("PORT must be a number from 0 to 65535.");
  },
);

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
  for (const ending of ["/gw", "/gw/", "/v1", "?a=b", "/#here", "?", "#", "/?", "\\gw"]) {
    expect(() => read(`https://api.example.com${ending}`)).toThrow(
      "TOLLGATE_BASE_URL must be an address without a path",
    );
  }
  expect(read("https://api.example.com/")).toBe("https://api.example.com");
  const agents = readSettings({ TOLLGATE_MCP_URL: "https://agents.example.com/mcp" }, "/nowhere");
  expect(agents.mcpUrl).toBe("https://agents.example.com/mcp");
});

describe.each(["TOLLGATE_BASE_URL", "TOLLGATE_SITE_URL", "TOLLGATE_MCP_URL"])("an address in %s", (name) => {
  const read = (url: string) => () => readSettings({ [name]: url }, "/nowhere");

  test.each([
    "https:api.example.com",
    "https:/api.example.com",
    "https:///api.example.com",
    "api.example.com",
    "ftp://api.example.com",
    "https://api.example.com\n",
    "https://api.example.com/a b",
  ])("that is %j begins no link, and is refused by name", (url) => {
    expect(read(url)).toThrow(`${name} must be an address that begins with http:// or https://`);
  });

  test.each([
    ["HTTPS://API.Example.com/", "https://api.example.com"],
    ["https://api.example.com:443", "https://api.example.com"],
    ["http://bücher.example:8080", "http://xn--bcher-kva.example:8080"],
  ])("that is %s is known as %s, as clients write it", (url, known) => {
    const { baseUrl, siteUrl, mcpUrl } = read(url)();
    expect(baseUrl ?? siteUrl ?? mcpUrl).toBe(known);
  });

  test.each([
    "https://u:hidden@api.example.com",
    "https://hidden@api.example.com",
    "https://@api.example.com",
  ])("that is %s would show it in every link, and is refused without saying it again", (url) => {
    expect(read(url)).toThrow(`${name} must be an address without a user or a password.`);
    expect(read(url)).not.toThrow("hidden");
  });
});

test.each(["TOLLGATE_SITE_URL", "TOLLGATE_MCP_URL"])(
  "an address in %s never ends with a slash: what is appended to it begins with one",
  (name) => {
    for (const ending of ["", "/", "//"]) {
      const { siteUrl, mcpUrl } = readSettings(
        { [name]: `https://api.example.com/of/it${ending}` },
        "/nowhere",
      );
      expect(siteUrl ?? mcpUrl).toBe("https://api.example.com/of/it");
    }
  },
);

test.each(["TOLLGATE_SITE_URL", "TOLLGATE_MCP_URL"])(
  "an address in %s has nothing behind its path",
  (name) => {
    for (const ending of ["?", "?a=b", "#", "#here"])
      expect(() => readSettings({ [name]: `https://api.example.com/of/it${ending}` }, "/nowhere")).toThrow(
        `${name} must be an address without ? or #, because paths are appended to it.`,
      );
  },
);

test.each(["token\n", " token", "to\u0007ken"])(
  "an operator's token %j, which no header can carry, is refused",
  (token) => {
    const read = () => readSettings({ TOLLGATE_OPERATOR_TOKEN: token }, "/nowhere");
    expect(read).toThrow(
      "TOLLGATE_OPERATOR_TOKEN has characters that cannot be sent; is there a line break at its end? Remove it.",
    );
  },
);

test("an operator's token may be any words", () => {
  const token = "the operator's\town token";
  expect(readSettings({ TOLLGATE_OPERATOR_TOKEN: token }, "/nowhere").operatorToken).toBe(token);
});

test("a data folder that is a file is refused by name", () => {
  expect(() => readSettings({ TOLLGATE_DATA: import.meta.path }, "/nowhere")).toThrow(
    `TOLLGATE_DATA must be a folder, and ${import.meta.path} is not one.`,
  );
});
