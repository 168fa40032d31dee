import { describe, expect, test } from "bun:test";
import { readRequestHead } from "./request-head.ts";

const read = (target: string, lines: readonly string[] = ["Host: x"], version = "1.1") =>
  readRequestHead(`GET ${target} HTTP/${version}\r\n${lines.map((line) => `${line}\r\n`).join("")}`);

describe("targets", () => {
  test("have one spelling, whatever was sent", () => {
    const spelled = {
      "/v1/models?limit=2&after=%41": "/v1/models?limit=2&after=%41",
      "/v1/x/../models": "/v1/models",
      "/v1/x/%2E%2e/models": "/v1/models",
      "/v1/./models": "/v1/models",
      "/v1\\models": "/v1/models",
      "/../../etc/passwd": "/etc/passwd",
      "/v1/models#part": "/v1/models",
      "http://other.test:81/v1/models?a": "/v1/models?a",
      "HTTPS://other.test": "/",
      "/caf\xc3\xa9": "/caf%C3%A9",
      '/a"b': "/a%22b",
      "*": "/*",
    };
    for (const [sent, target] of Object.entries(spelled)) expect(read(sent)?.target).toBe(target);
  });

  test("with blanks or control characters are none", () => {
    for (const sent of ["/a b", "/a\tb", "/a\x00b", "/a\x7fb", ""]) expect(read(sent)).toBeUndefined();
  });
});

describe("headers", () => {
  test("are found by their names in small letters, without the blanks around them", () => {
    const headers = read("/", ["HOST: x", "X-One:\t a b \t", "x-empty:"])?.headers;
    expect([headers?.get("host"), headers?.get("x-one"), headers?.get("x-empty")]).toEqual(["x", "a b", ""]);
    expect([headers?.get("x-two"), headers?.has("x-two")]).toEqual([null, false]);
  });

  test("that come several times are one list, and cookies one line", () => {
    const headers = read("/", ["Host: x", "A: 1", "a: 2", "Cookie: c=1", "Cookie: d=2"])?.headers;
    expect([headers?.get("a"), headers?.get("cookie")]).toEqual(["1, 2", "c=1; d=2"]);
    expect([headers?.areMoreThan(2), headers?.areMoreThan(3)]).toEqual([true, false]);
    expect([...(headers?.toHeaders() ?? [])]).toContainEqual(["cookie", "c=1; d=2"]);
  });

  test("whose blanks only some readers take for blanks are no numbers", () => {
    expect(read("/", ["Host: x", "Content-Length: \xa05"])?.fault?.message).toBe(
      "Content-Length: expected a number",
    );
  });

  test("name one host, which an address can be made of", () => {
    for (const host of ["x", "a.b:80", "[::1]:8787", "127.0.0.1", "a_b.c"])
      expect(read("/", [`Host: ${host}`])?.fault).toBeUndefined();
    for (const host of ["", "a/b", "a b", "u@h", "a:b", "a:99999", "1.2.3.999", "[::g]", "a%zz"])
      expect(read("/", [`Host: ${host}`])?.fault?.message).toBe("Host: expected an address");
    expect(read("/", ["Host: a", "Host: a"])?.fault?.message).toBe("Host: given more than once");
    expect(read("/", [])).toBeUndefined();
    expect(read("/", [], "1.0")?.fault).toBeUndefined();
  });

  test("say whether the connection goes on", () => {
    const goesOn = (connection: string, version = "1.1") =>
      read("/", ["Host: x", `Connection: ${connection}`], version)?.keepAlive;
    expect(
      ["keep-alive", "Upgrade, HTTP2-Settings", "close", "TE, Close"].map((word) => goesOn(word)),
    ).toEqual([true, true, false, false]);
    expect([goesOn("keep-alive", "1.0"), read("/", ["Host: x"], "1.0")?.keepAlive]).toEqual([true, false]);
  });
});
