import {
  defineOperation,
  free,
  openApplicationsMax,
  refuse,
  refuseEarlier,
  z,
} from "../gateway/src/for-catalogues.ts";
import { limitsReport, quotaApplication } from "./answers/own-answers.ts";

const textMax = 4_000;
const listMax = 100;
const figureMax = 1_000_000_000;

export const limitsGet = defineOperation({
  id: "limits.get",
  title: "Limits",
  summary: "Every limit of this key, what is left of it and when it eases, and the workspace id.",
  keywords: ["rate limits", "requests per minute", "tokens per minute", "quota", "remaining"],
  category: "account",
  method: "GET",
  path: "/v1/limits",
  response: limitsReport,
  example: {},
  price: free,
  answer: (_input, asker, selfService) => selfService.limits(asker),
});

const names = z.array(z.string().min(1).max(200)).max(listMax);

const application = z
  .strictObject({
    expected_rpm: z.int().min(1).max(figureMax).describe("Expected peak of requests per minute."),
    expected_tpm: z.int().min(1).max(figureMax).describe("Expected peak of tokens per minute."),
    models: names.optional().describe("Models you need it for."),
    endpoints: names.optional().describe("Endpoints you need it for."),
    use_case: z.string().min(1, "must not be empty").max(textMax, `at most ${textMax} characters`),
  })
  .refine(({ models = [], endpoints = [] }) => models.length + endpoints.length > 0, {
    error: "expected models or endpoints",
  });

export const limitsRequestsCreate = defineOperation({
  id: "limits.requests.create",
  title: "Apply for higher limits",
  summary: "Files an application that the operator approves or denies.",
  keywords: ["higher quota", "raise limits", "more throughput"],
  category: "account",
  method: "POST",
  path: "/v1/limits/requests",
  body: application,
  notes: "`models` or `endpoints` is required.",
  response: quotaApplication,
  refuses: ["request_already_completed", "idempotency_key_reused"],
  example: {
    body: { expected_rpm: 2_000, expected_tpm: 500_000, models: ["gpt-4o"], use_case: "Nightly summaries." },
  },
  price: free,
  answer: async ({ body }, asker, selfService) => {
    const filed = await selfService.applyForQuota(asker, {
      expectedRpm: body.expected_rpm,
      expectedTpm: body.expected_tpm,
      models: body.models ?? [],
      endpoints: body.endpoints ?? [],
      useCase: body.use_case,
    });
    if (filed.kind === "idempotency_conflict") return refuseEarlier(filed.earlier);
    if (filed.kind === "too_many_open") {
      return refuse(
        "invalid_parameters",
        `this workspace has ${openApplicationsMax} applications waiting, and no more may; await a decision first`,
      );
    }
    return {
      object: "quota_application",
      id: filed.application.id,
      workspace_id: filed.application.accountId,
      status: filed.application.state,
      created_at: new Date(filed.application.createdAtMs).toISOString(),
    };
  },
});
