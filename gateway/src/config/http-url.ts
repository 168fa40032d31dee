import { z } from "zod";

export const httpUrl = z.url({ protocol: /^https?$/, error: "expected an http(s) address" });

/** What is asked for there is appended, so nothing may follow the path. */
export const httpBase = httpUrl.refine((url) => !/[?#]/.test(url), {
  error: "expected an address without ? or #, because paths are appended to it",
});
