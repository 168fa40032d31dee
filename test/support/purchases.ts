// What tests buy when it does not matter what. Each name that is exported here has one meaning.

export const snapshotPath = "/apis/v1/financial/financial-metrics/snapshot?ticker=AAPL";
export const snapshotMicros = 48_000;

export const tagPath = "/apis/v1/reseller/social_c/web/fetch_tag_detail?tag_name=cats";
export const tagMicros = 1_450;

export const chatPath = "/v1/chat/completions";
export const chatBody = (more: object = {}) => ({
  model: "gpt-4o",
  messages: [{ role: "user", content: "hi" }],
  ...more,
});
/** A chat with `gpt-x`, the model of their own that tests have in their configurations. */
export const chat = chatBody({ model: "gpt-x", max_tokens: 100 });

export const balancePath = "/v1/credits/balance";
