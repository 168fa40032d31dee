import { isJsonObject } from "../../platform/json.ts";
import type { Protocol } from "../protocol.ts";
import { dataVendor } from "./data-vendor.ts";

/** Says 401 of a domain that it has no data about, as it does of a wrong key; a caller would think it is about theirs. */
export const similarweb: Protocol = {
  ...dataVendor,
  callersError: (status, json) => {
    if (status !== 401 || !isJsonObject(json) || !isJsonObject(json["meta"])) return undefined;
    const { meta } = json;
    if (!/^data not found\b/i.test(String(meta["error_message"]))) return undefined;
    return { status: 404, json: { ...json, meta: { ...meta, error_code: 404 } } };
  },
};
