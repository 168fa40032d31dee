// What the protocol's conformance suite calls: tools, resources and prompts with fixed names and answers. They are
// laid over the five tools of the real server, behind the same door, so that the suite tests our door and not a copy.

import {
  acceptedContent,
  completable,
  fromJsonSchema,
  inputRequired,
  inputResponse,
  ResourceTemplate,
  type McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { createRequestStates } from "../../gateway/src/doors/mcp/approval/request-state.ts";
import { createSecrets } from "../../gateway/src/keys/secrets.ts";
import { testSecret } from "../support/test-gateway.ts";

const states = createRequestStates(createSecrets(testSecret).keyFor("request state"));
const seal = (step: string, ctx: ServerContext): Promise<string> =>
  states.mint({ approval: step, mode: "form", question: "" }, ctx);
const stepOf = (ctx: ServerContext): string | undefined =>
  ctx.mcpReq.requestState<{ readonly approval: string }>()?.approval;

const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const wav = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

/** A keyword of the protocol's own, which the type of JSON Schema does not know. */
const mirrored = { "x-mcp-header": "Region" };

const text = (words: string) => ({ content: [{ type: "text" as const, text: words }] });
const nothing = z.object({});

export function addFixtures(server: McpServer): void {
  server.server.registerCapabilities({ logging: {}, resources: { subscribe: true, listChanged: false } });
  addContentTools(server);
  addTalkingTools(server);
  addAskingTools(server);
  addResources(server);
  addPrompts(server);
}

function addContentTools(server: McpServer): void {
  const fixed = (name: string, content: readonly object[]): void => {
    server.registerTool(name, { description: name, inputSchema: nothing }, () => ({
      // What the suite wants to see, word for word.
      content: content as ReturnType<typeof text>["content"],
    }));
  };
  fixed("test_simple_text", text("This is a simple text response for testing.").content);
  fixed("test_image_content", [{ type: "image", data: png, mimeType: "image/png" }]);
  fixed("test_audio_content", [{ type: "audio", data: wav, mimeType: "audio/wav" }]);
  fixed("test_embedded_resource", [
    {
      type: "resource",
      resource: {
        uri: "test://embedded-resource",
        mimeType: "text/plain",
        text: "This is an embedded resource content.",
      },
    },
  ]);
  fixed("test_multiple_content_types", [
    { type: "text", text: "Multiple content types test:" },
    { type: "image", data: png, mimeType: "image/png" },
    {
      type: "resource",
      resource: {
        uri: "test://mixed-content-resource",
        mimeType: "application/json",
        text: '{"test":"data","value":123}',
      },
    },
  ]);
  server.registerTool("test_error_handling", { description: "Always fails", inputSchema: nothing }, () => {
    throw new Error("This tool intentionally returns an error for testing");
  });
  server.registerTool(
    "json_schema_2020_12_tool",
    {
      description: "Tool with JSON Schema 2020-12 features",
      inputSchema: fromJsonSchema({
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        $defs: {
          address: {
            $anchor: "addressDef",
            type: "object",
            properties: { street: { type: "string" }, city: { type: "string" } },
          },
        },
        properties: {
          name: { type: "string" },
          address: { $ref: "#/$defs/address" },
          contactMethod: { type: "string", enum: ["phone", "email"] },
          phone: { type: "string" },
          email: { type: "string" },
        },
        allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
        if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
        // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
        then: { required: ["phone"] },
        else: { required: ["email"] },
        additionalProperties: false,
      }),
    },
    () => text("ok"),
  );
  server.registerTool(
    "test_custom_headers",
    {
      description: "Mirrors a parameter in a header",
      inputSchema: fromJsonSchema({
        type: "object",
        properties: {
          region: { type: "string", ...mirrored },
          query: { type: "string" },
        },
        required: ["region"],
      }),
    },
    () => text("ok"),
  );
}

const pauseMs = 50;

function addTalkingTools(server: McpServer): void {
  const logged = ["Tool execution started", "Tool processing data", "Tool execution completed"];
  for (const name of ["test_tool_with_logging", "test_logging_tool"]) {
    server.registerTool(name, { description: "Logs", inputSchema: nothing }, async (_given, ctx) => {
      for (const words of logged) {
        await ctx.mcpReq.log("info", words);
        await Bun.sleep(pauseMs);
      }
      return text("Logged");
    });
  }
  server.registerTool(
    "test_tool_with_progress",
    { description: "Reports progress", inputSchema: nothing },
    async (_given, ctx) => {
      const progressToken = ctx.mcpReq._meta?.progressToken;
      for (const progress of [0, 50, 100]) {
        if (progressToken !== undefined) {
          await ctx.mcpReq.notify({
            method: "notifications/progress",
            params: { progressToken, progress, total: 100 },
          });
        }
        await Bun.sleep(pauseMs);
      }
      return text("Done");
    },
  );
}

const oneString = (name: string) => ({
  type: "object" as const,
  properties: { [name]: { type: "string" as const } },
  required: [name],
});
const askName = () =>
  inputRequired.elicit({ message: "What is your name?", requestedSchema: oneString("name") });
const askModel = (words: string, maxTokens: number) =>
  inputRequired.createMessage({
    messages: [{ role: "user", content: { type: "text", text: words } }],
    maxTokens,
  });

function addAskingTools(server: McpServer): void {
  addFormTools(server);
  server.registerTool(
    "test_sampling",
    { description: "Asks the client's model", inputSchema: z.object({ prompt: z.string() }) },
    ({ prompt }, ctx) => {
      const answer = inputResponse(ctx.mcpReq.inputResponses, "answer");
      if (answer.kind !== "sampling")
        return inputRequired({ inputRequests: { answer: askModel(prompt, 100) } });
      return text(`LLM response: ${JSON.stringify(answer.result.content)}`);
    },
  );
  server.registerTool(
    "test_input_required_result_elicitation",
    { description: "Asks for a name", inputSchema: nothing },
    (_given, ctx) => {
      const name = acceptedContent(ctx.mcpReq.inputResponses, "user_name", z.object({ name: z.string() }));
      return name ? text(`Hello, ${name.name}!`) : inputRequired({ inputRequests: { user_name: askName() } });
    },
  );
  server.registerTool(
    "test_input_required_result_sampling",
    { description: "Asks the client's model", inputSchema: nothing },
    (_given, ctx) => {
      const answer = inputResponse(ctx.mcpReq.inputResponses, "capital_question");
      if (answer.kind === "sampling") return text(JSON.stringify(answer.result.content));
      return inputRequired({
        inputRequests: { capital_question: askModel("What is the capital of France?", 100) },
      });
    },
  );
  server.registerTool(
    "test_input_required_result_list_roots",
    { description: "Asks for roots", inputSchema: nothing },
    (_given, ctx) => {
      const answer = inputResponse(ctx.mcpReq.inputResponses, "client_roots");
      if (answer.kind === "roots") return text(JSON.stringify(answer.roots));
      return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
    },
  );
  for (const name of ["request_state", "tampered_state"]) {
    server.registerTool(
      `test_input_required_result_${name}`,
      { description: "Seals its state", inputSchema: nothing },
      async (_given, ctx) => {
        if (
          stepOf(ctx) !== undefined &&
          inputResponse(ctx.mcpReq.inputResponses, "confirm").kind === "elicit"
        ) {
          return text("state-ok");
        }
        const confirm = inputRequired.elicit({
          message: "Please confirm",
          requestedSchema: { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] },
        });
        return inputRequired({ inputRequests: { confirm }, requestState: await seal("confirm", ctx) });
      },
    );
  }
  server.registerTool(
    "test_input_required_result_multiple_inputs",
    { description: "Asks for three things", inputSchema: nothing },
    async (_given, ctx) => {
      const answers = ["user_name", "greeting", "client_roots"].map(
        (key) => inputResponse(ctx.mcpReq.inputResponses, key).kind,
      );
      if (stepOf(ctx) !== undefined && !answers.includes("missing")) return text("All inputs received");
      return inputRequired({
        inputRequests: {
          user_name: askName(),
          greeting: askModel("Generate a greeting", 50),
          client_roots: inputRequired.listRoots(),
        },
        requestState: await seal("all", ctx),
      });
    },
  );
  server.registerTool(
    "test_input_required_result_multi_round",
    { description: "Asks twice", inputSchema: nothing },
    async (_given, ctx) => {
      const step = stepOf(ctx);
      const answered = (key: string): boolean =>
        inputResponse(ctx.mcpReq.inputResponses, key).kind === "elicit";
      if (step === "two" && answered("step2")) return text("Both steps are done");
      if (step === "one" && answered("step1")) {
        const step2 = inputRequired.elicit({
          message: "Step 2: What is your favorite color?",
          requestedSchema: oneString("color"),
        });
        return inputRequired({ inputRequests: { step2 }, requestState: await seal("two", ctx) });
      }
      const step1 = inputRequired.elicit({
        message: "Step 1: What is your name?",
        requestedSchema: oneString("name"),
      });
      return inputRequired({ inputRequests: { step1 }, requestState: await seal("one", ctx) });
    },
  );
  server.registerTool(
    "test_input_required_result_capabilities",
    { description: "Asks only for what the client can give", inputSchema: nothing },
    () => {
      const can = server.server.getClientCapabilities() ?? {};
      const inputRequests = {
        ...(can.elicitation ? { user_name: askName() } : {}),
        ...(can.sampling ? { greeting: askModel("Generate a greeting", 50) } : {}),
      };
      return Object.keys(inputRequests).length === 0
        ? text("Nothing to ask")
        : inputRequired({ inputRequests });
    },
  );
  for (const name of ["test_missing_capability", "test_streaming_elicitation"]) {
    server.registerTool(name, { description: "Needs a capability", inputSchema: nothing }, (_given, ctx) => {
      const wanted = name === "test_missing_capability" ? askModel("Anything", 10) : askName();
      const answer = inputResponse(ctx.mcpReq.inputResponses, "wanted");
      return answer.kind === "missing" ? inputRequired({ inputRequests: { wanted } }) : text("ok");
    });
  }
}

