import type { Material } from "./page.ts";
import { code, text, type Block } from "./blocks.ts";
import { modelsByDialect, type ClientSnippets } from "./sdk-snippets.ts";

/** Programs that people use as they are: each reads its settings from somewhere else. */
export function appSnippets({ offer, addresses: { baseUrl } }: Material): ClientSnippets[] {
  const { openai, anthropic, google, responses } = modelsByDialect(offer);
  const blocks = [
    ...(anthropic === undefined ? [] : anthropicApps(baseUrl, anthropic)),
    ...(google === undefined ? [] : googleApps(baseUrl, google)),
    ...(responses === undefined ? [] : responsesApps(baseUrl, responses)),
    ...(openai === undefined ? [] : openaiApps(baseUrl, openai)),
  ];
  return blocks.length === 0 ? [] : [{ title: "Apps", blocks }];
}

const anthropicApps = (baseUrl: string, model: string): Block[] => [
  code(
    "Claude Code, with any model; the second line is for its helpers, which ask for a Haiku of Anthropic’s otherwise",
    "sh",
    `export ANTHROPIC_BASE_URL="${baseUrl}" ANTHROPIC_AUTH_TOKEN="$TOLLGATE_KEY"
export ANTHROPIC_DEFAULT_HAIKU_MODEL="${model}"
claude --model ${model}`,
  ),
];

const googleApps = (baseUrl: string, model: string): Block[] => [
  code(
    "Gemini CLI",
    "sh",
    `export GOOGLE_GEMINI_BASE_URL="${baseUrl}" GEMINI_API_KEY="$TOLLGATE_KEY"
export GOOGLE_GENAI_API_VERSION="v1beta"
gemini --model ${model}`,
  ),
  code(
    "Gemini CLI takes a key for another address only when ~/.gemini/settings.json says so",
    "json",
    JSON.stringify({ security: { auth: { selectedType: "gemini-api-key" } } }),
  ),
];

const responsesApps = (baseUrl: string, model: string): Block[] => [
  code(
    "Codex, with any model, in ~/.codex/config.toml, with the key in TOLLGATE_KEY",
    "toml",
    `model = "${model}"
model_provider = "tollgate"
web_search = "disabled" # its vendor would run it, which is refused here unless the operator allows it

[model_providers.tollgate]
name = "Tollgate"
base_url = "${baseUrl}/v1"
env_key = "TOLLGATE_KEY"`,
  ),
];

const openaiApps = (baseUrl: string, model: string): Block[] => [
  code("OpenCode, in opencode.json", "json", JSON.stringify(openCodeConfig(baseUrl, model), null, 2)),
  code(
    "GitHub Copilot CLI",
    "sh",
    `export COPILOT_PROVIDER_BASE_URL="${baseUrl}/v1" COPILOT_PROVIDER_API_KEY="$TOLLGATE_KEY"
copilot --model ${model}`,
  ),
  code(
    "LangChain, and whatever else is made with OpenAI’s SDKs",
    "sh",
    `export OPENAI_BASE_URL="${baseUrl}/v1" OPENAI_API_KEY="$TOLLGATE_KEY"`,
  ),
  text(
    `Cline and Qwen Code (as OpenAI compatible), Open WebUI (a connection), LibreChat (a custom endpoint), n8n (the base URL of an OpenAI credential) and Cursor (Override OpenAI Base URL) ask for the same two: \`${baseUrl}/v1\` and the key. Where they list models, those are what the key may call. Cursor calls from its own servers, so it needs an address that can be reached from there.`,
  ),
];

const openCodeConfig = (baseUrl: string, model: string) => ({
  provider: {
    tollgate: {
      npm: "@ai-sdk/openai-compatible",
      options: { baseURL: `${baseUrl}/v1`, apiKey: "{env:TOLLGATE_KEY}" },
      models: { [model]: {} },
    },
  },
});
