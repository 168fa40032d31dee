// Tools of one name in a response, which other vendors refuse, or could not tell apart.

import { describe, expect, test } from "bun:test";
import { dialectNames } from "../streams/dialects.ts";
import { models } from "../streams/model-vendors.ts";
import { sentTo, type OpenAiError } from "../support/model-gateway.ts";
import { useDialects } from "./dialect-ways.ts";

const { gateway, vendors } = await useDialects();
const account = await gateway.openAccount({ creditUsd: "100" });

const lookup = (description: string) => ({
  type: "function",
  name: "look_up",
  description,
  parameters: { type: "object", properties: {} },
});
const added = (description: string) => ({
  type: "additional_tools",
  role: "developer",
  tools: [lookup(description)],
});
const said = { role: "user", content: "Hi." };

const ask = (model: string, members: object): Promise<Response> =>
  gateway.post(account, "/v1/responses", { model, input: [said], max_output_tokens: 20, ...members });

describe.each(dialectNames)("%s", (vendor) => {
  test("hears once of a tool that is told again, as it was told last", async () => {
    const input = [added("First."), said, added("Second."), said];
    const response = await ask(models[vendor], { input });
    expect(response.status).toBe(200);
    const tools = JSON.stringify(sentTo(vendors.doubles[vendor])["tools"]);
    expect(tools.match(/look_up/g)).toHaveLength(1);
    expect(tools).toContain("Second.");
    expect(tools).not.toContain("First.");
  });

  test("is not asked where two tools would have one name", async () => {
    const asked = vendors.doubles[vendor].requests.length;
    const namespace = {
      type: "namespace",
      name: "look",
      description: "Looks.",
      tools: [{ ...lookup("In."), name: "up" }],
    };
    const tools = [namespace, { ...lookup("Out."), name: "look__up" }];
    const response = await ask(models[vendor], { tools });
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as OpenAiError;
    expect(error).toMatchObject({ param: "tools", code: "invalid_parameters" });
    expect(error.message).toContain('"look__up"');
    expect(vendors.doubles[vendor].requests).toHaveLength(asked);
  });
});
