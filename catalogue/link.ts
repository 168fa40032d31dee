// A person's account at the microblogging platform, linked to a key once; later write calls act for it without any
// token in their body. A further write call is one more declaration like `follow`: its path, and the scopes it needs.

import {
  defineOperation,
  fixed,
  free,
  isJsonObject,
  refuse,
  refuseEarlier,
  z,
} from "../gateway/src/for-catalogues.ts";

const defaultScopes = [
  "follows.write",
  "tweet.read",
  "users.read",
  "tweet.write",
  "like.write",
  "dm.read",
  "dm.write",
] as const;

/** Everything the platform documents. `offline.access` lets a link outlive its first two hours. */
const knownScopes = [
  ...defaultScopes,
  "offline.access",
  "tweet.moderate.write",
  "users.email",
  "follows.read",
  "like.read",
  "list.read",
  "list.write",
  "block.read",
  "block.write",
  "mute.read",
  "mute.write",
  "bookmark.read",
  "bookmark.write",
  "media.write",
  "space.read",
] as const;

const linkBegun = z
  .object({
    auth_url: z.url().describe("Where the person agrees."),
    state: z.string().describe("Opaque; comes back to our own callback, not to you."),
    expires_at: z.iso.datetime(),
  })
  .meta({ id: "LinkBegun" });

const link = z
  .object({
    link_id: z.string(),
    key_id: z.string(),
    user: z
      .object({ id: z.string(), username: z.string() })
      .nullable()
      .describe("Whose account; null while the platform has not said."),
    scopes: z.array(z.string()),
    status: z.enum(["active", "expired", "revoked"]),
    created_at: z.iso.datetime(),
  })
  .meta({ id: "Link" });

const linkEnded = link
  .extend({
    revoked_at: z.iso.datetime(),
    platform: z
      .enum(["revoked", "not_offered", "not_reached"])
      .optional()
      .describe("Whether the platform was told, too; absent when the link had ended before."),
  })
  .meta({ id: "LinkEnded" });

export const linkStart = defineOperation({
  id: "social_a.link.start",
  title: "Link an account",
  summary: "Begins to link a platform account to this key: the person opens `auth_url` and agrees there.",
  keywords: ["twitter", "login", "sign in", "oauth"],
  category: "data",
  method: "POST",
  path: "/apis/v1/{social_a}/auth_{social_a}",
  body: z.strictObject({
    scopes: z
      .array(z.enum(knownScopes, { error: "not a scope of this platform" }))
      .min(1, "must not be empty")
      .max(knownScopes.length, `at most ${knownScopes.length}`)
      .refine((scopes) => new Set(scopes).size === scopes.length, { error: "a scope is given twice" })
      .meta({ uniqueItems: true })
      .optional()
      .describe("What the link may be used for; everything the write calls need when absent."),
  }),
  bodyOptional: true,
  beginsLinks: true,
  notes:
    "The link works for ten minutes, however many others are begun meanwhile; a key may have twenty open ones. Needed once for each person, and again when the link has ended or other scopes are needed; not before every write.",
  response: linkBegun,
  example: { body: { scopes: ["tweet.read", "users.read", "follows.write"] } },
  refuses: [
    "quota_exceeded",
    "provider_unavailable",
    "account_suspended",
    "request_already_completed",
    "idempotency_key_reused",
  ],
  price: free,
  answer: async ({ body }, asker, selfService) => {
    const begun = await selfService.beginLink(asker, body.scopes ?? defaultScopes);
    if (begun.kind === "idempotency_conflict") return refuseEarlier(begun.earlier);
    return {
      auth_url: begun.authUrl,
      state: begun.state,
      expires_at: new Date(begun.expiresAtMs).toISOString(),
    };
  },
});

export const linksList = defineOperation({
  id: "social_a.links.list",
  title: "Linked accounts",
  summary:
    "The platform accounts linked to this key, or to any key of the account for a credential that sees it.",
  category: "data",
  method: "GET",
  path: "/apis/v1/{social_a}/links",
  response: z.object({ object: z.literal("list"), data: z.array(link) }).meta({ id: "LinkList" }),
  example: {},
  price: free,
  answer: async (_input, asker, selfService) => ({ object: "list", data: await selfService.links(asker) }),
});

export const linksRevoke = defineOperation({
  id: "social_a.links.revoke",
  title: "Unlink an account",
  summary: "Ends a link for ever, here and at the platform where it offers that.",
  category: "data",
  method: "POST",
  path: "/apis/v1/{social_a}/links/{link_id}/revoke",
  params: { link_id: "The `link_id` of a linked account." },
  notes: "Repeated, it says when the link ended.",
  response: linkEnded,
  refuses: ["link_not_found"],
  price: free,
  answer: async ({ params }, asker, selfService) =>
    (await selfService.revokeLink(asker, params["link_id"] ?? "")) ??
    refuse("link_not_found", "there is no such link that this key could end"),
});

/** The operator's to set (`operations.social_a.follow.price_usd`): the specification names no price. */
const followPriceUsd = "0.01";

/** A protected account has to agree first. The platform then calls the follow pending, and has done its part. */
const followed = ({ json }: { readonly json: unknown }): boolean => {
  const data = isJsonObject(json) ? json["data"] : undefined;
  return isJsonObject(data) && (data["following"] === true || data["pending_follow"] === true);
};

export const follow = defineOperation({
  id: "social_a.follow",
  title: "Follow a user",
  summary: "Lets the linked account follow another.",
  category: "data",
  method: "POST",
  path: "/apis/v1/{social_a}/follow_{social_a}",
  body: z.strictObject({
    target_user_id: z.string().regex(/^\d{1,19}$/, "expected the digits of a user's id"),
  }),
  notes: "Acts for the account that is linked to the key; there is never a token in the body.",
  response: z
    .looseObject({ data: z.looseObject({ following: z.boolean(), pending_follow: z.boolean().optional() }) })
    .meta({ id: "Followed" }),
  price: fixed(followPriceUsd, followed),
  link: { scopes: ["tweet.read", "users.read", "follows.write"] },
  repeatable: false,
  servedBy: { x: { exchange: "forward_body", path: "/users/{user_id}/following" } },
});
