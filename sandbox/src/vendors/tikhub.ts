// TikHub, the reseller: every answer in one envelope, and readable again for a day at its cache link.

import { createHmac } from "node:crypto";
import { fingerprint } from "../seeded.ts";
import type { ShelfFile } from "../shelf-file.ts";
import { createShelf } from "../shelf.ts";
import { bearerOf, type JsonObject, type Vendor, type VendorAnswer } from "../vendor.ts";
import { endpoints, type DataRefused } from "./tikhub-data.ts";

export interface TikHub extends Vendor {
  /** The answer once given under this link, or undefined when there is none any more. */
  readonly cached: (ask: { id: string; nowMs: number }) => JsonObject | undefined;
}

interface Asked {
  readonly path: string;
  readonly query: string;
  readonly atMs: number;
}

const cacheMs = 24 * 60 * 60 * 1000;
const cachedMax = 10_000;

interface TikHubOptions {
  readonly key: string;
  readonly publicUrl: string;
  readonly secret: string;
  readonly file: ShelfFile | undefined;
}

export function createTikHub({ key, publicUrl, secret, file }: TikHubOptions): TikHub {
  // Answers follow from what was asked and when, so the question is all that has to be kept.
  const shelf = createShelf<Asked>({ name: "tikhub", thingsMax: cachedMax, file });

  const answer: Vendor["answer"] = ({ method, path, query, headers, nowMs }) => {
    if (bearerOf(headers) !== key) return refuse(401, "Invalid or missing API token.");
    const endpoint = endpoints[path];
    if (endpoint === undefined) return refuse(404, `Path ${path} not found.`);
    if (method !== "GET") return refuse(405, "Method Not Allowed");

    const asked = { path, query: query.toString(), atMs: nowMs };
    const found = endpoint(query, nowMs);
    if ("refused" in found) return refuseData(found);

    const id = idOf(asked);
    shelf.put(id, asked, { untilMs: nowMs + cacheMs, nowMs });
    return { status: 200, body: envelope(asked, id, found.data), billed: { calls: 1 } };
  };

  const cached: TikHub["cached"] = ({ id, nowMs }) => {
    const asked = shelf.find(id, nowMs);
    if (asked === undefined) return undefined;
    const found = endpoints[asked.path]?.(new URLSearchParams(asked.query), asked.atMs);
    return found === undefined || "refused" in found ? undefined : envelope(asked, id, found.data);
  };

  const idOf = (asked: Asked): string =>
    createHmac("sha256", secret).update(textOf(asked)).digest("hex").slice(0, 40);

  const envelope = (asked: Asked, id: string, data: JsonObject): JsonObject => ({
    code: 200,
    request_id: requestIdOf(asked),
    message: "Request successful. This request will incur a charge.",
    message_zh: "请求成功，本次请求将被计费。",
    support: "Discord: https://discord.gg/aMEAS8Xsvz",
    ...timesOf(asked.atMs),
    docs: `https://api.tikhub.io/#/${asked.path.split("/").slice(1).join("-")}`,
    cache_message:
      "This request will be cached. You can access the cached result directly using the URL below, valid for 24 hours. Accessing the cache will not incur additional charges.",
    cache_message_zh:
      "本次请求将被缓存，你可以使用下面的 URL 直接访问缓存结果，有效期为 24 小时，访问缓存不会产生额外费用。",
    cache_url: `${publicUrl}/reseller-cache/${id}`,
    router: `/api/v1${asked.path}`,
    params: Object.fromEntries(new URLSearchParams(asked.query)),
    data,
  });

  return { answer, refuse, cached };
}

const refuse = (status: number, message: string): VendorAnswer => ({
  status,
  body: {
    detail: {
      code: status,
      message,
      message_zh: "请求失败，本次请求不会被计费。",
      support: "Discord: https://discord.gg/aMEAS8Xsvz",
      docs: "https://api.tikhub.io/",
    },
  },
  billed: null,
});

/** A parameter that is missing or malformed is refused by the framework, and so in its shape. */
function refuseData({ refused, parameter, message }: DataRefused): VendorAnswer {
  if (refused === "not_found") return refuse(400, message);
  const type = refused === "missing" ? "missing" : "int_parsing";
  return {
    status: 422,
    body: { detail: [{ type, loc: ["query", parameter], msg: message, input: null }] },
    billed: null,
  };
}

const textOf = ({ path, query, atMs }: Asked): string => `${path}?${query} ${atMs}`;

const requestIdOf = (asked: Asked): string =>
  fingerprint(textOf(asked)).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");

const losAngeles = new Intl.DateTimeFormat("sv-SE", {
  timeZone: "America/Los_Angeles",
  dateStyle: "short",
  timeStyle: "medium",
});

/** The Swedish way of writing a date is the vendor's: 2026-11-15 02:12:50. */
const timesOf = (atMs: number) => ({
  time: losAngeles.format(atMs),
  time_stamp: Math.floor(atMs / 1000),
  time_zone: "America/Los_Angeles",
});
