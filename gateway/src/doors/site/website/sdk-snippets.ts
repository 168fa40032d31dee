import type { Material } from "./page.ts";
import { code, text, type Block } from "./blocks.ts";
import { exampleModel } from "../../../offer/examples/example-request.ts";
import type { Offer } from "../../../offer/offer.ts";

/** How each official client is pointed at this gateway; only clients whose operation is on offer. */
export interface ClientSnippets {
  readonly title: string;
  readonly blocks: readonly Block[];
}

export function sdkSnippets({ offer, addresses: { baseUrl } }: Material): ClientSnippets[] {
  const { openai, anthropic, google } = modelsByDialect(offer);
  return [
    ...(openai === undefined ? [] : [openaiSnippets(baseUrl, openai)]),
    ...(anthropic === undefined ? [] : [anthropicSnippets(baseUrl, anthropic)]),
    ...(google === undefined ? [] : [googleSnippets(baseUrl, google)]),
    ...(openai === undefined ? [] : [vercelSnippets(baseUrl, openai)]),
  ];
}

const openaiSnippets = (baseUrl: string, model: string): ClientSnippets => ({
  title: "OpenAI SDK",
  blocks: [
    code(
      "TypeScript (npm install openai)",
      "ts",
      `import OpenAI from "openai";

const client = new OpenAI({
  baseURL: "${baseUrl}/v1",
  apiKey: process.env.TOLLGATE_KEY,
});

const completion = await client.chat.completions.create({
  model: "${model}",
  messages: [{ role: "user", content: "Say hello." }],
  max_tokens: 64,
});
console.log(completion.choices[0].message.content);`,
    ),
    code(
      "Python (pip install openai)",
      "python",
      `import os
from openai import OpenAI

client = OpenAI(base_url="${baseUrl}/v1", api_key=os.environ["TOLLGATE_KEY"])

completion = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Say hello."}],
    max_tokens=64,
)
print(completion.choices[0].message.content)`,
    ),
  ],
});

const anthropicSnippets = (baseUrl: string, model: string): ClientSnippets => ({
  title: "Anthropic SDK",
  blocks: [
    code(
      "TypeScript (npm install @anthropic-ai/sdk)",
      "ts",
      `import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({
  baseURL: "${baseUrl}",
  apiKey: process.env.TOLLGATE_KEY,
});

const message = await client.messages.create({
  model: "${model}",
  max_tokens: 64,
  messages: [{ role: "user", content: "Say hello." }],
});
console.log(message.content);`,
    ),
    code(
      "Python (pip install anthropic)",
      "python",
      `import os
from anthropic import Anthropic

client = Anthropic(base_url="${baseUrl}", api_key=os.environ["TOLLGATE_KEY"])

message = client.messages.create(
    model="${model}",
    max_tokens=64,
    messages=[{"role": "user", "content": "Say hello."}],
)
print(message.content)`,
    ),
  ],
});

const googleSnippets = (baseUrl: string, model: string): ClientSnippets => ({
  title: "Google Gen AI SDK",
  blocks: [
    code(
      "TypeScript (npm install @google/genai)",
      "ts",
      `import { GoogleGenAI } from "@google/genai";

const client = new GoogleGenAI({
  apiKey: process.env.TOLLGATE_KEY,
  httpOptions: { baseUrl: "${baseUrl}", apiVersion: "v1beta" },
});

const answer = await client.models.generateContent({
  model: "${model}",
  contents: "Say hello.",
});
console.log(answer.text);`,
    ),
    code(
      "Python (pip install google-genai)",
      "python",
      `import os
from google import genai
from google.genai import types

client = genai.Client(
    api_key=os.environ["TOLLGATE_KEY"],
    http_options=types.HttpOptions(base_url="${baseUrl}", api_version="v1beta"),
)

answer = client.models.generate_content(model="${model}", contents="Say hello.")
print(answer.text)`,
    ),
  ],
});

const vercelSnippets = (baseUrl: string, model: string): ClientSnippets => ({
  title: "Vercel AI SDK",
  blocks: [
    code(
      "TypeScript (npm install ai @ai-sdk/openai)",
      "ts",
      `import { createOpenAI } from "@ai-sdk/openai";
import { generateText } from "ai";

const tollgate = createOpenAI({
  baseURL: "${baseUrl}/v1",
  apiKey: process.env.TOLLGATE_KEY,
});

const { text } = await generateText({
  model: tollgate.chat("${model}"),
  prompt: "Say hello.",
  maxOutputTokens: 64,
});
console.log(text);`,
    ),
    text(
      `\`createAnthropic\` (\`@ai-sdk/anthropic\`) takes the same \`${baseUrl}/v1\`, \`createGoogleGenerativeAI\` (\`@ai-sdk/google\`) takes \`${baseUrl}/v1beta\`.`,
    ),
  ],
});

interface ModelsByDialect {
  readonly openai: string | undefined;
  readonly anthropic: string | undefined;
  readonly google: string | undefined;
  readonly responses: string | undefined;
}

export function modelsByDialect({ operations }: Offer): ModelsByDialect {
  const modelFor = (operationId: string): string | undefined => {
    const offered = operations.get(operationId);
    return offered && exampleModel(offered);
  };
  return {
    openai: modelFor("chat.completions.create"),
    anthropic: modelFor("messages.create"),
    google: modelFor("models.generate_content"),
    responses: modelFor("responses.create"),
  };
}
