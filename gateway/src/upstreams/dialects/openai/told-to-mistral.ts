// Mistral's models take less than OpenAI's: no ids of calls but such as they give themselves, nine letters or digits, and no
// word of the user's right behind the result of a tool. Who else serves them often asks for the same.

import type { JsonObject } from "../../../platform/json.ts";
import { withTakenIds, type TakenIds } from "./call-ids.ts";

export const isMistrals = (model: string): boolean =>
  /(mi[sx]|minis|magis|codes|devs|pix|vox)tral/i.test(model);

/** Messages that we wrote, as these models take them. */
export const toldToMistral = (messages: readonly JsonObject[]): readonly JsonObject[] =>
  messages.flatMap((message, at) => {
    const followsResult = message["role"] === "user" && messages[at - 1]?.["role"] === "tool";
    return [...(followsResult ? [resultsRead] : []), withTakenIds(message, mistralIds)];
  });

/** The user speaks again once the model has said something. */
const resultsRead: JsonObject = { role: "assistant", content: "The tools have answered." };

export const mistralIds: TakenIds = {
  takes: (id) => /^[a-zA-Z0-9]{9}$/.test(id),
  instead: (id) =>
    new Bun.CryptoHasher("sha256")
      .update(id)
      .digest("base64")
      .replaceAll(/[^a-zA-Z0-9]/g, "")
      .slice(0, 9),
};
