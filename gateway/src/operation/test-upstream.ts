// An upstream, and a request to one, for tests that need them; each says what it cares about.

import { emptyInput } from "./call-input.ts";
import type { AskedModel, Dispatch } from "./forwarder.ts";
import type { Upstream } from "./upstream.ts";

export const testUpstream = (cared: Partial<Upstream> = {}): Upstream => ({
  name: "one",
  protocol: "openai",
  url: "http://vendor.example",
  key: "",
  keyHeader: "authorization",
  headers: undefined,
  query: undefined,
  secrets: [],
  transport: "native",
  timeoutMs: undefined,
  quotaRpm: undefined,
  pollQps: 10,
  weight: 1,
  onCallerLeft: "drain",
  hostedTools: "refuse",
  outputLimit: undefined,
  streamUsage: "ask",
  responses: "native",
  models: undefined,
  link: undefined,
  sandbox: false,
  ...cared,
});

/** By one name everywhere, unless a test says otherwise. */
export const testModel = (name = "m"): AskedModel => ({
  name,
  askedAs: name,
  unaskedOutputTokensMax: 100,
  outputTokensMax: undefined,
});

export const testDispatch = (cared: Partial<Dispatch> = {}): Dispatch => ({
  callId: "0198c0de-0000-7000-8000-000000000000",
  upstream: testUpstream(),
  service: { exchange: "chat", path: "", dialect: "openai" },
  input: { ...emptyInput, body: {} },
  forwarded: {},
  model: testModel(),
  streaming: false,
  createdSeconds: 0,
  firstByteTimeoutMs: 1_000,
  ...cared,
});
