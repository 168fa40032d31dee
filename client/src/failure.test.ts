import { describe, expect, test } from "bun:test";
import { freeGet } from "../scripted-gateway.ts";
import { useScriptedGateway } from "../use-scripted-gateway.ts";

const scripted = useScriptedGateway();
const { run } = scripted;

test("an answer is read by its content type, never on hope", async () => {
  const html = { "content-type": "text/html" };
  const error = await run({ answers: [{ status: 404, body: "<h1>no</h1>", headers: html }] }, freeGet);
  expect(error).toMatchObject({ status: 404, body: "<h1>no</h1>", code: "parameters", moneyMoved: "no" });
});

describe("a refusal without a message that can be found", () => {
  const said = async (body: unknown, contentType = "application/json"): Promise<string> => {
    const headers = { "content-type": contentType };
    const error = await run({ answers: [{ status: 422, body, headers }] }, freeGet);
    await scripted.gateway.close();
    return error === "answered" ? error : error.message;
  };

  test("is told as it came", async () => {
    expect(await said({ detail: "top_n is too large" })).toBe(
      'The gateway answered 422: {"detail":"top_n is too large"}',
    );
    expect(await said("<h1>\u001b[2Jno\n\nway</h1>", "text/html")).toBe(
      "The gateway answered 422: <h1> [2Jno way</h1>",
    );
  });

  test("is told in short where it is long, and by its status where it is empty", async () => {
    const long = await said({ detail: "long ".repeat(1_000) });
    expect(long).toStartWith('The gateway answered 422: {"detail":"long long');
    expect(long).toEndWith("…");
    expect(long.length).toBeLessThan(600);
    expect(await said("", "text/plain")).toBe("The gateway answered 422.");
    expect(await said({})).toBe("The gateway answered 422.");
  });
});
