import { z } from "zod";

export const httpUrl = z.url({ protocol: /^https?$/, error: "expected an http(s) address" });