function addFormTools(server: McpServer): void {
  type Form = Parameters<typeof inputRequired.elicit>[0]["requestedSchema"];
  const form = (name: string, words: string, requestedSchema: Form): void => {
    server.registerTool(
      name,
      { description: "Shows a form", inputSchema: z.object({ message: z.string().optional() }) },
      ({ message = "Please fill in" }, ctx) => {
        const answer = inputResponse(ctx.mcpReq.inputResponses, "form");
        if (answer.kind !== "elicit") {
          return inputRequired({
            inputRequests: { form: inputRequired.elicit({ message, requestedSchema }) },
          });
        }
        return text(`${words}: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`);
      },
    );
  };
  form("test_elicitation", "User response", {
    type: "object",
    properties: {
      username: { type: "string", description: "User's response" },
      email: { type: "string", description: "User's email address" },
    },
    required: ["username", "email"],
  });
  form("test_elicitation_sep1034_defaults", "Elicitation completed", {
    type: "object",
    properties: {
      name: { type: "string", default: "John Doe" },
      age: { type: "integer", default: 30 },
      score: { type: "number", default: 95.5 },
      status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
      verified: { type: "boolean", default: true },
    },
  });
  const titled = [
    { const: "value1", title: "First Option" },
    { const: "value2", title: "Second Option" },
    { const: "value3", title: "Third Option" },
  ];
  const options = ["option1", "option2", "option3"];
  form("test_elicitation_sep1330_enums", "Elicitation completed", {
    type: "object",
    properties: {
      untitledSingle: { type: "string", enum: options },
      titledSingle: { type: "string", oneOf: titled },
      legacyEnum: {
        type: "string",
        enum: ["opt1", "opt2", "opt3"],
        enumNames: ["Option One", "Option Two", "Option Three"],
      },
      untitledMulti: { type: "array", items: { type: "string", enum: options } },
      titledMulti: { type: "array", items: { anyOf: titled } },
    },
  });
}

