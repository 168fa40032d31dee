import { isJsonObject, type JsonObject } from "../../platform/json.ts";
import type { Listed } from "../protocol.ts";

/** Where a vendor's list of models has its names, and how it says that there are more of them. */
interface Shape {
  readonly list: string;
  readonly name: string;
  readonly hasMore?: (json: JsonObject) => boolean;
}

export const readListing =
  ({ list, name, hasMore }: Shape) =>
  (json: unknown): Listed | undefined => {
    const models = isJsonObject(json) ? json[list] : undefined;
    if (!isJsonObject(json) || !Array.isArray(models)) return undefined;
    return {
      models: models
        .filter(isJsonObject)
        .map((model) => model[name])
        .filter((value) => typeof value === "string"),
      complete: hasMore?.(json) !== true,
    };
  };
