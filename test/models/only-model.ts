import { openOpenAiDouble } from "../doubles/openai.ts";
import { openTestGateway } from "../support/test-gateway.ts";

/** A gateway that sells one model alone, and the double of the vendor in OpenAI's dialect that serves it. */
export async function openOnlyModel(model: string) {
  const key = "an-operator-key-of-tests";
  const vendor = await openOpenAiDouble({ key, models: [model] });
  const gateway = await openTestGateway({
    config: `
sandbox: off
upstreams: { vendor: { protocol: openai, url: "${vendor.url}", key: ${key} } }
models: { ${model}: { price: { input: 1, output: 2 }, max_output_tokens: 100 } }
`,
  });
  const close = async (): Promise<void> => {
    await gateway.close();
    await vendor.close();
  };
  return { vendor, gateway, close };
}
