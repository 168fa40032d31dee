// Begin a video, wait for it, and learn what it cost. A video is paid for when it has been made.
//   npm run client:build, once, then: TOLLGATE_KEY=tgk_… node examples/make-a-video.mjs

import assert from "node:assert/strict";
import { createClient, isTollgateError } from "tollgate-client";
import { settings } from "./settings.mjs";

const client = createClient(settings);
const wish = {
  model: "wan2.6-t2v",
  input: { prompt: "A lighthouse at dusk" },
  parameters: { duration: 5, resolution: "720P" },
};

const quote = await client.quote("video.synthesis.create", wish).catch((error) => {
  // Not every operator sells videos.
  if (isTollgateError(error) && error.status === 404) return undefined;
  throw error;
});

if (quote === undefined) {
  console.log("This gateway makes no videos.");
} else {
  console.log(`It will cost at most ${quote.max_cost_micros_usd} micro-USD.`);
  const { data, requestId } = await client.call("video.synthesis.create", wish, { maxPriceUsd: 1 });

  const task = await client.waitForTask(data.output.task_id, {
    onProgress: ({ status, waitedMs }) => console.log(`${status} after ${Math.round(waitedMs / 1000)} s`),
  });
  assert.equal(task.output.task_status, "SUCCEEDED");
  console.log(task.output.video_url);

  const receipt = await client.receipt(requestId);
  console.log(`It cost ${receipt.charged_micros_usd} micro-USD.`);
  assert.ok(receipt.charged_micros_usd > 0 && receipt.charged_micros_usd <= quote.max_cost_micros_usd);
}
