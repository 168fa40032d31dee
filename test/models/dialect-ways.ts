// Every dialect of callers beside every dialect of vendors, whole and streamed.

import { afterAll, expect } from "bun:test";
import { openTestGateway, type TestAccount } from "../support/test-gateway.ts";
import type { Heard, Talk } from "../streams/dialects/talk.ts";
import {
  dialectNames,
  dialects,
  spokenNames,
  type DialectName,
  type SpokenName,
} from "../streams/dialects.ts";
import { models, openModelVendors } from "../streams/model-vendors.ts";

export interface Way {
  readonly spoken: SpokenName;
  readonly vendor: DialectName;
  readonly stream: boolean;
}

export const ways: readonly Way[] = spokenNames.flatMap((spoken) =>
  dialectNames.flatMap((vendor) => [false, true].map((stream) => ({ spoken, vendor, stream }))),
);

export const nameOf = ({ spoken, vendor, stream }: Way): string =>
  `${spoken} callers of ${vendor}, ${stream ? "streamed" : "whole"}`;

export const png = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==";
export const schema = {
  type: "object",
  properties: { answer: { type: "string" } },
  required: ["answer"],
  additionalProperties: false,
};

/** To be called once in a file of tests; the books are audited after the last of them. */
export async function useDialects() {
  const vendors = await openModelVendors();
  const gateway = await openTestGateway({
    config: vendors.config({ openai: "responses: translated", more: "sandbox: off" }),
  });
  afterAll(async () => {
    expect(await gateway.audit()).toEqual([]);
    for (const double of Object.values(vendors.doubles)) expect(double.violations).toEqual([]);
    await gateway.close();
    await vendors.close();
  });
  return {
    vendors,
    gateway,
    ask: async (account: TestAccount, { spoken, vendor, stream }: Way, talk: Talk): Promise<Response> => {
      const dialect = dialects[spoken];
      const model = models[vendor];
      return gateway.post(account, dialect.path(model, stream), dialect.body(talk, model, stream));
    },
  };
}

export async function hear(response: Response, { spoken, stream }: Way): Promise<Heard> {
  if (!stream) return dialects[spoken].hear((await response.json()) as Record<string, unknown>);
  const frames = (await response.text()).split("\n\n").filter((frame) => frame !== "");
  return dialects[spoken].hearStream(frames);
}
