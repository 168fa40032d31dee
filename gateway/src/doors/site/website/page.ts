import type { Addresses } from "../../../config/addresses.ts";
import type { Offer } from "../../../offer/offer.ts";
import type { JsonObject } from "../../../platform/json.ts";
import type { Html } from "../../pages/html.ts";
import type { Assets } from "./assets.ts";

/** What pages are made from: the offer of one moment, and where things are. */
export interface Material {
  readonly offer: Offer;
  readonly addresses: Addresses;
  readonly assets: Assets;
  /** Where calls from the site's pages must go; undefined where the API is found at the site's own address. */
  readonly apiApart: string | undefined;
  /** Where a path of this site leads for a browser. */
  readonly link: (path: string) => string;
  /** The whole address of a path, of its Markdown twin where it has one. */
  readonly twinLink: (path: string) => string;
}

/** The current contract: its hash, and what it says. */
export interface ReadContract {
  readonly contentHash: string;
  readonly document: JsonObject;
}

/** A page for people, and the same for agents. */
export interface Page {
  /** Undefined for a page that stands for no address, such as the one that says so. */
  readonly path: string | undefined;
  readonly title: string;
  readonly description: string;
  readonly main: Html;
  readonly markdown: string;
  /** The part of the site it belongs to, marked in the navigation. */
  readonly section?: "quickstart" | "prices" | "docs";
  /** True for what has a layout of its own below the header. */
  readonly bare?: true;
  /** What its head holds beyond the usual. */
  readonly head?: Html;
}

export function createMaterial(offer: Offer, addresses: Addresses, assets: Assets): Material {
  const { siteUrl, baseUrl } = addresses;
  const prefix = new URL(siteUrl).pathname.replace(/\/+$/, "");
  const isOwn = (path: string): boolean => path.startsWith("/");
  return {
    offer,
    addresses,
    assets,
    apiApart: siteUrl === baseUrl ? undefined : baseUrl,
    link: (path) => (isOwn(path) ? prefix + path : path),
    twinLink: (path) => (isOwn(path) ? siteUrl + (hasTwin(path) ? twinOf(path) : path) : path),
  };
}

/** Paths without a Markdown twin are data or texts already, or a place in the reference, where calls are tried in a browser. */
const hasTwin = (path: string): boolean => !/^\/(api|openapi|assets|llms\.txt|mcp|docs#)/.test(path);

/** The address of a page's Markdown: its path with `.md`, before what follows a path. */
export function twinOf(path: string): string {
  const [, bare = "", rest = ""] = /^([^?#]*)(.*)$/.exec(path) ?? [];
  return `${bare === "/" ? "/index" : bare}.md${rest}`;
}
