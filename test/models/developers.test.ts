// Many clients of OpenAI's dialect say their instructions as its developer, to whichever model they call.

import { afterAll, expect, test } from "bun:test";
import { last } from "../doubles/vendor-double.ts";
import { openOnlyModel } from "./only-model.ts";

const model = "deepseek-chat";
const { vendor, gateway, close } = await openOnlyModel(model);
afterAll(close);

test("instructions of a developer are heard by a vendor who knows the system alone", async () => {
  const account = await gateway.openAccount();
  for (const stream of [false, true]) {
    const response = await gateway.post(account, "/v1/chat/completions", {
      model,
      stream,
      messages: [
        { role: "developer", content: "Be brief." },
        { role: "user", content: "Hello." },
      ],
    });
    expect([response.status, response.ok ? "" : await response.text()]).toEqual([200, ""]);
    await response.text();
    expect(JSON.parse(Buffer.from(last(vendor).body).toString())).toMatchObject({
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Hello." },
      ],
    });
  }
});