function addResources(server: McpServer): void {
  const described = (name: string, mimeType: string) => ({ description: name, mimeType });
  server.registerResource("static-text", "test://static-text", described("Text", "text/plain"), () => ({
    contents: [
      {
        uri: "test://static-text",
        mimeType: "text/plain",
        text: "This is the content of the static text resource.",
      },
    ],
  }));
  server.registerResource("static-binary", "test://static-binary", described("Bytes", "image/png"), () => ({
    contents: [{ uri: "test://static-binary", mimeType: "image/png", blob: png }],
  }));
  server.registerResource("watched", "test://watched-resource", described("Watched", "text/plain"), () => ({
    contents: [{ uri: "test://watched-resource", mimeType: "text/plain", text: "Watched" }],
  }));
  server.registerResource(
    "template",
    new ResourceTemplate("test://template/{id}/data", { list: undefined }),
    described("By id", "application/json"),
    (uri, { id }) => ({
      contents: [
        {
          uri: uri.href,
          mimeType: "application/json",
          text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }),
        },
      ],
    }),
  );
  server.server.setRequestHandler("resources/subscribe", () => ({}));
  server.server.setRequestHandler("resources/unsubscribe", () => ({}));
}

function addPrompts(server: McpServer): void {
  const says = (...contents: readonly object[]) => ({
    messages: contents.map((content) => ({
      role: "user" as const,
      // What the suite wants to see, word for word.
      content: content as { type: "text"; text: string },
    })),
  });
  server.registerPrompt("test_simple_prompt", { description: "Simple" }, () =>
    says({ type: "text", text: "This is a simple prompt for testing." }),
  );
  server.registerPrompt(
    "test_prompt_with_arguments",
    {
      description: "With arguments",
      argsSchema: z.object({
        arg1: completable(z.string(), (value) =>
          ["paris", "park", "party"].filter((word) => word.startsWith(value)),
        ),
        arg2: z.string(),
      }),
    },
    ({ arg1, arg2 }) => says({ type: "text", text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` }),
  );
  server.registerPrompt(
    "test_prompt_with_embedded_resource",
    { description: "With a resource", argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri }) =>
      says(
        {
          type: "resource",
          resource: {
            uri: resourceUri,
            mimeType: "text/plain",
            text: "Embedded resource content for testing.",
          },
        },
        { type: "text", text: "Please process the embedded resource above." },
      ),
  );
  server.registerPrompt("test_prompt_with_image", { description: "With an image" }, () =>
    says(
      { type: "image", data: png, mimeType: "image/png" },
      { type: "text", text: "Please analyze the image above." },
    ),
  );
  server.registerPrompt("test_input_required_result_prompt", { description: "Asks first" }, (ctx) => {
    const answer = inputResponse(ctx.mcpReq.inputResponses, "user_context");
    if (answer.kind === "elicit") return says({ type: "text", text: JSON.stringify(answer.content) });
    return inputRequired({
      inputRequests: {
        user_context: inputRequired.elicit({
          message: "What context should the prompt use?",
          requestedSchema: oneString("context"),
        }),
      },
    });
  });
}
