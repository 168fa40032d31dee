// Tools that need something of their client before they can answer: of its person, its model or its files.

import {
  acceptedContent,
  inputRequired,
  inputResponse,
  type McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { createRequestStates } from "../../../gateway/src/doors/mcp/approval/request-state.ts";
import { createSecrets } from "../../../gateway/src/keys/secrets.ts";
import { testSecret } from "../../support/test-gateway.ts";
import { nothing, oneString, text } from "./plain-parts.ts";

export function addAskingTools(server: McpServer): void {
  addQuestions(server);
  addRounds(server);
}

function addQuestions(server: McpServer): void {
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

/** Tools whose sealed state is carried there and back by their client, once or more often. */
function addRounds(server: McpServer): void {
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
}

const askName = () =>
  inputRequired.elicit({ message: "What is your name?", requestedSchema: oneString("name") });
const askModel = (words: string, maxTokens: number) =>
  inputRequired.createMessage({
    messages: [{ role: "user", content: { type: "text", text: words } }],
    maxTokens,
  });

const states = createRequestStates(createSecrets(testSecret).keyFor("request state"));
const seal = (step: string, ctx: ServerContext): Promise<string> =>
  states.mint({ approval: step, mode: "form", question: "" }, ctx);
const stepOf = (ctx: ServerContext): string | undefined =>
  ctx.mcpReq.requestState<{ readonly approval: string }>()?.approval;
