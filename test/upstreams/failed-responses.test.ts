// A response of OpenAI's that says of itself that it failed, under the status of a success.

import { describe, expect, test } from "bun:test";
import { usage, useRoutedCalls } from "./routed-calls.ts";
import { json } from "./two-upstreams.ts";

const { model, meetAnew, gateway } = await useRoutedCalls();

describe("an error that a model's vendor tells with the status of a success", () => {
  describe("inside of a response that failed", () => {
    const failed = (code: string, more: object = {}) => ({
      id: "resp_1",
      object: "response",
      status: "failed",
      model: "gpt-x",
      output: [],
      error: { code, message: "pay at vendor.example" },
      usage,
      ...more,
    });
    const ways = {
      "told whole": (response: object) => ({ status: 200, headers: json, body: JSON.stringify(response) }),
      "as the first event of a stream": (response: object) => ({
        status: 200,
        headers: { "Content-Type": "text/event-stream" },
        body: `data: ${JSON.stringify({ type: "response.failed", response })}\n\n`,
      }),
    };
    const asks = [false, true].flatMap((stream) =>
      Object.entries(ways).map((way) => [stream, ...way] as const),
    );
    const response = { model: "gpt-x", input: "Say it", max_output_tokens: 100 };

    const emptyMessage = { id: "msg_1", type: "message", role: "assistant", content: [] };

    test.each(asks)(
      "is asked elsewhere where nothing was said, streamed %p, %s",
      async (stream, _way, say) => {
        meetAnew();
        const account = await gateway.openAccount();
        model.a.answerNext(say(failed("server_error", { output: [emptyMessage] })));
        const served = await gateway.post(account, "/v1/responses", { ...response, stream });
        expect(await served.text()).not.toContain("vendor.example");
        expect(await gateway.receipt(account, served)).toMatchObject({
          outcome: "succeeded",
          attempts: [{ upstream: "oa-a" }, { upstream: "oa-b", status: 200 }],
        });
      },
    );

    test.each(asks)("is asked elsewhere and costs nothing, streamed %p, %s", async (stream, _way, say) => {
      for (const code of ["server_error", "rate_limit_exceeded", "insufficient_quota"]) {
        meetAnew();
        const account = await gateway.openAccount();
        model.a.answerNext(say(failed(code)));
        const served = await gateway.post(account, "/v1/responses", { ...response, stream });
        expect(await served.text()).not.toContain("vendor.example");
        expect(await gateway.receipt(account, served)).toMatchObject({
          outcome: "succeeded",
          attempts: [{ upstream: "oa-a" }, { upstream: "oa-b", status: 200 }],
        });

        meetAnew();
        const poor = await gateway.openAccount();
        for (const double of [model.a, model.b]) double.answerNext(say(failed(code)));
        const refused = await gateway.post(poor, "/v1/responses", { ...response, stream });
        // Only what is about the operator is no business of the caller's.
        const isTold = (await refused.text()).includes("vendor.example");
        if (code !== "rate_limit_exceeded") expect(isTold).toBe(code === "server_error");
        expect(await gateway.receipt(poor, refused)).toMatchObject({
          status: "released",
          outcome: "failed",
          charged_micros_usd: 0,
        });
      }
    });

    test("is the caller's own where it is about what the caller wrote", async () => {
      meetAnew();
      const account = await gateway.openAccount();
      model.a.answerNext(ways["told whole"](failed("invalid_prompt")));
      const refused = await gateway.post(account, "/v1/responses", response);
      expect((await gateway.receipt(account, refused)).attempts).toMatchObject([{ status: 400 }]);
    });

    test("costs what it used where something came of it, as a call that failed", async () => {
      meetAnew();
      const account = await gateway.openAccount();
      const output = [
        { type: "message", role: "assistant", content: [{ type: "output_text", text: "Half" }] },
      ];
      model.a.answerNext(ways["told whole"](failed("server_error", { output })));
      const half = await gateway.post(account, "/v1/responses", response);
      expect(await half.text()).toContain("Half");
      expect(await gateway.receipt(account, half)).toMatchObject({
        status: "settled",
        outcome: "failed",
        usage: { input_tokens: 8, output_tokens: 2 },
      });

      const quota = failed("insufficient_quota", { output });
      for (const double of [model.a, model.b]) double.answerNext(ways["told whole"](quota));
      const withheld = await gateway.post(account, "/v1/responses", response);
      expect(await withheld.text()).not.toContain("vendor.example");
      expect(await gateway.receipt(account, withheld)).toMatchObject({ charged_micros_usd: 0 });
    });

    test("costs nothing in the middle of a stream that had said nothing", async () => {
      meetAnew();
      const account = await gateway.openAccount();
      const begun = {
        type: "response.created",
        response: { ...failed("server_error"), status: "in_progress" },
      };
      const opened = { type: "response.output_item.added", output_index: 0, item: emptyMessage };
      const { headers, body } = ways["as the first event of a stream"](failed("server_error"));
      const before = [begun, opened].map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
      model.a.answerNext({ status: 200, headers, body: before + body });
      const streamed = await gateway.post(account, "/v1/responses", { ...response, stream: true });
      expect(await streamed.text()).toContain("response.failed");
      expect(await gateway.receipt(account, streamed)).toMatchObject({
        outcome: "failed",
        charged_micros_usd: 0,
      });
    });
  });
});
